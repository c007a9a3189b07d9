"""The index: documents by id, with search and changes. It is thread-safe."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import MAX_DIM, read_documents, to_query, with_dim
from maxsieve.audit import Audit, Sample
from maxsieve.calibrate import Wanted, calibrate, can_update, end_of_step, update
from maxsieve.calibrated import check_calibrated, is_behind, plan, update_pays
from maxsieve.common.checks import as_count, check_choice
from maxsieve.common.printable import table
from maxsieve.common.progress import Advance, progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import ClosedIndexError, MaxsieveError, StoreWarning
from maxsieve.groups import GroupBy, best_groups
from maxsieve.hits import Hits, Promise
from maxsieve.ids import Id, to_id, to_ids
from maxsieve.options import SearchOptions
from maxsieve.policies import CERTIFIED, Calibrated
from maxsieve.searcher import LocalSearcher, Searcher
from maxsieve.storage.builder import add_documents
from maxsieve.storage.calibration import ORIGINS, Calibration, Origin, calibration_for, check_storable
from maxsieve.storage.codebook import enough_for_store
from maxsieve.storage.directory import Directory
from maxsieve.storage.disk import DiskStorage
from maxsieve.storage.manifest import MOST_FILTERS, SHARDS_NAME
from maxsieve.storage.memory import MemoryStorage
from maxsieve.storage.metadata import to_texts
from maxsieve.storage.segments import Layout, Similarity, Store
from maxsieve.storage.storage import AnySnapshot, NewCalibrations, Storage, awaits_codebook
from maxsieve.where import to_where

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from maxsieve.cluster.options import Cluster
    from maxsieve.options import SearchKeywords


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

    def __init__(
        self,
        storage: Storage,
        searcher: Searcher | None = None,
        *,
        group_by: GroupBy | None = None,
        audit: float | None = None,
    ) -> None:
        self.storage, self.searcher, self._group_by = storage, searcher or LocalSearcher(), group_by
        self.audit = None if audit is None else Audit(audit)
        """What a live audit found, if there is one."""

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
        audit: float | None = None,
        shards: int | None = None,
        cluster: Cluster | None = None,
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
            ``"int8"``, which rounds them to codes of one byte and takes 1/5; or ``"residual4"``, ``"residual2"`` and
            ``"residual1"``, which name the nearest centroid of each vector, and round what is left to so many bits a
            number. Their centroids are trained on the first documents, and scores are exact for what is stored.
        similarity
            ``"dot"`` takes vectors as given, ``"cosine"`` normalises documents and queries (a zero vector stays zero).
        group_by
            for documents that are passages of larger texts: a function from an id to its group. Only the best document
            of each group is a hit, and ``k`` counts groups. The function is not stored: give it to `open`, too.
        audit
            a share, such as 0.01, of the searches by `Calibrated` that is repeated exactly in the background.
            ``index.audit.results`` has the overlap that was found, and a broken promise is a `BrokenPromiseWarning`.
        shards, cluster
            divides the documents over this many shards, which the members of a Ray cluster search (docs/cluster.md).

        >>> import numpy as np
        >>> len(Index.build(np.ones((5, 4)), lengths=[2, 0, 3]))
        3
        """
        known = None if ids is None else to_ids(ids, "ids")
        dim, documents = with_dim(read_documents(docs, lengths, mask, None, _namer(known)))
        texts = to_texts(metadata, documents.total if known is None else len(known))
        threads = thread_count(threads)
        options: dict[str, Any] = {"group_by": group_by, "audit": audit, "shards": shards, "cluster": cluster}
        index = cls.create(dim, path=path, store=store, similarity=similarity, **options)
        try:
            add_documents(
                index.storage, documents, known, texts, threads=threads, progress=progress, stepwise=documents.resumable
            )
            if index.storage.reading(lambda snapshot: awaits_codebook(snapshot) and snapshot.n_tokens > 0):
                index.train_codebook(progress=progress)
        except BaseException:
            index.storage.discard_if_empty()
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
        audit: float | None = None,
        shards: int | None = None,
        cluster: Cluster | None = None,
    ) -> Index:
        """Creates an empty index for vectors of ``dim`` numbers, in memory or in the new or empty folder ``path``.

        >>> Index.create(128).dim
        128
        """
        dim = as_count(dim, "dim", at_least=1, at_most=MAX_DIM)
        check_choice(store, "store", get_args(Store))
        check_choice(similarity, "similarity", get_args(Similarity))
        layout = Layout(dim, store, similarity)
        if layout.bits:
            layout.residual_kinds  # noqa: B018 - refuses too many dimensions
        if shards is not None:
            from maxsieve.cluster import create_shards

            return cls(*create_shards(path, layout, shards, cluster), group_by=group_by, audit=audit)
        if path is None:
            return cls(MemoryStorage(layout), group_by=group_by, audit=audit)
        return cls(DiskStorage(Directory.create(Path(path), layout)), group_by=group_by, audit=audit)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        group_by: GroupBy | None = None,
        audit: float | None = None,
        cluster: Cluster | None = None,
    ) -> Index:
        """Opens an index from its folder. It is memory-mapped, not read, so this takes milliseconds whatever its size.

        It stays at the version it found until `refresh` or a change by this object. Any number of processes may open
        it; one at a time may change it. ``group_by`` and ``audit`` are as in `build`. ``cluster`` says where the
        members of a corpus in shards run.
        """
        if (Path(path) / SHARDS_NAME).exists():
            from maxsieve.cluster import open_shards

            return cls(*open_shards(path, cluster), group_by=group_by, audit=audit)
        return cls(DiskStorage(Directory.open(Path(path))), group_by=group_by, audit=audit)

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
        self.storage.snapshot  # noqa: B018 - raises when closed
        if ids is None:
            raise TypeError("add needs ids, one for each document")
        known = to_ids(ids, "ids")
        documents = read_documents(docs, lengths, mask, self.dim, _namer(known))
        texts, gone = to_texts(metadata, len(known)), to_ids(delete, "delete")
        add_documents(self.storage, documents, known, texts, replace=replace, delete=gone, progress=progress)
        self.encode_if_enough(progress=progress)

    def encode_if_enough(self, *, progress: bool = False) -> None:
        """Encodes documents of a store of residuals that await its codebook, if there are enough tokens to train it.

        `add` calls this. A `StoreWarning` says that scores have changed or, if it fails, why it is left to the next
        time.
        """
        if not self.storage.reading(lambda snapshot: awaits_codebook(snapshot) and enough_for_store(snapshot.n_tokens)):
            return
        try:
            self._train(progress)  # another thread may be doing the same
        except (OSError, MaxsieveError) as problem:  # the documents were added: this must not look as if not
            if not self.storage.reading(awaits_codebook):
                raise
            told = f"the documents were added, but their vectors are not encoded yet: {problem}"
        else:
            told = _encoded(self.tokens, self.store)
        warnings.warn(told, StoreWarning, stacklevel=3)

    def reencode(
        self,
        docs: Any,
        ids: Iterable[Id] | None = None,
        *,
        lengths: Any = None,
        mask: Any = None,
        progress: bool = False,
    ) -> None:
        """Encodes documents of a store of residuals again, from their vectors, with a new codebook trained on them.

        This is for an index whose documents have become unlike those that its codebook was trained on. ``ids`` are all
        ids in insertion order by default. Other documents keep their codebook, metadata stay, and scores change. As
        with `add`, documents that are replaced become the last in insertion order. An index that was calibrated is
        calibrated again with the stored queries, in the same step.

        >>> vectors = np.random.default_rng(0).standard_normal((40, 8))
        >>> index = Index.build(vectors, lengths=[4] * 10, store="residual4")
        >>> index.reencode(vectors, lengths=[4] * 10)
        """
        if not self.storage.layout.bits:
            raise ValueError(f"only a store of residuals has vectors to encode again, and this one is {self.store!r}")
        wanted = None if ids is None else to_ids(ids, "ids")
        known, metadata = self.storage.reading(lambda snapshot: _with_metadata(wanted, snapshot))
        documents = read_documents(docs, lengths, mask, self.dim, _namer(known))
        texts = to_texts(metadata, len(known))

        def again(new: AnySnapshot, old: AnySnapshot) -> NewCalibrations:
            kept = [Wanted.of(one) for one in old.calibrations if can_update(new, one)]
            with progress_bar("calibrating", None, shown=progress and bool(kept), unit="queries") as advance:
                return NewCalibrations(
                    tuple(calibrate(new, self.searcher, one, self._group_by, advance) for one in kept)
                )

        awaits = self.storage.reading(awaits_codebook)
        reencode = None if awaits else again
        add_documents(self.storage, documents, known, texts, replace=True, progress=progress, reencode=reencode)
        if awaits:
            self._train(progress)

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents. If one of the ids is unknown, nothing is deleted. `compact` frees their memory.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> index.delete(["east"])
        >>> index.ids
        ['north']
        """
        self.storage.delete(to_ids([ids] if isinstance(ids, (str, int, np.integer)) else ids, "delete"))

    def compact(self, *, progress: bool = False) -> None:
        """Frees the space of deleted and replaced documents, and merges small segments. Answers stay the same.

        If the index has four times as many tokens as its codebook was trained for, the codebook is trained again, and
        the index is calibrated again with the stored queries. Then answers of `Calibrated` may differ.
        """
        self.storage.compact(progress)
        outgrown = self.storage.reading(lambda new: (book := new.codebook) and book.outgrown_by(new.n_tokens))
        if outgrown and not self.storage.layout.bits:  # there, training would encode documents, and change scores
            self.train_codebook(progress=progress)
        elif self.storage.reading(is_behind):
            self._bring_up_to_date(progress)

    def rebalance(self, shards: int) -> None:
        """Distributes the documents of an index in shards over another number of shards. Answers stay the same."""
        self.storage.rebalance(shards)

    def train_codebook(self, *, progress: bool = False) -> None:
        """Trains the codebook of `Calibrated`, or trains it again on the present documents.

        An index that was calibrated is calibrated again with the stored queries. In a store of residuals, this encodes
        the documents that are still byte codes; its codebook can't be trained again, except by `reencode`.

        >>> index = Index.build(np.eye(4, dtype=np.float32), lengths=[2, 2])
        >>> index.train_codebook()
        """
        if self.storage.layout.bits and not self.storage.reading(awaits_codebook):
            raise ValueError(
                f"the codebook of the store {self.store!r} never changes, because its vectors depend on it; they can "
                "be encoded again, from the original ones"
            )
        self._train(progress)

    def calibrate(
        self,
        queries: Iterable[Any],
        k: int = 100,
        *,
        where: Any = None,
        calibrated_on: Origin = "queries",
        progress: bool = False,
    ) -> None:
        """Measures on typical queries [T, d] how many documents `Calibrated` must follow up for a top k.

        The queries and the result are stored with the index. An overlap of 0.99 needs at least 99 queries, 0.95 at
        least 19. A codebook is trained if there is none. Each query is searched exactly, which takes as long as a
        search with `Certified`.

        With ``where``, the guarantee is for searches with this filter, and other calibrations stay. An index keeps them
        for up to 16 filters.

        >>> from maxsieve import Calibrated
        >>> rng = np.random.default_rng(0)
        >>> index = Index.build(rng.standard_normal((2000, 8)), lengths=[4] * 500)
        >>> index.calibrate(rng.standard_normal((20, 3, 8)), k=10)
        >>> index.search(rng.standard_normal((3, 8)), k=5, policy=Calibrated(overlap=0.9)).report.calibrated_on
        'queries'
        """
        k = as_count(k, "k", at_least=1)
        check_choice(calibrated_on, "calibrated_on", ORIGINS)
        rows = to_rows(list(queries), self.storage.layout)
        if not rows:
            raise ValueError("the list of queries is empty; calibrate needs queries")
        wanted = Wanted(rows, k, calibrated_on, to_where(where))
        if wanted.where is not None:
            check_storable(wanted.where)

        def make(new: AnySnapshot, old: AnySnapshot, advance: Advance) -> NewCalibrations:
            others = [one for one in old.calibrations if one.where != wanted.where]
            if wanted.where is not None and sum(one.where is not None for one in others) >= MOST_FILTERS:
                raise ValueError(f"this index has calibrations for {MOST_FILTERS} filters, the most that it keeps")
            made = calibrate(new, self.searcher, wanted, self._group_by, advance)
            return NewCalibrations((made, *self._update(others, new, old, advance)))

        self._replace_tiers(make, progress)

    def recalibrate(self, *, progress: bool = False) -> None:
        """Brings all calibrations up to date after documents have changed: only new documents are searched.

        Until then, `Calibrated` follows up all new documents, so that its guarantee stays valid, but takes longer. If
        there are many new documents, this is done in steps, each of which is committed: the next call continues one
        that was interrupted.
        """
        self.storage.reading(lambda snapshot: check_calibrated(next(iter(snapshot.calibrations), None)))
        self._bring_up_to_date(progress)

    @property
    def recalibration_pays(self) -> bool:
        """Whether `Calibrated` follows up more new documents than others, so that `recalibrate` makes it faster."""
        return self.storage.reading(lambda snapshot: update_pays(snapshot, self._group_by))

    def _train(self, progress: bool) -> None:
        """Trains the codebook, and brings all calibrations up to date."""

        def updated(new: AnySnapshot, old: AnySnapshot, advance: Advance) -> NewCalibrations:
            return NewCalibrations(self._update(old.calibrations, new, old, advance))

        self._replace_tiers(updated, progress, train=True)

    def _bring_up_to_date(self, progress: bool) -> None:
        """Makes lists of documents that have none, and updates all calibrations, step by step."""
        steps: list[int | None] = []

        def step(new: AnySnapshot, old: AnySnapshot, advance: Advance) -> NewCalibrations:
            until = end_of_step(new, old, self._group_by)
            made = self._update(old.calibrations, new, old, advance, until)
            steps.append(until)
            return NewCalibrations(made, until)

        while not steps or steps[-1] is not None:
            self._replace_tiers(step, progress)

    def _update(
        self,
        calibrations: Iterable[Calibration],
        new: AnySnapshot,
        old: AnySnapshot,
        advance: Advance,
        until: int | None = None,
    ) -> tuple[Calibration, ...]:
        """Brings calibrations up to date. That of a filter which matches nothing any more is dropped."""
        kept = (one for one in calibrations if one.where is None or can_update(new, one))
        return tuple(update(new, old, self.searcher, one, self._group_by, advance, until) for one in kept)

    def _replace_tiers(
        self,
        make: Callable[[AnySnapshot, AnySnapshot, Advance], NewCalibrations],
        progress: bool,
        *,
        train: bool = False,
    ) -> None:
        """Commits new calibrations, lists and maybe a codebook. ``make`` gets the new version and the one before."""
        with progress_bar("calibrating", None, shown=progress, unit="queries") as advance:
            self.storage.replace_tiers(lambda new, old: make(new, old, advance), train=train)

    def refresh(self) -> None:
        """Moves to the newest version on disk, which another process may have written. In memory it does nothing."""
        self.storage.refresh()

    def verify(self, *, progress: bool = False) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` names the file that is damaged."""
        self.storage.verify(progress)

    def close(self) -> None:
        """Closes all files; later calls raise `ClosedIndexError`. Running searches finish."""
        if self.audit is not None:
            self.audit.close()
        self.searcher.close()
        self.storage.close()

    def __copy__(self) -> Index:
        share = None if self.audit is None else self.audit.share
        return Index(self.storage.copy(), copy(self.searcher), group_by=self._group_by, audit=share)

    def __deepcopy__(self, memo: dict[int, Any]) -> Index:
        return copy(self)

    def __enter__(self) -> Index:
        self.storage.snapshot  # noqa: B018 - raises when closed
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.storage.snapshot.n_documents

    def __contains__(self, id: object) -> bool:
        self.storage.snapshot  # noqa: B018 - raises when closed
        try:
            wanted = to_id(id, "id")
        except (TypeError, ValueError):
            return False
        return self.storage.reading(lambda snapshot: wanted in snapshot.known([wanted]))

    def __repr__(self) -> str:
        try:
            return f"<maxsieve.Index: {len(self)} documents, {self.tokens} tokens, dim {self.dim}>"
        except ClosedIndexError:
            return "<closed maxsieve.Index>"

    def _repr_html_(self) -> str:
        try:
            return table(["index", ""], self.storage.reading(_facts).items())
        except ClosedIndexError:
            return escape(repr(self))

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self.storage.layout.dim

    @property
    def store(self) -> Store:
        """The type in which vectors are stored."""
        return self.storage.layout.store

    @property
    def tokens(self) -> int:
        """The number of token vectors of all documents."""
        return self.storage.snapshot.n_tokens

    @property
    def nbytes(self) -> int:
        """Bytes of vectors, codes and bounds; deleted documents count until `compact`."""
        return self.storage.reading(lambda snapshot: snapshot.nbytes)

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        return self.storage.reading(lambda snapshot: snapshot.ids_in_order())

    def vectors(self, id: Id) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's vectors [L, d], as stored; in a store of residuals, rotated back to the given space.

        >>> Index.build([[[3.0, 4.0]]], similarity="cosine").vectors(0).tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        return self.storage.reading(lambda snapshot: snapshot.vectors(_place_of(id, snapshot, "vectors")))

    def metadata(self, id: Id) -> Any:
        """The metadata of a document, or None.

        >>> Index.build([[[1.0]]], ["a"], metadata=[{"title": "Alpha"}]).metadata("a")
        {'title': 'Alpha'}
        """
        return self.storage.reading(lambda snapshot: snapshot.metadata([_place_of(id, snapshot, "metadata")])[0])

    def search(self, query: Any, k: int = 10, **options: Unpack[SearchKeywords]) -> Hits:
        """The k best documents for a query [T, d]; with ``group_by``, the best documents of the k best groups.

        With ``by="passage"``, groups do not count.

        The keywords are the fields of `SearchOptions`: ``policy``, ``candidates``, ``where`` and so on.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]], [[0.6, 0.8]]], ["east", "north", "both"])
        >>> hits = index.search([[0.0, 1.0]], k=2, exclude=["north"])
        >>> hits.ids, hits.report.guarantee
        (['both', 'east'], 'exact')
        >>> dated = Index.build([[[1.0]], [[2.0]]], ["old", "new"], metadata=[{"year": 1990}, {"year": 2024}])
        >>> dated.search([[1.0]], where={"year": {"lt": 2000}}).ids
        ['old']
        """
        return self.answer([query], SearchOptions.of(k, options), names=("query",))[0]

    def search_many(self, queries: Iterable[Any], k: int = 10, **options: Unpack[SearchKeywords]) -> list[Hits]:
        """`search` for many queries at once: the same answers, with the queries distributed over the threads.

        ``candidates`` and ``exclude`` are one set for all queries, or a list with one entry (ids or None) for each.
        ``where`` is one filter for all, or a list with one (or None) for each.

        >>> index = Index.build([[[1.0, 0.0]], [[0.0, 1.0]]], ["east", "north"])
        >>> [hits.ids for hits in index.search_many([[[1.0, 0.0]], [[0.0, 1.0]]], k=1)]
        [['east'], ['north']]
        """
        listed = list(queries)
        return self.answer(listed, SearchOptions.of_many(k, options, len(listed)))

    def answer(
        self,
        queries: Sequence[Any],
        options: SearchOptions,
        snapshot: AnySnapshot | None = None,
        names: Sequence[str] = (),
    ) -> list[Hits]:
        """The hits of each query [T, d], with options that were made before, in a snapshot or in the current one.

        A single query may have a name in errors; "query 0", "query 1" and so on are used without names.
        """
        options.check_for_vectors(len(queries))
        layout = (snapshot or self.storage.snapshot).layout
        rows = to_rows(queries, layout, names)
        if snapshot is not None:
            return self._search(snapshot, rows, options)
        return self.storage.reading(lambda current: self._search(current, rows, options))

    def _search(self, snapshot: AnySnapshot, rows: list[NDArray[np.float32]], options: SearchOptions) -> list[Hits]:
        group_by = self._group_by if options.by == "document" else None
        policy, promise = plan(options, snapshot, len(rows), group_by)
        search = self.searcher.prepare(snapshot, rows, options)
        found = best_groups(search, len(rows), options.k, policy, group_by)
        hits = [
            Hits.of(snapshot, ranking, entries, query, promise)
            for (ranking, entries), query in zip(found, rows, strict=True)
        ]
        if self.audit is not None and promise is not None and promise.guarantee == "calibrated":
            self._offer(self.audit, snapshot, rows, options, hits, promise)
        return hits

    def _offer(
        self,
        audit: Audit,
        snapshot: AnySnapshot,
        rows: list[NDArray[np.float32]],
        options: SearchOptions,
        hits: list[Hits],
        promise: Promise,
    ) -> None:
        """Lets the audit repeat some of these searches. It is about mean overlaps, so not about a share of queries."""
        audit.warn()
        group_by = self._group_by if options.by == "document" else None

        def groups(found: Hits) -> frozenset[Hashable]:
            return frozenset(found.ids if group_by is None else map(group_by, found.ids))

        def repeat(query: NDArray[np.float32], exact: SearchOptions) -> frozenset[Hashable]:
            return groups(self._search(snapshot, [query], exact)[0])

        policy, where = options.policy, None if promise.where is None else json.dumps(promise.where)
        calibration = calibration_for(options.where.of(0), snapshot.calibrations)
        if not isinstance(policy, Calibrated) or policy.share is not None or calibration is None:
            return
        for number, (query, found) in enumerate(zip(rows, hits, strict=True)):
            if audit.choose():
                exact = replace(options.of_queries(number), policy=CERTIFIED, threads=1, trace=False)
                again = partial(repeat, query, exact)
                audit.offer(Sample(policy, where, calibration.made, groups(found), again, query.nbytes))


