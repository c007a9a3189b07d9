"""PyTerrier: an indexer, a retriever over a collection, and a re-ranker of any texts. Java is never started."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import tee
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.adapters.retrieval import TextPart, check_part, to_collection, whole_texts
from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.ids import Id
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.description import NAME
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.rerank import rerank
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, to_encoder
from maxsieve.text.passages import Document

optional("pyterrier", package="pyterrier>=1.1")

import pandas as pd  # noqa: E402
import pyterrier as pt  # noqa: E402

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


class MaxsieveIndexer(pt.Indexer):
    """Adds documents (dicts with ``docno`` and ``text``) to a new or existing collection.

    To continue after an interruption, index the same documents again: stored documents are skipped, not encoded.

    path
        the folder of the collection.
    encoder
        a name (``"minilm"``, a folder, ``"st:NAME"``) or an encoder.
    text_attrs
        the fields that make up the text, each on its own line.
    meta
        the fields that become metadata; None for all other fields.
    replace
        whether a stored document with another text is replaced; otherwise it is an error.
    verbose
        shows a progress bar.
    create
        further arguments of `Collection.create`, for a new collection: ``dim``, ``store``, ``pool``, ``split``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoder: str | Encoder = DEFAULT_ENCODER,
        *,
        text_attrs: Sequence[str] = ("text",),
        meta: Sequence[str] | None = None,
        replace: bool = False,
        verbose: bool = False,
        **create: Any,
    ) -> None:
        if isinstance(text_attrs, str) or isinstance(meta, str):
            raise TypeError("text_attrs and meta must be lists of fields: put a single field into a list")
        self._path = Path(path)
        self._encoder = encoder
        self._text_attrs = list(text_attrs)
        self._meta = None if meta is None else list(meta)
        self._replace, self._verbose = replace, verbose
        self._create = create

    def __repr__(self) -> str:
        return f"MaxsieveIndexer({str(self._path)!r})"

    def index_inputs(self) -> list[list[str]]:
        """The fields that every document must have."""
        return [["docno", *self._text_attrs]]

    def index(self, documents: Iterable[Mapping[str, Any]], **_: Any) -> Collection:
        """Adds the documents, which are read lazily, and returns the collection, for `MaxsieveRetriever`."""
        if (self._path / NAME).exists():
            collection = Collection.open(self._path, self._encoder)
        else:
            collection = Collection.create(self._path, self._encoder, **self._create)
        texts, ids, metadata = tee(map(self._document, _counted(documents)), 3)
        collection.add(
            (document.text for document in texts),
            (document.id for document in ids),
            (document.metadata for document in metadata),
            replace=self._replace,
            progress=self._verbose,
        )
        return collection

    def _document(self, numbered: tuple[int, Any]) -> Document:
        number, record = numbered
        if not isinstance(record, Mapping):
            raise TypeError(f"document {number} is {type(record).__name__}, not a dict with docno and text")
        for name in ("docno", *self._text_attrs):
            if not isinstance(record.get(name), str):
                raise TypeError(f"document {number}: {name} must be a str, not {record.get(name)!r}")
        own = {"docno", *self._text_attrs}
        kept = [name for name in record if name not in own] if self._meta is None else self._meta
        metadata = {name: record[name] for name in kept if not _is_missing(record.get(name))}
        return Document(record["docno"], "\n".join(record[name] for name in self._text_attrs), metadata or None)


