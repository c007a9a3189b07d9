"""The index: documents by id, searchable, changeable, safe to share between threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import MAX_DIM, Documents, read_documents, to_query, with_dim
from maxsieve.calibrating import plan, recalibrated, retrained, with_calibration, with_codebook
from maxsieve.candidates import Candidates, per_query, read_candidates, read_exclude, select
from maxsieve.common.checks import as_count, check_choice
from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import ClosedIndexError
from maxsieve.grouping import GroupBy, search_groups
from maxsieve.hits import Hits, to_hits
from maxsieve.ids import Id, positions_of, to_id, to_ids
from maxsieve.policies import CERTIFIED, MANY, Policy
from maxsieve.storage.building import SegmentBuilder
from maxsieve.storage.calibration import ORIGINS, Origin
from maxsieve.storage.directory import Directory
from maxsieve.storage.disk import DiskStorage
from maxsieve.storage.memory import MemoryStorage
from maxsieve.storage.metadata import to_texts
from maxsieve.storage.segments import Similarity, Store
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import Storage


class Change(Protocol):
    """Makes codebook and calibration of a state anew; ``advance`` is told of each query that is done."""

    def __call__(self, state: Snapshot, threads: int, *, advance: Callable[[int], None]) -> Snapshot:
        """The state with those."""


class Index:
    """Token vectors by document id, with exact top-K search under MaxSim. Think of a dict from id to a [L, d] array.

    Make one with `Index.build` (from documents) or `Index.create` (empty), in memory or in a folder; `Index.open` finds
    the latter again. Any number of threads may search while
    others add or delete: each search sees the index before or after a change, never between. Pickled, one in memory
    takes its vectors along; of one on disk, the folder is opened where it arrives, at the newest version.

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
        """An index of documents, in memory or, with ``path``, in a folder that is new or empty.

        docs
            an iterable (a generator too) of [L, d] arrays, a padded [N, L, d] array with ``lengths`` or ``mask``, or a
            flat [tokens, d] array with ``lengths``; NumPy, torch, anything with ``__array__`` or DLPack; float16,
            bfloat16, float32 or float64.
        ids
            unique, all str or all int; 0, 1, ... by default.
        metadata
            a record for each document (None for none): anything JSON can hold. It comes back with hits.
        path
            the folder of an index on disk. It is written as documents come, in bounded memory: 64 MiB of vectors, or
            one document if that is larger, a few times over. If the build is interrupted, what was committed stays
            there as a valid index, which `add` can go on with; if nothing was, nothing stays.
        store
            the type in which vectors are kept: ``"float32"``; ``"float16"``, which rounds them and takes 3/5 of the
            room; or ``"int8"``, which rounds them to codes of one byte and takes 1/5.
        similarity
            ``"dot"`` takes vectors as given, ``"cosine"`` normalises documents and queries (a zero vector stays zero).
        group_by
            for documents that are passages of something larger: a function from an id to what it is a part of. Of each
            such group only the best document is a hit, and ``k`` counts groups. It is not kept: give it to `open`, too.

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
        """An empty index for vectors of ``dim`` numbers, in memory or in the folder ``path``, which is new or empty.

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
        """An index from its folder: mapped, not read, so that this takes milliseconds whatever its size.

        It stays at the version it found until `refresh` or a change of its own. Any number of processes may have it
        open; one at a time may change it. ``group_by`` is that of `build`.
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
        """Adds documents, all of them or, if anything is wrong, none. A known id is an error unless ``replace=True``.

        A replaced document counts as new: it takes the last place in insertion order. Those to ``delete`` go in the
        same step: no search, and no crash, comes between.

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
        """`add` for documents, ids and metadata that were looked at before.

        Without ids, documents bring theirs along, or else are numbered from 0 on. ``stepwise`` commits each segment
        when it is full.
        """
        total = len(ids) if documents.total is None and ids is not None else documents.total
        with (
            self._storage.adding(ids, texts, replace, list(delete), stepwise) as addition,
            progress_bar("indexing", total, shown=progress, unit="documents") as advance,
        ):
            crew = thread_count(threads)
            builder = SegmentBuilder(self.dim, self._store, self._similarity, crew, addition.name, addition.add)
            count = 0
            for batch in documents.batches:
                addition.arrive(batch.ids, batch.texts)
                count += len(batch.lengths)
                addition.check(count, complete=False)
                builder.add(batch)
                advance(len(batch.lengths))
            addition.check(count, complete=True)
            builder.finish()

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents, all of them or, if an id is unknown, none. Their memory is given back by `compact`.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> index.delete(["east"])
        >>> index.ids
        ['north']
        """
        self._storage.delete(to_ids([ids] if isinstance(ids, (str, int, np.integer)) else ids, "delete"))

    def compact(self, *, progress: bool = False) -> None:
        """Gives back what deleted and replaced documents take, and merges small segments. Answers stay the same.

        A codebook that the index has outgrown, having four times the tokens it was made for, is made again, and so is
        the calibration, with the queries it kept; answers of `Calibrated` may then differ.
        """
        self._storage.compact(progress)
        codebook = self.snapshot.codebook
        if codebook is not None and codebook.outgrown_by(self.tokens):
            self.train_codebook(progress=progress)

    def train_codebook(self, *, progress: bool = False) -> None:
        """Makes the codebook of `Calibrated`, or makes it again from the documents that are there now.

        A calibration is made again too, with the queries it kept.

        >>> index = Index.build(np.eye(4, dtype=np.float32), lengths=[2, 2])
        >>> index.train_codebook()
        >>> index.snapshot.codebook.centroids
        256
        """
        self._replace_tiers(partial(retrained, group_by=self._group_by), None, progress)

    def calibrate(
        self, queries: Iterable[Any], k: int = 100, *, calibrated_on: Origin = "queries", progress: bool = False
    ) -> None:
        """Finds out, on queries [T, d] like those to come, how many documents `Calibrated` must follow up for a top k.

        The queries and what was found out are kept with the index. An overlap of 0.99 needs at least 99 queries, 0.95
        at least 19. A codebook is made if there is none. Each query is searched for exactly, which takes as long as
        that many searches with `Certified`.

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
            raise ValueError("calibrate needs queries, and there are none")

        def change(state: Snapshot, threads: int, *, advance: Callable[[int], None]) -> Snapshot:
            coded = with_codebook(state, threads) if state.codebook is None else state
            return with_calibration(coded, rows, k, calibrated_on, threads, self._group_by, advance)

        self._replace_tiers(change, len(rows), progress)

    def recalibrate(self, *, progress: bool = False) -> None:
        """`calibrate` again with the queries it kept, after documents have changed."""
        self._replace_tiers(partial(recalibrated, group_by=self._group_by), None, progress)

    def _replace_tiers(self, change: Change, queries: int | None, progress: bool) -> None:
        threads = thread_count(None)
        with progress_bar("calibrating", queries, shown=progress, unit="queries") as advance:
            self._storage.replace_tiers(lambda state: change(state, threads, advance=advance))

    def refresh(self) -> None:
        """Goes to the newest version on disk, as other processes have written it. In memory there is nothing to do."""
        self._storage.refresh()

    def verify(self, *, progress: bool = False) -> None:
        """Reads everything on disk and compares checksums; `DamagedIndexError` names the file that differs."""
        self._storage.verify(progress)

    def discard_if_empty(self) -> None:
        """Removes the files of an index on disk that no document was ever added to; leaves any other as it is."""
        self._storage.discard_if_empty()

    def close(self) -> None:
        """Lets go of everything; later calls raise `ClosedIndexError`. Searches under way finish."""
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
        """The present state, which never changes: what is read from it fits together, whatever is written meanwhile."""
        return self._storage.snapshot

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return self.snapshot.dim

    @property
    def store(self) -> Store:
        """The type in which rows are kept."""
        return self._store

    @property
    def tokens(self) -> int:
        """Token vectors of all documents."""
        state = self.snapshot
        return int(state.lengths[state.alive].sum())

    @property
    def nbytes(self) -> int:
        """Bytes held for vectors, codes and bounds; deleted documents count until `compact`."""
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
        """A document's record, or None.

        >>> Index.build([[[1.0]]], ["a"], metadata=[{"title": "Alpha"}]).metadata("a")
        {'title': 'Alpha'}
        """
        state, position = self._locate(one, "metadata")
        return state.metadata([position])[0]

    def known_metadata(self, ids: Iterable[Id]) -> dict[Id, Any]:
        """The records of those of some ids that are in the index, None for a document without one.

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
        threads: int | None = None,
    ) -> Hits:
        """The k best documents for a query [T, d]; the best of k groups, if the index was given ``group_by``.

        policy
            `Certified` (the default), `Calibrated` (far faster, after `calibrate`), `Bandit` or `Exhaustive`.
        candidates
            search only these ids (repeats are ignored), or a boolean mask over `Index.ids`; all documents by default.
        exclude
            ids that must not be hits.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]], [[0.6, 0.8]]], ["east", "north", "both"])
        >>> hits = index.search([[0.0, 1.0]], k=2, exclude=["north"])
        >>> hits.ids, hits.report.guarantee
        (['both', 'east'], 'exact')
        """
        k, threads = min(as_count(k, "k", at_least=1), MANY), thread_count(threads)
        state = self.snapshot
        rows = to_query(query, "query", state.dim, cosine=self._similarity == "cosine")
        if candidates is None and exclude is None:  # as most have it: no time for more questions
            positions = state.searchable
        else:
            wanted, unwanted = read_candidates([candidates]), read_exclude([exclude])
            state, (positions,) = self._choose(wanted, unwanted)
            exclude = unwanted[0]
        chosen, group_by = CERTIFIED if policy is None else policy, self._group_by
        native, promise = plan(chosen, state, k, [candidates], [exclude], group_by)
        state.expect(scattered=promise is not None)
        (groups,) = search_groups(state, [rows], [positions], k, native, threads, group_by)
        return to_hits(groups.answer, state, rows, promise, groups.places)

    def search_many(
        self,
        queries: Iterable[Any],
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        threads: int | None = None,
    ) -> list[Hits]:
        """`search` for many queries at once: the same answers, with the queries spread over the threads.

        ``candidates`` and ``exclude`` are one set for all queries, or a list with one entry (ids or None) for each.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> [hits.ids for hits in index.search_many([[[1.0, 0.0]], [[0.0, 1.0]]], k=1)]
        [['east'], ['north']]
        """
        all_queries = list(queries)
        wanted = per_query(candidates, len(all_queries), "candidates")
        unwanted = per_query(exclude, len(all_queries), "exclude")
        k, threads = min(as_count(k, "k", at_least=1), MANY), thread_count(threads)
        rows = self._to_rows(all_queries)
        chosen, excluded = read_candidates(wanted), read_exclude(unwanted)
        state, positions = self._choose(chosen, excluded)
        group_by = self._group_by
        native, promise = plan(CERTIFIED if policy is None else policy, state, k, chosen, excluded, group_by)
        state.expect(scattered=promise is not None)
        answers = search_groups(state, rows, positions, k, native, threads, group_by)
        return [to_hits(one.answer, state, row, promise, one.places) for one, row in zip(answers, rows, strict=True)]

    def _to_rows(self, queries: Iterable[Any]) -> list[NDArray[np.float32]]:
        dim, cosine = self.dim, self._similarity == "cosine"
        return [to_query(query, f"query {i}", dim, cosine=cosine) for i, query in enumerate(queries)]

    def _choose(
        self, candidates: list[Candidates], exclude: list[list[Id] | None]
    ) -> tuple[Snapshot, list[NDArray[np.int64]]]:
        """Positions for each query, the same array where its sets are the same, and the snapshot they are for."""
        choices = list(zip(candidates, exclude, strict=True))
        chosen: dict[tuple[int, int], NDArray[np.int64]] = {}
        with self._storage.guard:
            state = self._storage.snapshot
            for wanted, unwanted in choices:
                if (choice := (id(wanted), id(unwanted))) not in chosen:
                    views = state.searchable, state.live, state.lengths
                    chosen[choice] = select(*views, self._storage.positions, wanted, unwanted)
        return state, [chosen[id(wanted), id(unwanted)] for wanted, unwanted in choices]

    def _locate(self, one: Id, what: str) -> tuple[Snapshot, int]:
        with self._storage.guard:
            state = self._storage.snapshot
            return state, int(positions_of(to_ids([one], what), self._storage.positions(), what)[0])


def _namer(ids: list[Id] | None) -> Callable[[int], str]:
    return lambda i: f"document {ids[i]!r}" if ids is not None and i < len(ids) else f"document {i}"
