"""`ShardedIndex`: the main class for a corpus in shards."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial as with_arguments
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import Documents, read_documents, to_query, with_dim
from maxsieve.candidates import per_query, read_candidates, read_exclude
from maxsieve.cluster.actors import ActorPool, connect
from maxsieve.cluster.coordinator import Found, LatencyHistory, Members, Partial, Shards, run
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.hits import ShardedHits
from maxsieve.cluster.manifest import ClusterManifest, ShardVersion
from maxsieve.cluster.rebalancing import rebalance
from maxsieve.cluster.reports import Best, merge_parts, merge_reports
from maxsieve.cluster.running import Change, Run, as_tasks
from maxsieve.cluster.search_arguments import Answer, SearchArguments, places_request, search_request
from maxsieve.cluster.training import train_codebook
from maxsieve.cluster.view import View, ids_of, locate
from maxsieve.cluster.writing import add
from maxsieve.common.checks import as_count, check_choice
from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import ClosedIndexError, StaleVersionError
from maxsieve.groups import GroupBy, Ranked, are_whole_groups, count_groups, places_of_groups
from maxsieve.hits import Promise
from maxsieve.ids import Id, to_id, to_ids
from maxsieve.policies import CERTIFIED, MOST, FixedPolicy, Policy
from maxsieve.storage.calibration import ORIGINS, Calibration, Origin
from maxsieve.storage.metadata import to_texts
from maxsieve.storage.segments import Similarity, Store
from maxsieve.storage.snapshot import Snapshot
from maxsieve.tiers import Calibrating, find_places, not_calibrated, plan
from maxsieve.where import per_query_where, to_where

ATTEMPTS = 20
"""How many versions of the corpus a search tries while other processes change the corpus."""

FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
"""Seconds between two attempts if no newer version is visible yet: shared storage may show it with a delay."""

CALIBRATION_TIMEOUT = 600.0
"""Seconds that a calibration waits for members."""

T = TypeVar("T")


class MemberInfo(NamedTuple):
    """A member: its node, its process id (None if it does not answer), and the shards it serves."""

    node: str
    pid: int | None
    shards: Shards


class ShardedInfo(NamedTuple):
    """Facts about a corpus."""

    documents: int
    tokens: int
    dim: int
    store: Store
    similarity: Similarity
    shards: int
    generation: int
    calibrated_on: Origin | None
    members: list[MemberInfo]


class ShardedIndex:
    """Token vectors by document id in shards, on storage that all nodes of a Ray cluster share. As `maxsieve.Index`.

    Answers are those of one index with the same documents in the same order, bit for bit, for any number of shards and
    nodes. Each node runs ``actors_per_node`` actors, which serve the shards that are placed on the node. Each shard is
    placed on ``replicas`` nodes. Actors start with the first search, and end with `close` or with this process.

    If this process is connected to Ray, that connection is used. Otherwise it connects to the cluster at ``address``
    or, without one, to that of the environment variable ``RAY_ADDRESS``. Without both, a local Ray is started. A local
    Ray ends with the process or with ``ray.shutdown()``. `close` does not end it, because other code may use it.

    An index stays at its version until `refresh` or until it changes the corpus itself. There is one exception: if the
    files of its version have been removed, because other processes have changed the corpus twice since then, it goes to
    the newest version. An index is thread-safe. A pickled index contains only the path of its folder and its options;
    it starts its own members after unpickling.
    """

    def __init__(
        self,
        folder: ShardedFolder,
        *,
        group_by: GroupBy | None = None,
        replicas: int = 1,
        actors_per_node: int = 1,
        address: str | None = None,
    ) -> None:
        self._folder, self._group_by, self._address = folder, group_by, address
        self._replicas = as_count(replicas, "replicas", at_least=1)
        self._per_node = as_count(actors_per_node, "actors_per_node", at_least=1, at_most=1024)
        self._current: View | None = View(folder)
        self._lock = threading.RLock()
        self._ray: Any = None
        self._members: ActorPool | None = None
        self._latencies = LatencyHistory()

    def __reduce__(self) -> tuple[Any, ...]:
        self._view  # noqa: B018 - raises when closed
        options = (self._group_by, self._replicas, self._per_node, self._address)
        return _reopened, (self._folder, *options)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        dim: int,
        *,
        shards: int = 8,
        store: Store = "float32",
        similarity: Similarity = "dot",
        group_by: GroupBy | None = None,
        replicas: int = 1,
        actors_per_node: int = 1,
        address: str | None = None,
    ) -> ShardedIndex:
        """Creates an empty index for vectors of ``dim`` dimensions, in a new or empty folder that all nodes share.

        ``store``, ``similarity`` and ``group_by`` are as for `Index.create`.

        >>> import tempfile
        >>> ShardedIndex.create(tempfile.mkdtemp() + "/corpus", 128, shards=3).info().shards
        3
        """
        folder = ShardedFolder.create(path, dim, shards=shards, store=store, similarity=similarity)
        return cls(folder, group_by=group_by, replicas=replicas, actors_per_node=actors_per_node, address=address)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        group_by: GroupBy | None = None,
        replicas: int = 1,
        actors_per_node: int = 1,
        address: str | None = None,
    ) -> ShardedIndex:
        """Opens the index in a folder, at its newest version.

        replicas
            the number of nodes that serve each shard. With 2, a search continues at once when a node is lost. With 1,
            another node takes over its shards, but must first map them and read them from storage.
        actors_per_node
            the number of processes on each node. One is best, because it uses all threads.
        address
            the address of the Ray cluster, such as ``"auto"`` or ``"ray-head:6379"``.
        """
        folder = ShardedFolder.open(path)
        return cls(folder, group_by=group_by, replicas=replicas, actors_per_node=actors_per_node, address=address)

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        docs: Any,
        ids: Iterable[Id] | None = None,
        *,
        lengths: Any = None,
        mask: Any = None,
        metadata: Iterable[Any] | None = None,
        shards: int = 8,
        store: Store = "float32",
        similarity: Similarity = "dot",
        group_by: GroupBy | None = None,
        replicas: int = 1,
        actors_per_node: int = 1,
        address: str | None = None,
        progress: bool = False,
    ) -> ShardedIndex:
        """Builds an index of documents in a new or empty folder. The arguments are as for `Index.build` and `open`.

        All documents are added in one commit, with bounded memory.
        """
        known = None if ids is None else to_ids(ids, "ids")
        dim, documents = with_dim(read_documents(docs, lengths, mask, None, _namer(known)))
        texts = to_texts(metadata, documents.total if known is None else len(known))
        options: dict[str, Any] = {"replicas": replicas, "actors_per_node": actors_per_node, "address": address}
        index = cls.create(path, dim, shards=shards, store=store, similarity=similarity, group_by=group_by, **options)
        index.add_documents(documents, known, texts, progress=progress)
        return index

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
        """Adds all documents or, if there is an error, none: one commit over all shards. As `Index.add`.

        Shards are written by Ray tasks. Ray retries a task if its worker or node dies.
        """
        self._view  # noqa: B018 - raises when closed
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
        progress: bool = False,
    ) -> None:
        """`add` for documents, ids and metadata that have been checked before. As `Index.add_documents`."""
        total = len(ids) if documents.total is None and ids is not None else documents.total
        with progress_bar("indexing", total, shown=progress, unit="documents") as advance:
            add(
                self._folder,
                self._tasks(),
                documents,
                ids,
                texts,
                replace=replace,
                delete=list(delete),
                advance=advance,
            )
        self._follow()

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes all these documents or, if an id is unknown, none. `compact` frees their disk space."""
        self._view  # noqa: B018
        gone = to_ids([ids] if isinstance(ids, (str, int, np.integer)) else ids, "delete")
        self._folder.delete(gone, self._tasks())
        self._follow()

    def compact(self, *, progress: bool = False) -> None:
        """Frees the disk space of deleted and replaced documents, and merges small segments. Answers stay the same."""
        tasks, shards = self._tasks(), len(self._view.manifest.shards)
        with progress_bar("compacting", shards, shown=progress, unit="shards") as advance:

            def run(change: Change, calls: Mapping[int, tuple[Any, ...]]) -> Iterator[tuple[int, ShardVersion]]:
                for done in tasks(change, calls):
                    advance(1)
                    yield done

            self._folder.compact(run)
        self._follow()

    def rebalance(self, shards: int) -> None:
        """Distributes the documents over another number of shards, in one commit. Answers stay the same."""
        self._view  # noqa: B018
        rebalance(self._folder, shards, run=self._tasks())
        self._follow()

    def train_codebook(self, *, progress: bool = False) -> None:
        """Trains the codebook of `Calibrated` on the current documents, and replaces an older codebook.

        If the index is calibrated, it is calibrated again, with the stored queries.
        """
        self._view  # noqa: B018
        with self._folder.writing():
            self._follow()
            old = self._view.calibration
            self._train()
            if old is not None:
                self._calibrate(old.queries, old.wanted, old.origin, progress)

    def calibrate(
        self, queries: Iterable[Any], k: int = 100, *, calibrated_on: Origin = "queries", progress: bool = False
    ) -> None:
        """Determines how many documents `Calibrated` must follow up for a top k. As `Index.calibrate`."""
        k = as_count(k, "k", at_least=1)
        check_choice(calibrated_on, "calibrated_on", ORIGINS)
        rows = self._to_rows(queries)
        if not rows:
            raise ValueError("calibrate needs queries, and there are none")
        with self._folder.writing():
            self._follow()
            if self._folder.manifest.codebook is None:
                self._train()
            self._calibrate(rows, k, calibrated_on, progress)

    def recalibrate(self, *, progress: bool = False) -> None:
        """Calibrates again with the stored queries, after documents have changed."""
        self._view  # noqa: B018
        with self._folder.writing():
            self._follow()
            old = self._view.calibration
            if old is None:
                raise not_calibrated()
            self._calibrate(old.queries, old.wanted, old.origin, progress)

    def refresh(self) -> None:
        """Goes to the newest version, with the changes of other processes."""
        self._view  # noqa: B018
        self._folder.refresh()
        self._follow()

    def verify(self, *, progress: bool = False) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` names the damaged file."""
        with progress_bar("verifying", None, shown=progress, unit="bytes") as advance:
            self._read(lambda view: view.folder.verify(advance))

    def start(self) -> None:
        """Connects to Ray and starts the members, which takes seconds. Otherwise the first search does this."""
        self._actor_pool(self._view)

    def info(self) -> ShardedInfo:
        """Facts about the index: documents, shards, and the members that were started."""
        members, (manifest, calibration) = self._members, self._read(lambda view: (view.manifest, view.calibration))
        return ShardedInfo(
            manifest.documents,
            manifest.tokens,
            manifest.dim,
            manifest.store,
            manifest.similarity,
            len(manifest.shards),
            manifest.generation,
            None if calibration is None else calibration.origin,
            [] if members is None else [MemberInfo(*one) for one in members.present()],
        )

    def close(self) -> None:
        """Ends the members and releases all files; later calls raise `ClosedIndexError`. Ray is not shut down."""
        with self._lock:
            if self._members is not None:
                self._members.close()
            self._members, self._current = None, None

    def __enter__(self) -> ShardedIndex:
        self._view  # noqa: B018
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._view.manifest.documents

    def __contains__(self, one: object) -> bool:
        self._view  # noqa: B018
        try:
            wanted = to_id(one, "id")
        except (TypeError, ValueError):
            return False
        return bool(self._read(lambda view: view.folder.known([wanted])))

    def __repr__(self) -> str:
        try:
            manifest = self._view.manifest
        except ClosedIndexError:
            return "<closed maxsieve.cluster.ShardedIndex>"
        return (
            f"<maxsieve.cluster.ShardedIndex: {manifest.documents} documents, {manifest.tokens} tokens, "
            f"dim {manifest.dim}, shards: {len(manifest.shards)}>"
        )

    @property
    def dim(self) -> int:
        """The number of dimensions of a vector."""
        return self._view.manifest.dim

    @property
    def store(self) -> Store:
        """The type in which vectors are stored."""
        return self._view.manifest.store

    @property
    def tokens(self) -> int:
        """The number of token vectors of all documents."""
        return self._view.manifest.tokens

    @property
    def nbytes(self) -> int:
        """The size of the files of all shards in bytes. Deleted documents count until `compact`."""
        return self._read(lambda view: view.folder.nbytes)

    @property
    def manifest(self) -> ClusterManifest:
        """The version of the corpus that is searched. It is a different object after each change."""
        return self._view.manifest

    @property
    def snapshot(self) -> Snapshot:
        """All shards as one snapshot, mapped in this process. Its positions are not in insertion order."""
        return self._read(lambda view: view.state)

    @property
    def calibration(self) -> Calibration | None:
        """The result of `calibrate`, or None."""
        return self._read(lambda view: view.calibration)

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        return self._read(lambda view: view.folder.ids)

    def vectors(self, one: Id) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's vectors [L, d], as stored."""
        return self._read(lambda view: _vectors(*locate(view, one, "vectors")))

    def metadata(self, one: Id) -> Any:
        """The metadata of a document, or None."""
        return self._read(lambda view: _record(*locate(view, one, "metadata")))

    def known_metadata(self, ids: Iterable[Id]) -> dict[Id, Any]:
        """The metadata of the ids that are in the index; None for a document without metadata."""
        wanted = to_ids(ids, "known_metadata")

        def read(view: View) -> dict[Id, Any]:
            known = view.folder.known(wanted)
            return {one: _record(*view.folder.locate(one)) for one in wanted if one in known}

        return self._read(read)

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
        partial: Partial = "refuse",
        timeout: float = 60.0,
    ) -> ShardedHits:
        """The k best documents for a query [T, d]. With ``group_by``, the best documents of k groups.

        policy, candidates, exclude, where
            as for `Index.search`.
        threads
            the number of threads of each member; by default all threads of its node.
        partial
            what to do if no member answers for some shards. ``"refuse"`` retries until the timeout, and then raises
            `ShardsUnavailableError`. ``"allow"`` answers without these shards as soon as every member has failed at
            them, or at the timeout. Then ``report.missing`` names the shards, and the guarantee is ``"none"``.
        timeout
            how long to wait for members, in seconds.
        """
        rows = [to_query(query, "query", self.dim, cosine=self._view.manifest.similarity == "cosine")]
        wanted, unwanted = read_candidates([candidates]), read_exclude([exclude])
        k = min(as_count(k, "k", at_least=1), MOST)
        arguments = SearchArguments(
            rows, k, policy or CERTIFIED, wanted, unwanted, [to_where(where)], threads, partial, timeout
        )
        return self._search(arguments)[0]

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
        partial: Partial = "refuse",
        timeout: float = 60.0,
    ) -> list[ShardedHits]:
        """`search` for many queries, several at the same time. The answers are the same.

        ``candidates`` and ``exclude`` are one set for all queries, or a list with one entry (ids or None) for each.
        ``where`` is one filter for all, or a list with one (or None) for each. ``timeout`` applies to each query.
        """
        all_queries = list(queries)
        wanted = read_candidates(per_query(candidates, len(all_queries), "candidates"))
        unwanted = read_exclude(per_query(exclude, len(all_queries), "exclude"))
        k = min(as_count(k, "k", at_least=1), MOST)
        rows, filters = self._to_rows(all_queries), per_query_where(where, len(all_queries))
        arguments = SearchArguments(rows, k, policy or CERTIFIED, wanted, unwanted, filters, threads, partial, timeout)
        return self._search(arguments)

    @property
    def _view(self) -> View:
        view = self._current
        if view is None:
            raise ClosedIndexError("this index is closed")
        return view

    def _follow(self) -> None:
        """Makes the version of the folder the current view."""
        with self._lock:
            if self._view.manifest != self._folder.manifest:
                self._current = View(self._folder, self._current)

    def _read(self, read: Callable[[View], T]) -> T:
        """Calls ``read`` with the current version, or with a newer one if the files of the current one are removed.

        If there is no newer one, some node does not see the current one yet: then this waits, and tries again.
        """
        wait = FIRST_WAIT
        for _ in range(ATTEMPTS):
            with suppress(StaleVersionError):
                return read(view := self._view)
            self.refresh()
            if self._view is view:
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        return read(self._view)

    def _connected(self) -> Any:
        with self._lock:
            if self._ray is None or not self._ray.is_initialized():
                self._ray = connect(self._address)
            return self._ray

    def _tasks(self) -> Run:
        return as_tasks(self._connected())

    def _actor_pool(self, view: View) -> Members:
        with self._lock:
            self._view  # noqa: B018
            if self._members is None or not self._members.connected:
                options = {"replicas": self._replicas, "actors_per_node": self._per_node}
                self._members = ActorPool(self._connected(), self._folder.path, **options)
            self._members.serve(view.sizes)
            return self._members

    def _search(self, arguments: SearchArguments) -> list[ShardedHits]:
        check_choice(arguments.partial, "partial", get_args(Partial))
        if (
            isinstance(arguments.timeout, bool)
            or not isinstance(arguments.timeout, (int, float))
            or not arguments.timeout > 0
        ):
            raise ValueError(f"timeout must be a number of seconds above 0, not {arguments.timeout!r}")
        if arguments.threads is not None:
            thread_count(arguments.threads)
        return self._read(lambda view: self._search_version(view, arguments))

    def _search_version(self, view: View, arguments: SearchArguments) -> list[ShardedHits]:
        began = time.perf_counter()
        answers = self._find(view, arguments)
        seconds = time.perf_counter() - began
        hits = []
        for answer, rows in zip(answers, arguments.rows, strict=True):
            taken = seconds if len(answers) == 1 else answer.found.seconds
            report = merge_reports(answer.found, answer.best, answer.deep, answer.promise, taken)
            view.hold(answer.ids)
            hits.append(ShardedHits(answer.ids, answer.scores, report, view.folder, rows))
        return hits

    def _find(self, view: View, arguments: SearchArguments) -> list[Answer]:
        """The answer of the members to each query: the best documents, or the best document of each group."""
        pool, group_by = self._actor_pool(view), self._group_by
        arguments = arguments._replace(candidates=[ids_of(view, one) for one in arguments.candidates])
        fixed, promise = self._plan(view, arguments)
        found: dict[int, Found] = {}
        best: dict[int, Best] = {}
        depths: dict[int, int] = {}

        def attempt(which: Sequence[int], deep: int, before: int) -> Iterator[Ranked]:
            policy = fixed(before)
            requests = [search_request(view, arguments, i, deep, policy) for i in which]
            answers = run(
                pool, view.sizes, requests, self._latencies, timeout=arguments.timeout, partial=arguments.partial
            )
            for i, one in zip(which, answers, strict=True):
                found[i], best[i] = one, merge_parts(one.parts, deep)
                yield Ranked(best[i].ids, best[i].documents)
            most = max((best[i].documents for i in which), default=0)
            depths.update(dict.fromkeys(which, min(deep, max(arguments.k, most))))  # as in one index

        queries = range(len(arguments.rows))
        if group_by is None:
            places = [list(range(len(one.ids))) for one in attempt(queries, arguments.k, 0)]
        else:
            places = places_of_groups(attempt, len(queries), arguments.k, group_by)
        return [Answer(found[i], best[i], depths[i], places[i], promise) for i in queries]

    def _train(self) -> None:
        train_codebook(self._folder, run=self._tasks())
        self._follow()

    def _calibrate(self, queries: Sequence[NDArray[np.float32]], k: int, origin: Origin, progress: bool) -> None:
        """Calibrates. The caller holds the writer's lock, so that the version that is searched stays the newest one."""
        view = self._view
        manifest, grouped = view.manifest, self._group_by is not None
        groups = count_groups(view.state, self._group_by) if grouped else manifest.searchable

        def places(some: Sequence[NDArray[np.float32]], deep: int) -> Iterator[NDArray[np.int64]]:
            nothing = [None] * len(some)
            arguments = SearchArguments(
                list(some), deep, CERTIFIED, nothing, nothing, nothing, None, "refuse", CALIBRATION_TIMEOUT
            )
            answers = self._read(lambda _: self._find(view, arguments))
            wanted = [answer.best.sequence[answer.places] for answer in answers]
            requests = [
                with_arguments(places_request, manifest.fingerprint, *one) for one in zip(some, wanted, strict=True)
            ]
            pool, sizes = self._actor_pool(view), view.sizes
            for counted in self._read(
                lambda _: run(pool, sizes, requests, self._latencies, timeout=CALIBRATION_TIMEOUT, partial="refuse")
            ):
                yield sum(counted.parts) + 1

        with progress_bar("calibrating", len(queries), shown=progress, unit="queries") as advance:
            made = find_places(
                places, queries, k, origin, manifest.searchable, groups, grouped=grouped, advance=advance
            )
        self._folder.commit({}, calibration=made)
        self._follow()

    def _plan(self, view: View, arguments: SearchArguments) -> tuple[Callable[[int], FixedPolicy], Promise | None]:
        here = Calibrating(
            view.calibration,
            view.folder.changes,
            view.manifest.searchable,
            view.manifest.tokens / view.manifest.searchable if view.manifest.searchable else 1.0,
            lambda ids: are_whole_groups(view.state, ids, self._group_by),
        )
        grouped = self._group_by is not None
        return plan(
            arguments.policy,
            here,
            arguments.k,
            [*arguments.candidates, *arguments.where],
            arguments.exclude,
            grouped=grouped,
        )

    def _to_rows(self, queries: Iterable[Any]) -> list[NDArray[np.float32]]:
        manifest = self._view.manifest
        dim, cosine = manifest.dim, manifest.similarity == "cosine"
        return [to_query(query, f"query {i}", dim, cosine=cosine) for i, query in enumerate(queries)]


def _vectors(state: Snapshot, position: int) -> NDArray[np.float32] | NDArray[np.float16]:
    return state.vectors(position)


def _record(state: Snapshot, position: int) -> Any:
    return state.metadata([position])[0]


def _namer(ids: list[Id] | None) -> Callable[[int], str]:
    return lambda i: f"document {ids[i]!r}" if ids is not None and i < len(ids) else f"document {i}"


def _reopened(
    folder: ShardedFolder, group_by: GroupBy | None, replicas: int, actors_per_node: int, address: str | None
) -> ShardedIndex:
    return ShardedIndex(folder, group_by=group_by, replicas=replicas, actors_per_node=actors_per_node, address=address)
