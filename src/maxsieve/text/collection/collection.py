"""A collection: texts, ids, metadata and the index of their token vectors, in one folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from maxsieve.common.files import check_own_file, check_own_folder
from maxsieve.common.progress import progress_bar
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.policies import Policy
from maxsieve.storage.lock import NAME as LOCK
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.manifest import SHARDS_NAME
from maxsieve.storage.segments import Store
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.collection.additions import (
    Added,
    add_documents,
    count_texts,
    read_documents,
    worth_merging,
)
from maxsieve.text.collection.base_collection import BaseCollection
from maxsieve.text.collection.collection_encoder import CollectionEncoder, DocumentVectors, describe_new
from maxsieve.text.collection.description import INDEX, NAME, create_folder, read_description, read_projection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.info import info_of
from maxsieve.text.collection.search import Queries, search_texts
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, DEFAULT_STORE, Encoder, load_encoder
from maxsieve.text.encoders.truncation_warning import counting_truncations
from maxsieve.text.lexical.bm25 import BM25, FirstStage, verify_table
from maxsieve.text.lexical.fusion import Hybrid
from maxsieve.text.lexical.word_table import FOLDER as TABLES
from maxsieve.text.passages import (
    verify_records,
)
from maxsieve.text.sync.record import FOLDER as SYNC


class Collection(BaseCollection):
    """Texts by id, searchable by meaning. Think of a dict from id to text that can be searched.

    It records the encoder that made its vectors, and refuses any other. Any number of threads and processes may search
    while one adds or deletes. `Collection.create` makes a new collection, `Collection.open` opens an existing one.
    """

    index: Index
    """The index of the token vectors, for searches with vectors. Its metadata hold the texts and their metadata."""

    def __init__(self, path: Path, index: Index, encoder: CollectionEncoder) -> None:
        super().__init__(path, encoder)
        self.index = index
        self._turn = threading.RLock()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: str | Encoder = DEFAULT_ENCODER,
        dim: int | None = None,
        *,
        projection: Any = None,
        store: Store = DEFAULT_STORE,
        pool: int = 1,
        split: bool = True,
    ) -> Collection:
        """Creates a collection without documents, in a new or empty folder.

        encoder
            turns text into token vectors: a name for `load_encoder`, or an encoder object.
        dim
            dimensions of the stored vectors: fewer take less space and time. The projection is fitted on the first
            texts that are added, and stored. None, or the encoder's own number, keeps all dimensions.
        projection
            a matrix [encoder's dimensions, dimensions to keep] to project with, instead of a fitted one.
        store
            the type of stored vectors, as in `Index.build`. All dimensions as int8 take as much space as a third of
            them as float16, and find more (docs/text.md).
        pool
            stores this many times fewer vectors of each document: means of similar tokens (`maxsieve.pool`). 2 halves
            the space, and costs a little quality (docs/text.md).
        split
            whether texts that are longer than the encoder's limit are split into passages. Such a document is found by
            its best passage, which the hits name. Without it, the text after the limit is lost, with a
            `TruncationWarning`.
        """
        folder = Path(path).absolute()
        loaded, description, matrix = describe_new(encoder, dim, projection, pool, split=split)
        create_folder(folder, description, matrix, store)
        return cls.open(folder, loaded)

    @classmethod
    def open(cls, path: str | os.PathLike[str], encoder: str | Encoder | None = None) -> Collection:
        """Opens a collection, in milliseconds: a built-in encoder is loaded when it is first needed.

        A collection may come from an untrusted source, so only built-in encoders are loaded by the name it records. Any
        other ``encoder`` must be given, as a name for `load_encoder` or as an object. It must be the encoder that the
        collection was made with.
        """
        folder = Path(path).absolute()
        description = read_description(folder)
        loaded = load_encoder(encoder) if isinstance(encoder, str) else encoder
        if loaded is not None:
            description.check_encoder(loaded, folder)
        if (folder / SHARDS_NAME).exists():
            raise FileNotFoundError(
                f"{folder} is a collection in shards; maxsieve.cluster.ShardedCollection.open opens it"
            )
        check_own_folder(folder / INDEX)
        own = CollectionEncoder(folder, description, loaded)
        index = Index.open(folder / INDEX, group_by=own.keys.group_by)
        if index.dim != description.dim:
            raise DamagedIndexError(f"{folder} has {description.dim} dimensions, but its index has {index.dim}")
        if description.pending and index.tokens and read_description(folder).pending:  # it may just have been fitted
            raise DamagedIndexError(
                f"{folder} has vectors, but {NAME} names no projection to {description.dim} dimensions"
            )
        return cls(folder, index, own)

    def add(
        self,
        texts: Iterable[str],
        ids: Iterable[Id] | None = None,
        metadata: Iterable[Any] | None = None,
        *,
        replace: bool = False,
        progress: bool = False,
    ) -> Added:
        """Adds texts in batches. A batch is stored as soon as it is encoded, even if a later one fails.

        To continue after an interruption, add the same texts again: documents that are stored with the same text and
        metadata are skipped, not encoded. Returns how many were added, skipped and replaced.

        texts, ids, metadata
            any iterables, including generators. Ids are all str or all int; without ids, each is derived from its text.
            Metadata are JSON-compatible values, or None.
        replace
            replaces documents that are stored with another text or other metadata; otherwise they are an error.
        """
        total = count_texts(texts, ids, metadata)
        with counting_truncations(), self._writing():
            split = self._splitter
            vectors = DocumentVectors(self._own, split)
            documents = read_documents(vectors.prepare(texts, progress), ids, metadata)
            with progress_bar("adding", total, shown=progress, unit="documents") as advance:
                added = add_documents(
                    self.index, documents, self.keys, split, vectors.encode, replace=replace, advance=advance
                )
            if worth_merging(self.index.storage.snapshot.segments):
                self.index.compact(progress=progress)
        return added

    def verify(self, *, progress: bool = False) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` names the file that is damaged."""
        if (description := read_description(self.path)).projection is not None:
            read_projection(self.path, description)
        for name in (INDEX, TABLES, SYNC):
            check_own_folder(self.path / name)
            check_own_file(self.path / name / LOCK)
        check_own_file(self.path / LOCK)
        self.index.verify(progress=progress)
        state = self.index.storage.snapshot
        verify_records(state, self.keys)
        verify_table(self.path, state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path, not the data; unpickling opens the folder. An encoder is pickled if it is not built in."""
        return _reopened, (self.path, self.index, self._own.not_built_in)

    def __copy__(self) -> Collection:
        return Collection(self.path, copy(self.index), self._own)

    def __deepcopy__(self, memo: dict[int, Any]) -> Collection:
        return copy(self)

    def __repr__(self) -> str:
        return f"<maxsieve.Collection {str(self.path)!r} of {self._own.description.encoder!r}, {self.index!r}>"

    @cached_property
    def bm25(self) -> BM25:
        """BM25 over its texts, as used by ``first_stage="bm25"``."""
        return BM25(self)

    def close(self) -> None:
        """Closes all files; later calls raise `ClosedIndexError`."""
        vars(self).pop("bm25", None)  # it has the files of the state that it was made for
        super().close()

    @property
    def state(self) -> Snapshot:
        """What is searched at present: another object after each change."""
        return self.index.storage.snapshot

    @property
    def calibrated(self) -> bool:
        """Whether `calibrate` was called."""
        return self.state.calibration is not None

    def info(self) -> dict[str, Any]:
        """What there is to say about it, as JSON can hold it."""
        passages = len(self.index) if self.keys.passages else None
        return info_of(
            self.path, self.index.storage.snapshot, self._own.description, self.index.store, len(self), passages
        )

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        first_stage: FirstStage | str | None = None,
        depth: int = 100,
        hybrid: Hybrid | None = None,
        threads: int | None = None,
        trace: bool = False,
    ) -> TextHits:
        """The k best documents for a text, found exactly unless ``policy`` says otherwise.

        candidates, exclude
            ids to search among, and ids that must not be hits, as in `Index.search`.
        where
            a filter such as ``{"year": {"gte": 2020}, "lang": "en"}``: only documents whose metadata match it can be
            hits (docs/text.md). The hits' ``scope`` is then ``"matching"``: the guarantee holds among those.
        first_stage
            selects ``depth`` candidates first: ``"bm25"``, or a function of query and depth that returns ids. The hits'
            ``scope`` is then ``"candidates"``: the guarantee holds among those, and ``hits.first_stage`` and
            ``hits.depth`` say where they came from.
        hybrid
            combines BM25 and late interaction (extra ``maxsieve[text]``): ``"rrf"`` is reciprocal rank fusion, a number
            between 0 and 1 is the weight of BM25 (docs/text.md says what is gained). The hits are the k best by the
            fused scores, among all documents or the ``candidates``; ``hits.hybrid`` has both scores of each hit. For
            ``"rrf"``, the ``depth`` best of each are ranked; with a weight, ``depth`` changes only the time.
        trace
            records the steps of the search in ``hits.trace``, as in `Index.search`. Long documents appear in it as
            passages. A hybrid search has no trace.
        """
        queries = Queries.one(text, candidates, exclude, where)
        return search_texts(self, queries, k, policy, first_stage, depth, threads, hybrid, trace=trace)[0]

    def search_many(
        self,
        texts: Iterable[str],
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        first_stage: FirstStage | str | None = None,
        depth: int = 100,
        hybrid: Hybrid | None = None,
        threads: int | None = None,
    ) -> list[TextHits]:
        """`search` for many texts at once: the same answers, in less time.

        ``candidates`` and ``exclude`` are one set for all, or a list with one entry (ids or None) for each.
        ``where`` is one filter for all, or a list with one (or None) for each.
        """
        queries = Queries.many(texts, candidates, exclude, where)
        return search_texts(self, queries, k, policy, first_stage, depth, threads, hybrid)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Admits one writer at a time: threads wait for each other, other processes find the folder locked."""
        self.index.storage.snapshot  # noqa: B018 - raises when closed
        with self._turn, writer_lock(self.path):
            self.index.refresh()
            yield


def _reopened(path: Path, index: Index, encoder: Encoder | None) -> Collection:
    """Opens the pickled collection again. Unpickling ``index`` has checked that the folder holds the same index."""
    index.close()
    return Collection.open(path, encoder)
