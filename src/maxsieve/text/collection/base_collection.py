"""The common part of a collection on one machine and of a collection in shards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from maxsieve.ids import Id, to_ids
from maxsieve.policies import Policy
from maxsieve.text.collection import sentences
from maxsieve.text.collection.collection_encoder import CollectionEncoder
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.rerank import rerank_with
from maxsieve.text.collection.search import check_calibrated
from maxsieve.text.encoders.encoder import Encoder
from maxsieve.text.lexical.bm25 import BM25
from maxsieve.text.passages import Keys, Splitter, check_record, read_document, splitter_for

C = TypeVar("C", bound="BaseCollection")


class BaseCollection(ABC):
    """Texts by id over an index of their token vectors, whether that is one index or in shards."""

    index: Any

    def __init__(self, path: Path, encoder: CollectionEncoder) -> None:
        self.path = path
        """The folder."""
        self._own = encoder

    @property
    @abstractmethod
    def state(self) -> object:
        """The current state: another object after each change."""

    @property
    @abstractmethod
    def calibrated(self) -> bool:
        """Whether `calibrate` was called."""

    @property
    @abstractmethod
    def bm25(self) -> BM25:
        """BM25 over its texts, as used by ``first_stage="bm25"``."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]:
        """Admits one writer at a time, at the newest version."""

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents. If one of the ids is unknown, nothing is deleted."""
        with self._writing():
            wanted = to_ids([ids] if isinstance(ids, (str, int)) else ids, "delete")
            self.index.delete(self.keys.of_all(wanted, self.index, "delete"))

    def compact(self, *, progress: bool = False) -> None:
        """Frees the space of deleted and replaced documents, and merges small files. Answers stay the same."""
        with self._writing():
            self.index.compact(progress=progress)

    def calibrate(self, queries: Iterable[str] | None = None, k: int = 100, *, progress: bool = False) -> None:
        """Prepares ``policy=Calibrated(...)``: measures how many documents it must follow up for a top k.

        queries
            typical queries: at least 99 for an overlap of 0.99, 19 for 0.95. Without queries, up to 200 sentences are
            drawn from the documents, at most one per passage. The report then says ``"own sentences"``, and the
            guarantee is about such sentences: too optimistic for a small k (docs/text.md).
        k
            the largest number of hits that later searches can give a guarantee for.
        """
        with self._writing():
            sentences.calibrate(self, queries, k, progress=progress)

    def recalibrate(self, *, progress: bool = False) -> None:
        """Calibrates again with the stored queries or sentences, after documents have changed."""
        with self._writing():
            check_calibrated(self)
            self.index.recalibrate(progress=progress)

    def refresh(self) -> None:
        """Moves to the newest version, which another process may have written."""
        self.index.refresh()

    def close(self) -> None:
        """Closes all files; later calls raise `ClosedIndexError`."""
        self.index.close()

    def __enter__(self: C) -> C:
        self.index.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.keys.count(self.index.storage.snapshot)

    def __contains__(self, one: object) -> bool:
        return isinstance(one, (str, int)) and not isinstance(one, bool) and self.keys.key(one) in self.index

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        return list(self.keys.firsts(self.index.ids))

    @property
    def keys(self) -> Keys:
        """Maps document ids to the keys of their passages in the `index`."""
        return self._own.keys

    @property
    def encoder(self) -> Encoder:
        """The encoder of this collection's vectors, including its projection and pooling."""
        return self._own.projected

    def text(self, one: Id) -> str:
        """A document's text."""
        if (found := read_document(one, self.keys, self.index)) is None:
            raise KeyError(f"text: no document has the id {one!r}")
        return found.text

    def metadata(self, one: Id) -> Any:
        """The metadata that were added with a document, or None."""
        first = self.index.known_metadata([key := self.keys.key(one)])
        if key not in first:
            raise KeyError(f"metadata: no document has the id {one!r}")
        return check_record(first[key], key)["metadata"]

    def rerank(self, query: str, texts: Iterable[str], k: int = 10, *, policy: Policy | None = None) -> TextHits:
        """The k best of these texts, which need not be in the collection. Ids are positions in ``texts``, from 0."""
        return rerank_with(self.encoder, self._splitter, query, texts, k, policy=policy)

    @property
    def _splitter(self) -> Splitter:
        return splitter_for(self._own.plain, self._own.description.passages)
