"""Corpora by name, through the package ``ir_datasets``, which downloads and caches them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from maxsieve.common.optional import optional
from maxsieve.lab.corpora.corpus import Corpus, exclude_themselves
from maxsieve.lab.corpora.judgements import Judgement, keep_known, warn_of_unjudged
from maxsieve.text.inputs.document import Place

PREFIX = "ir_datasets:"
PARTS = ("docs", "queries", "qrels")


def read_ir_dataset(name: str, *, stacklevel: int = 1) -> Corpus:
    """The dataset of this name, such as ``beir/scifact/test``; the first time, ir_datasets may download it."""
    ir_datasets = optional("ir_datasets", "lab")
    name = name.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise ValueError(f"there is no folder {name!r}, and no dataset of that name in ir_datasets") from None
    if missing := [part for part in PARTS if not dataset.has(part)]:
        raise ValueError(f"{name} of ir_datasets has no {' and no '.join(missing)}; a subset may have them (name/test)")
    source = PREFIX + name
    try:
        documents = _texts(((record.doc_id, record) for record in dataset.docs_iter()), source, "document")
        queries = _texts(((record.query_id, record) for record in dataset.queries_iter()), source, "query")
        found = list(_judgements(dataset, source))
    except (OSError, RuntimeError) as problem:
        raise OSError(f"ir_datasets can't provide {name}: {problem}") from problem
    judgements = keep_known(found, source, documents, queries, stacklevel=stacklevel + 1)
    warn_of_unjudged(source, queries, judgements, {}, stacklevel=stacklevel + 1)
    digest = hashlib.sha256(f"{source} {ir_datasets.__version__}".encode()).hexdigest()
    exclusions = exclude_themselves(queries, documents)
    return Corpus(name.replace("/", "-"), documents, queries, judgements, digest, exclusions)


def _texts(found: Iterable[tuple[object, Any]], source: str, kind: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for identity, record in found:
        if str(identity) in texts:
            raise ValueError(f"{source}: the {kind} {identity!r} occurs twice")
        texts[str(identity)] = _text(record)
    if not texts:
        raise ValueError(f"{source} has no {kind}")
    return texts


def _text(record: Any) -> str:
    """The default text of ir_datasets, or title and text."""
    if hasattr(record, "default_text"):
        return str(record.default_text()).strip()
    return f"{getattr(record, 'title', None) or ''} {record.text}".strip()


def _judgements(dataset: Any, source: str) -> Iterator[Judgement]:
    for qrel in dataset.qrels_iter():
        yield Judgement(Place(source), str(qrel.query_id), str(qrel.doc_id), int(qrel.relevance))
