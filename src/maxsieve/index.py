"""The index: documents by id, searchable, changeable, safe to share between threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import TracebackType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve._checks import as_count
from maxsieve.arrays import MAX_DIM, Documents, read_documents, to_query
from maxsieve.candidates import per_query, read_candidates, read_exclude, select
from maxsieve.errors import ClosedIndexError
from maxsieve.hits import Hits, to_hits
from maxsieve.ids import Id, find_duplicate, positions_of, to_id, to_ids
from maxsieve.policies import Bandit, Certified, Exhaustive, Policy
from maxsieve.progress import progress_bar
from maxsieve.segments import Segment, SegmentBuilder, Similarity, Store, merge_small
from maxsieve.threads import thread_count

MANY = 2**40
"""More documents or tokens than there ever are: the core counts in 64 bits, Python without end."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of an index, never changed: a search that holds it sees nothing of later adds and deletes.

    ``ids`` may grow behind a snapshot's back; it looks only at the positions it knows.
    """

    dim: int
    segments: tuple[Segment, ...]
    alive: NDArray[np.bool_]
    ids: list[Id]

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The engine's view."""
        return _core.Corpus(self.dim, tuple(segment.native for segment in self.segments))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document, by position."""
        return np.concatenate([np.zeros(0, np.int64), *(np.diff(segment.offsets) for segment in self.segments)])

    @cached_property
    def live(self) -> NDArray[np.int64]:
        """Positions of documents that were not deleted."""
        return np.flatnonzero(self.alive)

    @cached_property
    def searchable(self) -> NDArray[np.int64]:
        """Positions of documents that can be a hit: live and not empty."""
        return np.flatnonzero(self.alive & (self.lengths > 0))


class Index:
    """Token vectors by document id, with exact top-K search under MaxSim. Think of a dict from id to a [L, d] array.

    Make one with `Index.build` (from documents) or `Index.create` (empty). Any number of threads may search while
    others add or delete: each search sees the index before or after a change, never between.

    >>> import numpy as np, maxsieve as ms
    >>> index = ms.Index.build([[[1.0, 0.0]], [[0.0, 1.0], [0.6, 0.8]]], ["east", "north"])
    >>> index.search([[0.0, 1.0]], k=1).ids
    ['north']
    """

    def __init__(self, dim: int, *, store: Store = "float32", similarity: Similarity = "dot") -> None:
        dim = as_count(dim, "dim", at_least=1, at_most=MAX_DIM)
        _check_choice(store, "store", get_args(Store))
        _check_choice(similarity, "similarity", get_args(Similarity))
        self._dim, self._store, self._similarity = dim, store, similarity
        self._writing = threading.Lock()
        self._guard = threading.Lock()
        self._positions: dict[Id, int] = {}
        self._described: Snapshot | None = None
        self._snapshot: Snapshot | None = Snapshot(dim, (), np.zeros(0, np.bool_), [])

    @classmethod
    def build(
        cls,
        docs: Any,
        ids: Iterable[Id] | None = None,
        *,
        lengths: Any = None,
        mask: Any = None,
        path: str | os.PathLike[str] | None = None,
        store: Store = "float32",
        similarity: Similarity = "dot",
        threads: int | None = None,
        progress: bool = False,
    ) -> Index:
        """An index of documents.

        docs
            an iterable (a generator too) of [L, d] arrays, a padded [N, L, d] array with ``lengths`` or ``mask``, or a
            flat [tokens, d] array with ``lengths``; NumPy, torch, anything with ``__array__`` or DLPack; float16,
            bfloat16, float32 or float64.
        ids
            unique, all str or all int; 0, 1, ... by default.
        store
            the type in which rows are kept: ``"float32"``, or ``"float16"``, which rounds them and takes half the room.
        similarity
            ``"dot"`` takes vectors as given, ``"cosine"`` normalises documents and queries (a zero vector stays zero).

        >>> import numpy as np
        >>> len(Index.build(np.ones((5, 4)), lengths=[2, 0, 3]))
        3
        """
        _in_memory_only(path)
        known = None if ids is None else to_ids(ids, "ids")
        dim, documents = _peek_dim(read_documents(docs, lengths, mask, None, _namer(known)))
        index = cls(dim, store=store, similarity=similarity)
        index._add(documents, known, False, thread_count(threads), progress)
        return index

    @classmethod
    def create(
        cls,
        dim: int,
        *,
        path: str | os.PathLike[str] | None = None,
        store: Store = "float32",
        similarity: Similarity = "dot",
    ) -> Index:
        """An empty index for vectors of ``dim`` numbers.

        >>> Index.create(128).dim
        128
        """
        _in_memory_only(path)
        return cls(dim, store=store, similarity=similarity)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Index:
        """An index from disk: not in this version."""
        raise NotImplementedError("this version keeps indexes in memory only: there is none to open")

    def add(
        self,
        docs: Any,
        ids: Iterable[Id],
        *,
        lengths: Any = None,
        mask: Any = None,
        replace: bool = False,
        progress: bool = False,
    ) -> None:
        """Adds documents, all of them or, if anything is wrong, none. A known id is an error unless ``replace=True``.

        A replaced document counts as new: it takes the last place in insertion order.

        >>> index = Index.create(2)
        >>> index.add([[[1.0, 0.0]]], ["east"])
        >>> "east" in index
        True
        """
        self._state()
        if ids is None:
            raise TypeError("add needs ids, one for each document")
        known = to_ids(ids, "ids")
        documents = read_documents(docs, lengths, mask, self._dim, _namer(known))
        self._add(documents, known, replace, thread_count(None), progress)

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents, all of them or, if an id is unknown, none. Their memory is given back by `compact`.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> index.delete(["east"])
        >>> index.ids
        ['north']
        """
        gone = to_ids([ids] if isinstance(ids, (str, int, np.integer)) else ids, "delete")
        with self._writing, self._guard:
            state = self._state()
            known = self._known(state)
            alive = state.alive.copy()
            alive[positions_of(gone, known, "delete")] = False
            self._described = None
            for one in set(gone):
                del known[one]
            self._snapshot = self._described = Snapshot(self._dim, state.segments, alive, state.ids)

    def compact(self) -> None:
        """Gives back the memory of deleted and replaced documents. Answers stay the same."""
        with self._writing:
            state = self._state()
            segments, start = [], 0
            for segment in state.segments:
                alive = state.alive[start : start + segment.documents]
                start += segment.documents
                if alive.all():
                    segments.append(segment)
                elif alive.any():
                    segments.append(segment.keep(alive))
            ids = [state.ids[i] for i in state.live.tolist()]
            with self._guard:
                self._snapshot = Snapshot(self._dim, tuple(segments), np.ones(len(ids), np.bool_), ids)

    def refresh(self) -> None:
        """Sees what other processes have written: nothing to do for an index in memory."""
        self._state()

    def verify(self) -> None:
        """Checks the index against damage: nothing can have happened to one in memory."""
        self._state()

    def close(self) -> None:
        """Lets go of everything; later calls raise `ClosedIndexError`. Searches under way finish."""
        with self._writing, self._guard:
            self._snapshot = self._described = None
            self._positions = {}

    def __enter__(self) -> Index:
        self._state()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._state().live)

    def __contains__(self, one: object) -> bool:
        self._state()
        try:
            wanted = to_id(one, "id")
        except (TypeError, ValueError):
            return False
        with self._guard:
            return wanted in self._known(self._state())

    def __repr__(self) -> str:
        try:
            return f"<maxsieve.Index: {len(self)} documents, {self.tokens} tokens, dim {self._dim}>"
        except ClosedIndexError:
            return "<closed maxsieve.Index>"

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return self._state().dim

    @property
    def tokens(self) -> int:
        """Token vectors of all documents."""
        state = self._state()
        return int(state.lengths[state.alive].sum())

    @property
    def nbytes(self) -> int:
        """Bytes held for vectors, codes and bounds; deleted documents count until `compact`."""
        return sum(segment.nbytes for segment in self._state().segments)

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        state = self._state()
        return [state.ids[i] for i in state.live.tolist()]

    def vectors(self, one: Id) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's vectors [L, d], as stored.

        >>> Index.build([[[3.0, 4.0]]], similarity="cosine").vectors(0).tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        with self._guard:
            state = self._state()
            position = int(positions_of(to_ids([one], "vectors"), self._known(state), "vectors")[0])
        for segment in state.segments:
            if position < segment.documents:
                first, last = segment.offsets[position : position + 2]
                rows: NDArray[np.float32] | NDArray[np.float16] = segment.rows[first:last].copy()
                return rows
            position -= segment.documents
        raise AssertionError("a position lies in some segment")

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
        """The k best documents for a query [T, d].

        policy
            `Certified` (the default), `Bandit` or `Exhaustive`.
        candidates
            search only these ids (repeats are ignored), or a boolean mask over `Index.ids`; all documents by default.
        exclude
            ids that must not be hits.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]], [[0.6, 0.8]]], ["east", "north", "both"])
        >>> hits = index.search([[0.0, 1.0]], k=2, exclude=["north"])
        >>> hits.ids, hits.report.guarantee
        (['both', 'east'], 'exact')
        """
        return self._search([query], ["query"], k, policy, [candidates], [exclude], threads)[0]

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
        count = len(all_queries)
        names = [f"query {i}" for i in range(count)]
        return self._search(
            all_queries,
            names,
            k,
            policy,
            per_query(candidates, count, "candidates"),
            per_query(exclude, count, "exclude"),
            threads,
        )

    def _search(
        self,
        queries: list[Any],
        names: list[str],
        k: int,
        policy: Policy | None,
        candidates: list[Any],
        exclude: list[Any],
        threads: int | None,
    ) -> list[Hits]:
        k = as_count(k, "k", at_least=1)
        knobs = _knobs(Certified() if policy is None else policy)
        threads = thread_count(threads)
        self._state()
        cosine = self._similarity == "cosine"
        rows = [to_query(query, name, self._dim, cosine=cosine) for query, name in zip(queries, names, strict=True)]
        choices = list(zip(read_candidates(candidates), read_exclude(exclude), strict=True))
        chosen: dict[tuple[int, int], NDArray[np.int64]] = {}
        with self._guard:
            state = self._state()
            for wanted, unwanted in choices:
                if (choice := (id(wanted), id(unwanted))) not in chosen:
                    views = state.searchable, state.live, state.lengths
                    chosen[choice] = select(*views, self._known(state), wanted, unwanted)
        positions = [chosen[id(wanted), id(unwanted)] for wanted, unwanted in choices]
        answers = _core.search(state.corpus, rows, positions, min(k, MANY), *knobs, threads, False)
        return [to_hits(answer, state.ids, state.corpus, row) for answer, row in zip(answers, rows, strict=True)]

    def _add(self, documents: Documents, ids: list[Id] | None, replace: bool, threads: int, progress: bool) -> None:
        if ids is not None:
            self._check_new(ids, replace)
        builder = SegmentBuilder(self._dim, self._store, self._similarity, threads, _namer(ids))
        count = 0
        total = len(ids) if documents.total is None and ids is not None else documents.total
        with progress_bar("indexing", total, shown=progress) as advance:
            for batch in documents.batches:
                count += len(batch.lengths)
                if ids is not None and count > len(ids):
                    raise ValueError(f"there are more documents than the {len(ids)} ids")
                builder.add(batch)
                advance(len(batch.lengths))
        if ids is None:
            ids = list(range(count))
        if count != len(ids):
            raise ValueError(f"there are {count} documents but {len(ids)} ids")
        segments = builder.finish()
        # No lock was held so far: the caller's generator may use this index, and others may have changed it.
        with self._writing:
            self._commit(self._check_new(ids, replace), segments, ids)

    def _check_new(self, ids: list[Id], replace: bool) -> Snapshot:
        """The present state, if these ids can be added to it."""
        if (twice := find_duplicate(ids)) is not None:
            raise ValueError(f"ids: {twice!r} occurs twice")
        with self._guard:
            state = self._state()
            known = self._known(state)
            present = next(iter(known), None)
            if ids and present is not None and type(ids[0]) is not type(present):
                raise TypeError(f"ids: this index has {type(present).__name__} ids, not {type(ids[0]).__name__}")
            if not replace and (old := next((one for one in ids if one in known), None)) is not None:
                raise ValueError(f"ids: {old!r} is in the index already; replace=True replaces it")
        return state

    def _commit(self, state: Snapshot, segments: list[Segment], ids: list[Id]) -> None:
        """Makes new documents visible, all at once. Runs under the writing lock."""
        first = len(state.alive)
        merged = tuple(merge_small([*state.segments, *segments]))
        alive = np.concatenate([state.alive, np.ones(len(ids), np.bool_)])
        with self._guard:
            known = self._known(state)
            alive[[known[one] for one in ids if one in known]] = False
            state.ids[first:] = ids
            self._described = None
            known.update(zip(ids, range(first, first + len(ids)), strict=True))
            self._snapshot = self._described = Snapshot(self._dim, merged, alive, state.ids)

    def _known(self, state: Snapshot) -> dict[Id, int]:
        """Where each id of the present state stands. Runs under the guard.

        The dict is carried from state to state, and made anew where it describes another: after `compact`, or when a
        Ctrl-C fell into the midst of a change.
        """
        if self._described is not state:
            self._positions = {state.ids[i]: i for i in state.live.tolist()}
            self._described = state
        return self._positions

    def _state(self) -> Snapshot:
        if self._snapshot is None:
            raise ClosedIndexError("this index is closed")
        return self._snapshot


