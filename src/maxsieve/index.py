"""The index: documents by id, with search and changes. It is thread-safe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import MAX_DIM, Documents, read_documents, to_query, with_dim
from maxsieve.candidates import choose, per_query, read_candidates, read_exclude
from maxsieve.common.checks import as_count, check_choice
from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import ClosedIndexError
from maxsieve.groups import GroupBy, are_whole_groups, search_groups
from maxsieve.hits import Hits, Promise, to_hits
from maxsieve.ids import Id, positions_of, to_id, to_ids
from maxsieve.policies import CERTIFIED, MOST, Policy, to_native
from maxsieve.storage.builder import SegmentBuilder
from maxsieve.storage.calibration import ORIGINS, Origin
from maxsieve.storage.directory import Directory
from maxsieve.storage.disk import DiskStorage
from maxsieve.storage.memory import MemoryStorage
from maxsieve.storage.metadata import to_texts
from maxsieve.storage.segments import Similarity, Store
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Storage
from maxsieve.tiers import Calibrating, plan, recalibrated, retrained, with_calibration, with_codebook
from maxsieve.where import per_query_where, to_where


class Change(Protocol):
    """Replaces codebook and calibration of a state; calls ``advance`` after each query."""

    def __call__(self, state: Snapshot, threads: int, *, advance: Callable[[int], None]) -> Snapshot:
        """The state with the new ones."""


class Index:
    """Token vectors by document id, with exact top-K search under MaxSim. Think of a dict from id to a [L, d] array.

    `Index.build` (from documents) and `Index.create` (empty) make an index in memory or in a folder; `Index.open` opens
    an existing folder. Any number of threads may search while others add or delete: each search sees the index before
    or after a change, never in between. Pickling an index in memory includes its vectors; pickling an index on disk
    stores its path, and unpickling opens the folder at the newest version.

    >>> import numpy as np, maxsieve as ms
    >>> index = ms.Index.build([[[1.0, 0.0]], [[0.0, 1.0], [0.6, 0.8]]], ["east", "north"])
    >>> index.search([[0.0, 1.0]], k=1).ids
    ['north']
    """

    def __init__(self, storage: Storage, store: Store, similarity: Similarity, group_by: GroupBy | None = None) -> None:
        self._storage, self._store, self._similarity, self._group_by = storage, store, similarity, group_by

    @classmethod
    def build(
        cls,
        docs: Any,
        ids: Iterable[Id] | None = None,
        *,
        lengths: Any = None,
        mask: Any = None,
        metadata: Iterable[Any] | None = None,
        path: str | os.PathLike[str] | None = None,
        store: Store = "float32",
        similarity: Similarity = "dot",
        group_by: GroupBy | None = None,
        threads: int | None = None,
        progress: bool = False,
    ) -> Index:
        """Builds an index of documents, in memory or, with ``path``, in a new or empty folder.

        docs
            an iterable (also a generator) of [L, d] arrays, a padded [N, L, d] array with ``lengths`` or ``mask``, or a
            flat [tokens, d] array with ``lengths``; NumPy, torch, anything with ``__array__`` or DLPack; float16,
            bfloat16, float32 or float64.
        ids
            unique, all str or all int; 0, 1, ... by default.
        metadata
            a JSON-compatible value for each document, or None. It is returned with hits.
        path
            the folder of an index on disk. It is written while documents are read, in bounded memory: a few times 64
            MiB of vectors, or a few times one document if that is larger. If the build is interrupted, the committed
            documents stay as a valid index, to which `add` can add the others; if there are none, nothing stays.
        store
            the type of stored vectors: ``"float32"``; ``"float16"``, which rounds them and takes 3/5 of the space; or
            ``"int8"``, which rounds them to codes of one byte and takes 1/5.
        similarity
            ``"dot"`` takes vectors as given, ``"cosine"`` normalises documents and queries (a zero vector stays zero).
        group_by
            for documents that are passages of larger texts: a function from an id to its group. Only the best document
            of each group is a hit, and ``k`` counts groups. The function is not stored: give it to `open`, too.

        >>> import numpy as np
        >>> len(Index.build(np.ones((5, 4)), lengths=[2, 0, 3]))
        3
        """
        known = None if ids is None else to_ids(ids, "ids")
        dim, documents = with_dim(read_documents(docs, lengths, mask, None, _namer(known)))
        texts = to_texts(metadata, documents.total if known is None else len(known))
        threads = thread_count(threads)
        index = cls.create(dim, path=path, store=store, similarity=similarity, group_by=group_by)
        try:
            index.add_documents(
                documents, known, texts, threads=threads, progress=progress, stepwise=documents.resumable
            )
        except BaseException:
            index.discard_if_empty()
            raise
        return index

    @classmethod
    def create(
        cls,
        dim: int,
        *,
        path: str | os.PathLike[str] | None = None,
        store: Store = "float32",
        similarity: Similarity = "dot",
        group_by: GroupBy | None = None,
    ) -> Index:
        """Creates an empty index for vectors of ``dim`` numbers, in memory or in the new or empty folder ``path``.

        >>> Index.create(128).dim
        128
        """
        dim = as_count(dim, "dim", at_least=1, at_most=MAX_DIM)
        check_choice(store, "store", get_args(Store))
        check_choice(similarity, "similarity", get_args(Similarity))
        if path is None:
            return cls(MemoryStorage(dim, store), store, similarity, group_by)
        return cls(DiskStorage(Directory.create(Path(path), dim, store, similarity)), store, similarity, group_by)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, group_by: GroupBy | None = None) -> Index:
        """Opens an index from its folder. It is memory-mapped, not read, so this takes milliseconds whatever its size.

        It stays at the version it found until `refresh` or a change by this object. Any number of processes may open
        it; one at a time may change it. ``group_by`` is as in `build`.
        """
        directory = Directory.open(Path(path))
        return cls(DiskStorage(directory), directory.manifest.store, directory.manifest.similarity, group_by)

    def add(
        self,
        docs: Any,
        ids: Iterable[Id],
        *,
        lengths: Any = None,
        mask: Any = None,
        metadata: Iterable[Any] | None = None,
        replace: bool = False,
        delete: Iterable[Id] = (),
        progress: bool = False,
    ) -> None:
        """Adds all documents, or none if anything is wrong. A known id is an error unless ``replace=True``.

        A replaced document counts as new: it becomes the last in insertion order. The ids in ``delete`` are deleted in
        the same atomic step.

        >>> index = Index.create(2)
        >>> index.add([[[1.0, 0.0]]], ["east"])
        >>> "east" in index
        True
        """
        self.snapshot  # noqa: B018 - raises when closed
        if ids is None:
            raise TypeError("add needs ids, one for each document")
        known = to_ids(ids, "ids")
        documents = read_documents(docs, lengths, mask, self.dim, _namer(known))
        texts, gone = to_texts(metadata, len(known)), to_ids(delete, "delete")
        self.add_documents(documents, known, texts, replace=replace, delete=gone, progress=progress)

    def add_documents(
        self,
        documents: Documents,
        ids: list[Id] | None,
        texts: list[str | None] | None = None,
        *,
        replace: bool = False,
        delete: Iterable[Id] = (),
        threads: int | None = None,
        progress: bool = False,
        stepwise: bool = False,
    ) -> None:
        """`add` for documents, ids and metadata that are already checked.

        If ``ids`` is None, the batches contain ids, or documents are numbered from 0. ``stepwise`` commits each segment
        when it is full.
        """
        total = len(ids) if documents.total is None and ids is not None else documents.total
        with (
            self._storage.adding(ids, texts, replace, list(delete), stepwise) as addition,
            progress_bar("indexing", total, shown=progress, unit="documents") as advance,
        ):
            workers = thread_count(threads)
            builder = SegmentBuilder(self.dim, self._store, self._similarity, workers, addition.name, addition.add)
            addition.take(documents, builder, advance)

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents. If one of the ids is unknown, nothing is deleted. `compact` frees their memory.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> index.delete(["east"])
        >>> index.ids
        ['north']
        """
        self._storage.delete(to_ids([ids] if isinstance(ids, (str, int, np.integer)) else ids, "delete"))

    def compact(self, *, progress: bool = False) -> None:
        """Frees the space of deleted and replaced documents, and merges small segments. Answers stay the same.

        If the index has four times as many tokens as its codebook was trained for, the codebook is trained again, and
        the index is calibrated again with the stored queries. Then answers of `Calibrated` may differ.
        """
        self._storage.compact(progress)
        codebook = self.snapshot.codebook
        if codebook is not None and codebook.outgrown_by(self.tokens):
            self.train_codebook(progress=progress)

    def train_codebook(self, *, progress: bool = False) -> None:
        """Trains the codebook of `Calibrated`, or trains it again on the present documents.

        An index that was calibrated is calibrated again with the stored queries.

        >>> index = Index.build(np.eye(4, dtype=np.float32), lengths=[2, 2])
        >>> index.train_codebook()
        >>> index.snapshot.codebook.centroids
        256
        """
        self._replace_tiers(partial(retrained, group_by=self._group_by), None, progress)

    def calibrate(
        self, queries: Iterable[Any], k: int = 100, *, calibrated_on: Origin = "queries", progress: bool = False
    ) -> None:
        """Measures on typical queries [T, d] how many documents `Calibrated` must follow up for a top k.

        The queries and the result are stored with the index. An overlap of 0.99 needs at least 99 queries, 0.95 at
        least 19. A codebook is trained if there is none. Each query is searched exactly, which takes as long as a
        search with `Certified`.

        >>> from maxsieve import Calibrated
        >>> rng = np.random.default_rng(0)
        >>> index = Index.build(rng.standard_normal((2000, 8)), lengths=[4] * 500)
        >>> index.calibrate(rng.standard_normal((20, 3, 8)), k=10)
        >>> index.search(rng.standard_normal((3, 8)), k=5, policy=Calibrated(overlap=0.9)).report.calibrated_on
        'queries'
        """
        k = as_count(k, "k", at_least=1)
        check_choice(calibrated_on, "calibrated_on", ORIGINS)
        rows = self._to_rows(queries)
        if not rows:
            raise ValueError("the list of queries is empty; calibrate needs queries")

        def change(state: Snapshot, threads: int, *, advance: Callable[[int], None]) -> Snapshot:
            coded = with_codebook(state, threads) if state.codebook is None else state
            return with_calibration(coded, rows, k, calibrated_on, threads, self._group_by, advance)

        self._replace_tiers(change, len(rows), progress)

    def recalibrate(self, *, progress: bool = False) -> None:
        """Calibrates again with the stored queries, after documents have changed."""
        self._replace_tiers(partial(recalibrated, group_by=self._group_by), None, progress)

    def _replace_tiers(self, change: Change, queries: int | None, progress: bool) -> None:
        threads = thread_count(None)
        with progress_bar("calibrating", queries, shown=progress, unit="queries") as advance:
            self._storage.replace_tiers(lambda state: change(state, threads, advance=advance))

    def refresh(self) -> None:
        """Moves to the newest version on disk, which another process may have written. In memory it does nothing."""
        self._storage.refresh()

    def verify(self, *, progress: bool = False) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` names the file that is damaged."""
        self._storage.verify(progress)

    def discard_if_empty(self) -> None:
        """Removes the files of an index on disk if no document was ever added to it; otherwise does nothing."""
        self._storage.discard_if_empty()

    def close(self) -> None:
        """Closes all files; later calls raise `ClosedIndexError`. Running searches finish."""
        self._storage.close()

    def __copy__(self) -> Index:
        return Index(self._storage.copy(), self._store, self._similarity, self._group_by)

    def __deepcopy__(self, memo: dict[int, Any]) -> Index:
        return copy(self)

    def __enter__(self) -> Index:
        self.snapshot  # noqa: B018 - raises when closed
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.snapshot.live)

    def __contains__(self, one: object) -> bool:
        self.snapshot  # noqa: B018 - raises when closed
        try:
            wanted = to_id(one, "id")
        except (TypeError, ValueError):
            return False
        with self._storage.guard:
            return wanted in self._storage.positions()

    def __repr__(self) -> str:
        try:
            return f"<maxsieve.Index: {len(self)} documents, {self.tokens} tokens, dim {self.dim}>"
        except ClosedIndexError:
            return "<closed maxsieve.Index>"

    @property
    def snapshot(self) -> Snapshot:
        """The present state. It is immutable: later writes do not affect it."""
        return self._storage.snapshot

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self.snapshot.dim

    @property
    def store(self) -> Store:
        """The type in which vectors are stored."""
        return self._store

    @property
    def tokens(self) -> int:
        """The number of token vectors of all documents."""
        state = self.snapshot
        return int(state.lengths[state.alive].sum())

    @property
    def nbytes(self) -> int:
        """Bytes of vectors, codes and bounds; deleted documents count until `compact`."""
        return sum(segment.nbytes for segment in self.snapshot.segments)

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        return self.snapshot.live_ids()

    def vectors(self, one: Id) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's vectors [L, d], as stored.

        >>> Index.build([[[3.0, 4.0]]], similarity="cosine").vectors(0).tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        state, position = self._locate(one, "vectors")
        return state.vectors(position)

    def metadata(self, one: Id) -> Any:
        """The metadata of a document, or None.

        >>> Index.build([[[1.0]]], ["a"], metadata=[{"title": "Alpha"}]).metadata("a")
        {'title': 'Alpha'}
        """
        state, position = self._locate(one, "metadata")
        return state.metadata([position])[0]

    def known_metadata(self, ids: Iterable[Id]) -> dict[Id, Any]:
        """The metadata of those ids that are in the index, None for a document without metadata.

        >>> index = Index.build([[[1.0]], [[2.0]]], ["a", "b"], metadata=[{"title": "Alpha"}, None])
        >>> index.known_metadata(["b", "c", "a"])
        {'b': None, 'a': {'title': 'Alpha'}}
        """
        wanted = to_ids(ids, "known_metadata")
        with self._storage.guard:
            state, table = self._storage.snapshot, self._storage.positions(len(wanted))
            places = {one: place for one in wanted if (place := table.get(one)) is not None}
        return dict(zip(places, state.metadata(list(places.values())), strict=True))

    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        threads: int | None = None,
        trace: bool = False,
    ) -> Hits:
        """The k best documents for a query [T, d]; with ``group_by``, the best documents of the k best groups.

        policy
            `Certified` (the default), `Calibrated` (much faster, after `calibrate`), `Bandit` or `Exhaustive`.
        candidates
            search only these ids (repeats are ignored), or a boolean mask over `Index.ids`; all documents by default.
        exclude
            ids that must not be hits.
        where
            search only documents whose metadata match a filter such as ``{"year": {"gte": 2020}, "lang": "en"}``
            (docs/text.md). The guarantee in the report is about those.
        trace
            records the steps of the search in ``hits.trace``. It costs nothing if it is not requested.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]], [[0.6, 0.8]]], ["east", "north", "both"])
        >>> hits = index.search([[0.0, 1.0]], k=2, exclude=["north"])
        >>> hits.ids, hits.report.guarantee
        (['both', 'east'], 'exact')
        >>> dated = Index.build([[[1.0]], [[2.0]]], ["old", "new"], metadata=[{"year": 1990}, {"year": 2024}])
        >>> dated.search([[1.0]], where={"year": {"lt": 2000}}).ids
        ['old']
        """
        k, threads = min(as_count(k, "k", at_least=1), MOST), thread_count(threads)
        state = self.snapshot
        rows = to_query(query, "query", state.dim, cosine=self._similarity == "cosine")
        if candidates is None and exclude is None and where is None:  # a fast path for the usual case
            positions = state.searchable
        else:
            wanted, unwanted = read_candidates([candidates]), read_exclude([exclude])
            state, (positions,) = choose(self._storage, wanted, unwanted, [to_where(where)])
            exclude = unwanted[0]
        native, promise = self._plan(policy, state, k, [candidates, where], [exclude])
        state.expect(scattered=promise is not None)
        group_by = self._group_by
        (groups,) = search_groups(state, [rows], [positions], k, native, threads, group_by, trace=bool(trace))
        return to_hits(groups.answer, state, rows, promise, groups.places)

    def search_many(
        self,
        queries: Iterable[Any],
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        threads: int | None = None,
    ) -> list[Hits]:
        """`search` for many queries at once: the same answers, with the queries distributed over the threads.

        ``candidates`` and ``exclude`` are one set for all queries, or a list with one entry (ids or None) for each.
        ``where`` is one filter for all, or a list with one (or None) for each.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> [hits.ids for hits in index.search_many([[[1.0, 0.0]], [[0.0, 1.0]]], k=1)]
        [['east'], ['north']]
        """
        all_queries = list(queries)
        wanted = per_query(candidates, len(all_queries), "candidates")
        unwanted = per_query(exclude, len(all_queries), "exclude")
        k, threads = min(as_count(k, "k", at_least=1), MOST), thread_count(threads)
        rows = self._to_rows(all_queries)
        chosen, excluded = read_candidates(wanted), read_exclude(unwanted)
        filters = per_query_where(where, len(all_queries))
        state, positions = choose(self._storage, chosen, excluded, filters)
        native, promise = self._plan(policy, state, k, [*chosen, *filters], excluded)
        state.expect(scattered=promise is not None)
        answers = search_groups(state, rows, positions, k, native, threads, self._group_by)
        return [to_hits(one.answer, state, row, promise, one.places) for one, row in zip(answers, rows, strict=True)]

    def _plan(
        self,
        policy: Policy | None,
        state: Snapshot,
        k: int,
        restrictions: Sequence[Any],
        exclude: Sequence[list[Id] | None],
    ) -> tuple[Callable[[int], _core.Policy], Promise | None]:
        group_by = self._group_by
        here = Calibrating(
            state.calibration,
            state.changes,
            len(state.searchable),
            state.mean_length,
            lambda ids: are_whole_groups(state, ids, group_by),
        )
        chosen = CERTIFIED if policy is None else policy
        fixed, promise = plan(chosen, here, k, restrictions, exclude, grouped=group_by is not None)
        return lambda attempt: to_native(fixed(attempt)), promise

    def _to_rows(self, queries: Iterable[Any]) -> list[NDArray[np.float32]]:
        dim, cosine = self.dim, self._similarity == "cosine"
        return [to_query(query, f"query {i}", dim, cosine=cosine) for i, query in enumerate(queries)]

    def _locate(self, one: Id, what: str) -> tuple[Snapshot, int]:
        with self._storage.guard:
            state = self._storage.snapshot
            return state, int(positions_of(to_ids([one], what), self._storage.positions(), what)[0])


def _namer(ids: list[Id] | None) -> Callable[[int], str]:
    return lambda i: f"document {ids[i]!r}" if ids is not None and i < len(ids) else f"document {i}"
