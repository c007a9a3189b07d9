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

from maxsieve.arrays import MAX_DIM
from maxsieve.common.checks import as_count
from maxsieve.common.progress import progress_bar
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id, to_ids
from maxsieve.index import Index
from maxsieve.policies import Policy
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.segments import Store
from maxsieve.text import calibrating
from maxsieve.text.adding import (
    Added,
    add_documents,
    count_texts,
    read_documents,
    worth_merging,
)
from maxsieve.text.collection_encoder import CollectionEncoder, DocumentVectors
from maxsieve.text.cuts import gathering_cuts
from maxsieve.text.description import INDEX, NAME, create_folder, describe, read_description, read_projection
from maxsieve.text.encoder import DEFAULT_ENCODER, DEFAULT_STORE, Encoder, load_encoder
from maxsieve.text.first_stage import BM25, FirstStage, verify_table
from maxsieve.text.fusion import Hybrid
from maxsieve.text.hits import TextHits
from maxsieve.text.passages import (
    Keys,
    Passage,
    Splitter,
    check_record,
    join,
    read_document,
    splitter_for,
    to_passage,
)
from maxsieve.text.pooled import check_pool
from maxsieve.text.projection import ProjectedEncoder
from maxsieve.text.reranking import rerank_with
from maxsieve.text.room import room
from maxsieve.text.searching import Queries, check_calibrated, search_texts

READ = 4096
"""Records checked at a time."""