def _check_choice(value: object, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")


def _in_memory_only(path: object) -> None:
    if path is not None:
        raise NotImplementedError("this version keeps indexes in memory only: leave out path")


def _namer(ids: list[Id] | None) -> Callable[[int], str]:
    return lambda i: f"document {ids[i]!r}" if ids is not None and i < len(ids) else f"document {i}"


def _peek_dim(documents: Documents) -> tuple[int, Documents]:
    """The dimension of documents, which may be known only from the first of them; nothing is lost."""
    if documents.dim is not None:
        return documents.dim, documents
    first = next(documents.batches, None)
    if first is None:
        raise ValueError("no documents, hence no dimension: start with Index.create(dim)")
    dim = first.rows.shape[1]
    return dim, Documents(chain([first], documents.batches), documents.total, dim)


def _knobs(policy: object) -> tuple[str, float, float, int, int, int, str]:
    bandit = policy if isinstance(policy, Bandit) else Bandit()
    names = {Certified: "certified", Bandit: "bandit", Exhaustive: "exhaustive"}
    if type(policy) not in names:
        raise TypeError(f"policy must be Certified(), Bandit() or Exhaustive(), not {policy!r}")
    margin, block = min(bandit.margin, MANY), min(bandit.block, MANY)
    return names[type(policy)], bandit.alpha, bandit.delta, margin, block, bandit.seed, bandit.radius