class MaxsieveRetriever(pt.Transformer):
    """Retrieves the best documents of a collection for ``[qid, query]``; ranks those in ``[qid, query, docno]``.

    In both cases only the queries are encoded; the stored vectors of documents are used. All queries of a frame are
    searched together. ``attrs["maxsieve"]`` of the frame counts the queries by guarantee.

    collection
        a `maxsieve.Collection`, or the path of one that was made with a built-in encoder.
    num_results
        how many documents for each query; ``retriever % k`` sets it to k when the pipeline is compiled.
    text
        adds a column ``text``: the best ``"passage"``, or the whole ``"document"``.
    search_kwargs
        further arguments of `Collection.search`: ``policy``, ``hybrid``, ``first_stage``, ...
    """

    def __init__(
        self,
        collection: Collection | str | os.PathLike[str],
        num_results: int = 1000,
        *,
        text: TextPart | None = None,
        search_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self._collection = to_collection(collection)
        self._num_results = as_count(num_results, "num_results", at_least=1)
        self._text = None if text is None else check_part(text)
        self._search_kwargs = dict(search_kwargs or {})

    def __repr__(self) -> str:
        return f"MaxsieveRetriever({str(self._collection.path)!r}, {self._num_results}, {self._search_kwargs!r})"

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """The same transformer for k results."""
        return _fuse(self, self._num_results, k)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The results, best first, ranked from 0."""
        with pt.validate.any(inp, context=self) as frame:
            frame.query_frame(extra_columns=["query"], mode="retrieve")
            frame.result_frame(extra_columns=["query"], mode="rerank")
        return self._rerank(inp) if frame.mode == "rerank" else self._retrieve(inp)

    def _retrieve(self, inp: pd.DataFrame) -> pd.DataFrame:
        answers, texts = self._search(list(inp["query"]), {})
        rows = np.repeat(np.arange(len(inp)), [len(hits) for hits in answers])
        return _results(inp, rows, answers, docno=[str(doc_id) for hits in answers for doc_id in hits.ids], **texts)

    def _rerank(self, inp: pd.DataFrame) -> pd.DataFrame:
        places = list(inp.groupby("qid", sort=False).indices.values())
        ids = [[self._id(docno) for docno in inp["docno"].iloc[some]] for some in places]
        answers, texts = self._search([inp["query"].iloc[some[0]] for some in places], {"candidates": ids})
        named = [dict(zip(reversed(own), reversed(some), strict=True)) for own, some in zip(ids, places, strict=True)]
        rows = [own[doc_id] for own, hits in zip(named, answers, strict=True) for doc_id in hits.ids]
        return _results(inp, np.array(rows, np.int64), answers, **texts)

    def _search(self, queries: list[Any], among: dict[str, Any]) -> tuple[list[TextHits], dict[str, list[str]]]:
        """The hits of each query, and a column of texts if it was requested."""
        if not queries:
            return [], {} if self._text is None else {"text": []}
        collection = self._collection
        answers = collection.search_many(queries, self._num_results, **self._search_kwargs, **among)
        if self._text is None:
            return answers, {}
        texts = [whole_texts(collection, hits) if self._text == "document" else hits.texts for hits in answers]
        return answers, {"text": [text for own in texts for text in own]}

    def _id(self, docno: Any) -> Id:
        """A docno is always text; an id of a collection may be a number."""
        if isinstance(docno, str) and _INTEGER.fullmatch(docno) and docno not in self._collection:
            return int(docno)
        chosen: Id = docno
        return chosen


class MaxsieveReranker(pt.Transformer):
    """Ranks the documents of ``[qid, query, docno, text]``; the texts are encoded at each call.

    encoder
        a name (``"minilm"``, a folder, ``"st:NAME"``) or an encoder.
    num_results
        how many documents for each query; None for all documents that have a token.
    text_field
        the column that has the texts.
    """

    def __init__(
        self, encoder: str | Encoder = DEFAULT_ENCODER, num_results: int | None = None, *, text_field: str = "text"
    ) -> None:
        self._encoder = to_encoder(encoder)
        self._num_results = None if num_results is None else as_count(num_results, "num_results", at_least=1)
        self._text_field = text_field

    def __repr__(self) -> str:
        return f"MaxsieveReranker({self._encoder.name!r}, {self._num_results}, {self._text_field!r})"

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """The same transformer for k results."""
        return _fuse(self, self._num_results, k)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The rows of the best documents, best first, with new scores and ranks."""
        pt.validate.result_frame(inp, extra_columns=["query", self._text_field], context=self)
        rows, answers = [np.zeros(0, np.int64)], []
        for places in inp.groupby("qid", sort=False).indices.values():
            texts = inp[self._text_field].iloc[places]
            hits = rerank(inp["query"].iloc[places[0]], texts, self._num_results, encoder=self._encoder)
            rows.append(places[np.array(hits.ids, np.int64)])
            answers.append(hits)
        return _results(inp, np.concatenate(rows), answers)


def _counted(documents: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    if isinstance(documents, (str, Mapping)) or not isinstance(documents, Iterable):
        raise TypeError(f"index expects documents (dicts with docno and text), not {type(documents).__name__}")
    return iter(enumerate(documents))


def _is_missing(value: Any) -> bool:
    """Whether a value is missing: None in a dict, NaN in a frame."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _fuse(transformer: Any, num_results: int | None, k: int) -> pt.Transformer | None:
    """The same transformer for k results, or itself if it returns no more; None if k is not valid."""
    if k < 1:
        return None
    if num_results is not None and num_results <= k:
        fused: pt.Transformer = transformer
    else:
        fused = pt.inspect.transformer_apply_attributes(transformer, num_results=k)
    return fused


def _results(
    inp: pd.DataFrame, rows: NDArray[np.int64], answers: Sequence[TextHits], **columns: list[str]
) -> pd.DataFrame:
    """Rows of a frame, query by query and best first, with scores, ranks and other columns."""
    ranks = [np.zeros(0, np.int64), *(np.arange(len(hits)) for hits in answers)]
    out = inp.iloc[rows].reset_index(drop=True)
    out = out.assign(
        **{name: values or np.zeros(0, np.object_) for name, values in columns.items()},
        score=np.concatenate([np.zeros(0), *(hits.scores for hits in answers)]),
        rank=np.concatenate(ranks) + pt.model.FIRST_RANK,
    )
    out.attrs["maxsieve"] = dict(Counter(hits.report.guarantee for hits in answers))
    return out