def to_rows(queries: Sequence[Any], layout: Layout, names: Sequence[str] = ()) -> list[NDArray[np.float32]]:
    """Queries [T, d] as the engine reads them. Errors call them by their names, or "query 0" and so on."""
    form = {"cosine": layout.similarity == "cosine", "rotated": layout.bits > 0}
    if len(names) == 1:
        return [to_query(queries[0], names[0], layout.dim, **form)]
    return [to_query(query, f"query {i}", layout.dim, **form) for i, query in enumerate(queries)]


def _facts(snapshot: AnySnapshot) -> dict[str, Any]:
    """What a notebook shows of an index."""
    layout, calibration = snapshot.layout, snapshot.calibration
    return {
        "documents": f"{snapshot.n_documents:,}",
        "tokens": f"{snapshot.n_tokens:,}",
        "dimensions": layout.dim,
        "store": layout.store,
        "similarity": layout.similarity,
        "megabytes": f"{snapshot.nbytes / 1e6:,.1f}",
        "calibrated on": "nothing" if calibration is None else calibration.origin,
    }


def _encoded(tokens: int, store: str) -> str:
    """A warning that scores change."""
    return f"there are {tokens:,} tokens: their vectors are stored as {store} now, and scores change"


def _place_of(id: Id, snapshot: AnySnapshot, what: str) -> Any:
    (wanted,) = to_ids([id], what)
    found = snapshot.known([wanted])
    if wanted not in found:
        raise KeyError(f"{what}: no document has the id {wanted!r}")
    return found[wanted]


def _with_metadata(ids: list[Id] | None, snapshot: AnySnapshot) -> tuple[list[Id], list[Any]]:
    """These ids, or all, and the metadata of their documents."""
    ids = snapshot.ids_in_order() if ids is None else ids
    found = snapshot.known(ids)
    if (unknown := next((id for id in ids if id not in found), None)) is not None:
        raise KeyError(f"reencode: no document has the id {unknown!r}")
    return ids, snapshot.metadata([found[id] for id in ids])


def _namer(ids: list[Id] | None) -> Callable[[int], str]:
    return lambda i: f"document {ids[i]!r}" if ids is not None and i < len(ids) else f"document {i}"
