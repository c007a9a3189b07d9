"""Datasets from an existing collection or a file of vectors, with queries and optional judgements."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from maxsieve import Index, exchange
from maxsieve.errors import Argument, Function, hinted
from maxsieve.exchange.formats import SUFFIXES
from maxsieve.ids import find_duplicate
from maxsieve.lab.corpora.corpus import Corpus, exclude_themselves
from maxsieve.lab.corpora.judgements import keep_known, read_judgements, warn_of_unjudged
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded
from maxsieve.text import Collection, load_encoder
from maxsieve.text.inputs.reading import opened

Judgements = dict[str, dict[str, int]]


def of_collection(
    path: str | Path,
    queries: Mapping[str, str],
    qrels: str | Path | None = None,
    *,
    encoder: str | None = None,
    progress: bool = False,
) -> Dataset:
    """An existing collection: only the queries (texts by id) are encoded.

    qrels
        a file of judgements, in the format of BEIR or TREC; some experiments need it.
    encoder
        the collection's encoder, if it is not a built-in model.
    """
    collection = Collection.open(path, encoder)
    if not len(collection):
        raise ValueError(f"{path} has no documents: add some first")
    _check_asked(queries, path)
    documents = {str(doc_id): collection.text(doc_id) for doc_id in collection.ids}
    judged = _judged(qrels, documents, queries)
    info = collection.info()
    snapshot = collection.index.storage.snapshot.here
    made_of = [snapshot.version, np.packbits(snapshot.alive).tobytes().hex(), dict(queries), judged]
    corpus = Corpus(
        Path(path).resolve().stem,
        documents,
        dict(queries),
        judged,
        _digest(made_of),
        exclude_themselves(queries, documents),
    )
    name = info["encoder"]["name"] if encoder is None else encoder
    return Dataset(corpus.name, name, info["dim"], corpus, None, progress, None, collection)


def of_vectors(
    path: str | Path,
    queries: Mapping[str, str] | str | Path,
    qrels: str | Path | None = None,
    *,
    encoder: str | None = None,
    progress: bool = False,
) -> Dataset:
    """Token vectors of documents in a file, in any format of ``maxsieve export``.

    queries
        texts by id, which ``encoder`` encodes (it must be the one that made the vectors); or a file of vectors.
    """
    vectors = exchange.read(path)
    if vectors.ids is None:
        raise ValueError(f"{path} has no ids: judgements and answers need them; add an array of ids")
    ids = [str(doc_id) for doc_id in vectors.ids]
    if not ids:
        raise ValueError(f"{path} has no documents")
    if (repeated := find_duplicate(list(ids))) is not None:
        raise ValueError(f"{path}: the id {repeated!r} occurs twice")
    asked, words = _vectors_of(queries, encoder, Path(path), vectors.dim)
    judged = _judged(qrels, dict.fromkeys(ids, ""), asked)
    index = Index.build(vectors.rows, ids, lengths=vectors.lengths)
    kept = {query: rows for query, rows in asked.items() if not judged or query in judged}
    name = Path(path).stem
    digest = _digest([[hashlib.sha256(rows.tobytes()).hexdigest() for rows in asked.values()], [*asked], judged])
    data = Embedded(name, words, index, kept, judged)
    return Dataset(name, encoder or "", 0, None, Path(path), progress, asked=digest, _made={0: data})


def _vectors_of(
    queries: Mapping[str, str] | str | Path, encoder: str | None, documents: Path, dim: int
) -> tuple[dict[str, F32], str]:
    """The vectors of queries by id, and a description of them."""
    if isinstance(queries, Mapping):
        _check_asked(queries, documents)
        if encoder is None:
            wrong = ValueError(f"{documents} does not say which encoder made it")
            ending = f": give {{}}, or give the queries as vectors, too ({', '.join(SUFFIXES)})"
            raise hinted(wrong, ending, Argument("encoder"))
        loaded = load_encoder(encoder)
        if loaded.dim != dim:
            wrong = ValueError(
                f"{documents} has vectors of {dim} dimensions, but {encoder} makes {loaded.dim}: another encoder "
                "made them, or they were projected"
            )
            raise hinted(wrong, "; a collection stores its projection ({})", Function("of_collection"))
        rows = loaded.encode_queries(list(queries.values()))
        found = {query: own for query, own in zip(queries, rows, strict=True) if len(own)}
        return found, f"{Path(encoder).name}, d = {dim}"
    given = exchange.read(queries)
    if given.dim != dim:
        raise ValueError(f"{queries} has vectors of {given.dim} dimensions, but {documents} has {dim}")
    names = [str(query) for query in given.ids] if given.ids is not None else [str(i) for i in range(len(given))]
    if (repeated := find_duplicate(list(names))) is not None:
        raise ValueError(f"{queries}: the id {repeated!r} occurs twice")
    pairs = zip(names, given.documents(), strict=True)
    asked = {query: np.asarray(own, np.float32) for query, own in pairs if len(own)}
    _check_asked(asked, queries)
    return asked, f"ready-made, d = {dim}"


def _judged(qrels: str | Path | None, documents: Mapping[str, object], queries: Mapping[str, object]) -> Judgements:
    if qrels is None:
        return {}
    with opened(str(qrels)) as lines:
        judged = keep_known(read_judgements(lines, str(qrels)), str(qrels), documents, queries, stacklevel=3)
    warn_of_unjudged(str(qrels), queries, judged, {}, stacklevel=3)
    return judged


def _check_asked(queries: Mapping[str, object], where: str | Path) -> None:
    if not queries:
        raise ValueError(f"{where}: there are no queries")


def _digest(parts: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