class Collection:
    """Texts by id, searchable by meaning. Think of a dict from id to text that finds what you mean.

    It remembers the encoder that made its vectors and refuses another. Any number of threads and processes may search
    while one adds or deletes. Make one with `Collection.create`, find it again with `Collection.open`.
    """

    def __init__(self, path: Path, index: Index, encoder: CollectionEncoder) -> None:
        self.path = path
        """The folder."""
        self.index = index
        """The index of the token vectors, to be searched with vectors; its records are the texts and their metadata."""
        self._own = encoder
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
        """A collection without documents, in a folder that is new or empty.

        encoder
            what turns text into token vectors: a name for `load_encoder`, or the encoder itself.
        dim
            dimensions that are kept of each vector: fewer take less room and time. The projection to them is fitted on
            the first texts that are added, and kept. None, or as many as the encoder has, keeps them all.
        projection
            a matrix [encoder's dimensions, dimensions to keep] to project with, instead of a fitted one.
        store
            how vectors are kept, as in `Index.build`. All dimensions as int8 take the room of a third of them as
            float16, and find more (docs/text.md).
        pool
            keeps so many times fewer vectors of each document, means of similar tokens (`maxsieve.pool`), of whatever
            is added: 2 halves the room, and costs a little (docs/text.md).
        split
            whether texts that are longer than the encoder reads are cut into passages. Such a document is found by its
            best passage, which the hits name. Without it, what follows the limit is lost, with a `TruncationWarning`.
        """
        folder = Path(path).absolute()
        loaded = load_encoder(encoder) if isinstance(encoder, str) else encoder
        kept = loaded.dim if dim is None else min(as_count(dim, "dim", at_least=1, at_most=MAX_DIM), loaded.dim)
        matrix = None if projection is None else ProjectedEncoder(loaded, projection).matrix
        if matrix is not None:
            if dim not in (None, matrix.shape[1]):
                raise ValueError(f"dim is {dim}, but the projection has {matrix.shape[1]} columns")
            kept = matrix.shape[1]
        create_folder(folder, describe(loaded, kept, check_pool(pool), split=split), matrix, store)
        return cls.open(folder, loaded)

    @classmethod
    def open(cls, path: str | os.PathLike[str], encoder: str | Encoder | None = None) -> Collection:
        """A collection from its folder, in milliseconds: a built-in encoder is loaded when it is first needed.

        A collection may come from anybody, so it has nothing else loaded. Another ``encoder`` than a built-in one is
        yours to give, by a name for `load_encoder` or as it is; it must be the one that the collection was made with.
        """
        folder = Path(path).absolute()
        description = read_description(folder)
        loaded = load_encoder(encoder) if isinstance(encoder, str) else encoder
        if loaded is not None:
            description.check_encoder(loaded, folder)
        if (folder / INDEX).is_symlink():
            raise DamagedIndexError(f"{folder / INDEX} is a link; a folder is expected")
        own = CollectionEncoder(folder, description, loaded)
        index = Index.open(folder / INDEX, group_by=own.keys.group_by)
        if index.dim != description.dim:
            raise DamagedIndexError(f"{folder} is of {description.dim} dimensions, but its index of {index.dim}")
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
        """Adds texts, as they come, in batches: each is kept once it is encoded, whatever happens later.

        To go on after an interruption, add the same again: what is in with the same text and metadata is skipped, and
        not encoded. Returns how many were added, skipped and replaced.

        texts, ids, metadata
            any iterables, generators too. Ids are all str or all int; without any, each is derived from its text.
            Metadata is anything JSON can hold, or None.
        replace
            an id that is in with another text or other metadata is an error, unless this is True.
        """
        total = count_texts(texts, ids, metadata)
        with gathering_cuts(), self._writing():
            split = self._splitter
            vectors = DocumentVectors(self._own, split)
            documents = read_documents(vectors.prepare(texts, progress), ids, metadata)
            with progress_bar("adding", total, shown=progress, unit="documents") as advance:
                added = add_documents(
                    self.index, documents, self.keys, split, vectors.encode, replace=replace, advance=advance
                )
            if worth_merging(self.index):
                self.index.compact(progress=progress)
        return added

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents, all of them or, if an id is unknown, none."""
        with self._writing():
            wanted = to_ids([ids] if isinstance(ids, (str, int)) else ids, "delete")
            self.index.delete(self.keys.of_all(wanted, self.index, "delete"))

    def compact(self, *, progress: bool = False) -> None:
        """Gives back what deleted and replaced documents take, and merges small files. Answers stay the same."""
        with self._writing():
            self.index.compact(progress=progress)

    def calibrate(self, queries: Iterable[str] | None = None, k: int = 100, *, progress: bool = False) -> None:
        """Makes ready for ``policy=Calibrated(...)``: finds out how many documents it must follow up for a top k.

        queries
            texts like those to be searched for: 99 at least for an overlap of 0.99, 19 for 0.95. Without any, up to 200
            sentences are drawn from the documents, one of each passage; the report then says ``"own sentences"``, and
            the promise is about sentences like those: too hopeful for a k of a few (docs/text.md).
        k
            the most hits that can be promised anything about.
        """
        k = as_count(k, "k", at_least=1)
        given = None if queries is None else calibrating.read_queries(queries)
        with self._writing():
            self.index.refresh()
            if not self.index.tokens:
                raise ValueError("no document here has a token: add documents before calibrate")
            texts = calibrating.own_sentences(self.index.snapshot) if given is None else given.texts
            vectors = calibrating.encode(texts, self.encoder, progress=progress)
            if given is None:
                vectors = [rows for rows in vectors if len(rows)]
            else:
                given.check(len(rows) > 0 for rows in vectors)
            self.index.calibrate(
                vectors, k, calibrated_on="own sentences" if given is None else "queries", progress=progress
            )

    def recalibrate(self, *, progress: bool = False) -> None:
        """`calibrate` again with the queries or sentences it kept, after documents have changed."""
        with self._writing():
            self.index.refresh()
            check_calibrated(self)
            self.index.recalibrate(progress=progress)

    def refresh(self) -> None:
        """Goes to the newest version, as other processes have written it."""
        self.index.refresh()

    def verify(self, *, progress: bool = False) -> None:
        """Reads everything on disk and compares checksums; `DamagedIndexError` names the file that differs."""
        if (description := read_description(self.path)).projection is not None:
            read_projection(self.path, description)
        self.index.verify(progress=progress)
        state = self.index.snapshot
        waiting: dict[Id, list[Passage]] = {}
        for start in range(0, len(state.live), READ):
            positions = state.live[start : start + READ].tolist()
            for position, record in zip(positions, state.metadata(positions), strict=True):
                one, number = self.keys.parse(key := state.ids[position])
                passage = to_passage(check_record(record, key), number)
                if self.keys.passages:
                    waiting.setdefault(one, []).append(passage)
                    if len(waiting[one]) == passage.of:
                        join(sorted(waiting.pop(one), key=lambda passage: passage.number), one)
        for one in waiting:
            raise DamagedIndexError(f"the document {one!r} lacks a passage")
        verify_table(self.path, state)

    def close(self) -> None:
        """Lets go of everything; later calls raise `ClosedIndexError`."""
        self.index.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: where it arrives, the folder is opened again; its encoder, unless it is built in, goes along."""
        return _reopened, (self.path, self.index, self._own.not_built_in)

    def __copy__(self) -> Collection:
        return Collection(self.path, copy(self.index), self._own)

    def __deepcopy__(self, memo: dict[int, Any]) -> Collection:
        return copy(self)

    def __enter__(self) -> Collection:
        self.index.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.keys.count(self.index.snapshot)

    def __contains__(self, one: object) -> bool:
        return isinstance(one, (str, int)) and not isinstance(one, bool) and self.keys.key(one) in self.index

    def __repr__(self) -> str:
        return f"<maxsieve.Collection {str(self.path)!r} of {self._own.description.encoder!r}, {self.index!r}>"

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        return list(self.keys.firsts(self.index.ids))

    @property
    def keys(self) -> Keys:
        """Under which keys the documents, or their passages, are in the `index`."""
        return self._own.keys

    @property
    def encoder(self) -> Encoder:
        """What makes this collection's vectors, its projection and pooling included."""
        return self._own.projected

    @cached_property
    def bm25(self) -> BM25:
        """BM25 over its texts, which is what ``first_stage="bm25"`` asks."""
        return BM25(self)

    def text(self, one: Id) -> str:
        """A document's text."""
        if (found := read_document(one, self.keys, self.index)) is None:
            raise KeyError(f"text: no document has the id {one!r}")
        return found.text

    def metadata(self, one: Id) -> Any:
        """What was added with a document, or None."""
        first = self.index.known_metadata([key := self.keys.key(one)])
        if key not in first:
            raise KeyError(f"metadata: no document has the id {one!r}")
        return check_record(first[key], key)["metadata"]

    def info(self) -> dict[str, Any]:
        """What there is to say about it, as JSON can hold it."""
        state, made = self.index.snapshot, self._own.description
        book, calibration = state.codebook, state.calibration
        return {
            "path": str(self.path),
            "documents": len(self),
            "passages": len(self.index) if self.keys.passages else None,
            "deleted": len(state.alive) - len(state.live),
            "tokens": self.index.tokens,
            "bytes": self.index.nbytes,
            "room": room(self.path, state),
            "segments": len(state.segments),
            "dim": made.dim,
            "store": self.index.store,
            "pool": made.pool,
            "encoder": {"name": made.encoder, "dim": made.encoder_dim, "fingerprint": made.fingerprint},
            "projection": "to be fitted" if made.pending else made.projection,
            "codebook": None if book is None else {"centroids": book.centroids, "bytes": book.nbytes},
            "calibration": None
            if calibration is None
            else {
                "calibrated_on": calibration.origin,
                "queries": len(calibration.ranks),
                "k": calibration.k,
                "documents": calibration.documents,
                "made": calibration.made,
                **state.changes._asdict(),
                "holds": calibration.holds_after(state.changes),
            },
        }

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        first_stage: FirstStage | str | None = None,
        depth: int = 100,
        hybrid: Hybrid | None = None,
        threads: int | None = None,
    ) -> TextHits:
        """The k best documents for a text, found exactly unless ``policy`` says otherwise.

        candidates, exclude
            ids to search among, and ids that must not be hits, as in `Index.search`.
        first_stage
            what chooses ``depth`` candidates first: ``"bm25"``, or a function of query and depth that returns ids. The
            hits' ``scope`` is then ``"candidates"``: the guarantee holds among those, and ``hits.first_stage`` and
            ``hits.depth`` say where they came from.
        hybrid
            lets BM25 have a say (extra ``maxsieve[bm25]``): ``"rrf"`` adds reciprocal ranks, a number between 0 and 1
            is BM25's weight beside late interaction (docs/text.md says what is gained). The hits are the k best by the
            fused scores, among all documents or the ``candidates``; ``hits.hybrid`` has the scores by either. For
            ``"rrf"``, the ``depth`` best of both are ranked; a weight needs no depth, which then only changes the time.
        """
        queries = Queries.one(text, candidates, exclude)
        return search_texts(self, queries, k, policy, first_stage, depth, threads, hybrid)[0]

    def search_many(
        self,
        texts: Iterable[str],
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        first_stage: FirstStage | str | None = None,
        depth: int = 100,
        hybrid: Hybrid | None = None,
        threads: int | None = None,
    ) -> list[TextHits]:
        """`search` for many texts at once: the same answers, sooner.

        ``candidates`` and ``exclude`` are one set for all, or a list with one entry (ids or None) for each.
        """
        queries = Queries.many(texts, candidates, exclude)
        return search_texts(self, queries, k, policy, first_stage, depth, threads, hybrid)

    def rerank(self, query: str, texts: Iterable[str], k: int = 10, *, policy: Policy | None = None) -> TextHits:
        """The k best of some texts that need not be in the collection; ids are their places in ``texts``, from 0."""
        return rerank_with(self.encoder, self._splitter, query, texts, k, policy=policy)

    @property
    def _splitter(self) -> Splitter:
        return splitter_for(self._own.plain, self._own.description.passages)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One writer at a time: threads take turns, other processes meet the folder's lock."""
        self.index.snapshot  # noqa: B018 - raises when closed
        with self._turn, writer_lock(self.path):
            yield


def _reopened(path: Path, index: Index, encoder: Encoder | None) -> Collection:
    """The collection that was sent: ``index`` is there, and is the one that was."""
    index.close()
    return Collection.open(path, encoder)
