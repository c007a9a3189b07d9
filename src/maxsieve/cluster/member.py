"""A member of a search over shards: one process that answers for some of the shards.

A member searches all its shards as one snapshot. If it does not have all shards of the corpus, the engine stops where
the policy needs a number about all documents, and `Member.advance` returns the offers of this member. When it is called
again with the reply, the search continues, until the member has its part of the answer.

The next step depends only on the version of the corpus, the request and the replies. So `advance` can be called any
number of times, on any member: one that does not know the session starts from the beginning and replays the replies.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.cluster.agreement import Offers, Replies, Reply, UnknownSessionError
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.tier0_places import Counts, PlacesRequest, places_step
from maxsieve.common.threads import thread_count
from maxsieve.errors import MaxsieveError, StaleVersionError
from maxsieve.ids import Id
from maxsieve.policies import CalibratedDepth, Certified, FixedPolicy, to_native
from maxsieve.searcher import select
from maxsieve.storage.snapshot import Snapshot
from maxsieve.where import Where

MAX_OPEN = 8
"""The number of snapshots (sets of shards at one version) that stay open: other members may be slow or lost."""

MAX_VERSIONS = 2
"""The number of versions that stay open: searches that began before a change may still run. Files that are mapped take
disk space even after they were removed."""

MAX_SESSIONS = 256
"""The number of sessions that are kept. The least recently used one is removed first; it can be started again."""

REPLY_TIMEOUT = 60.0
"""Seconds that a search waits for a reply before it ends. It can be started again."""

END_TIMEOUT = 10.0
"""Seconds that the end of the process waits for a search."""


@dataclass(frozen=True)
class MemberRequest:
    """A request to a member.

    version
        the fingerprint of the version of the corpus. A member that can't open it any more raises `StaleVersionError`.
    shards
        the shards that this member answers for in this search.
    alone
        whether these are all shards of the search. Then there is nothing to agree on.
    query
        [tokens, dim], normalised if the similarity is cosine.
    candidates, exclude
        ids of documents of these shards. None means: all documents are candidates, no document is excluded.
    """

    version: str
    shards: tuple[int, ...]
    alone: bool
    query: NDArray[np.float32]
    k: int
    policy: FixedPolicy
    candidates: list[Id] | None = None
    exclude: list[Id] | None = None
    where: Where | None = None
    threads: int | None = None

    is_kept = True
    """A session stores the request."""

    @property
    def kind(self) -> str:
        """The policy: searches with the same policy take about the same time."""
        return type(self.policy).__name__

    def is_done(self, first: Offers, replies: Replies) -> bool:
        """Whether a member with these first offers has no more documents to score.

        Each reply to `Certified` ends with a threshold. Only documents whose upper bounds reach it are scored. The
        second of the first offers has the largest upper bounds. With many members, most have no bound that reaches it.
        """
        if not isinstance(self.policy, Certified):
            return False
        _, bounds = first.items
        return bool(bounds.values.max(initial=-inf) < replies[-1][-1])

    def empty_part(self, first: Offers, part: Part) -> Part:
        """The part of such a member: no documents. The fields about the whole corpus come from the other ``part``."""
        documents, _ = first.items
        count, none = int(documents.values[0]), np.zeros(0, np.int64)
        return part._replace(
            ids=[], scores=none.astype(np.float32), sequence=none, documents=count, survivors=count, rescored=0
        )


class Part(NamedTuple):
    """A member's part of an answer.

    ids, scores, sequence
        the best k documents of the member, best first, with their sequence numbers, which break ties.
    documents
        the number of documents that the member searched.
    guarantee, coverage, rounds
        about the whole corpus, and equal for all members. None as a threshold means the k-th best score of all parts,
        which no member knows.
    survivors, rescored, stages, isa, touched
        of this member only; `reports` merges those of all parts.
    """

    ids: list[Id]
    scores: NDArray[np.float32]
    sequence: NDArray[np.int64]
    documents: int
    guarantee: Literal["exact", "pac", "none"]
    coverage: float
    rounds: list[tuple[int, int, float | None]]
    survivors: int
    rescored: int
    stages: dict[str, float]
    isa: str
    touched: dict[str, int]


Step: TypeAlias = Offers | Part | Counts
_Agree: TypeAlias = Callable[[list[Any]], list[float]]
_Open: TypeAlias = Callable[[str, tuple[int, ...]], Snapshot]


class AbandonedError(MaxsieveError):
    """A search was ended because no caller waits for it any more."""


class Member:
    """Answers for shards of the corpus in a folder. It is thread-safe.

    ``sharing_node_with`` is the number of members on this node, including this one. By default, a search uses all
    threads of the node, divided by this number.
    """

    def __init__(self, path: Path, *, sharing_node_with: int = 1) -> None:
        self._folder = ShardedFolder.open(path)
        self._sharing = sharing_node_with
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._snapshots: dict[tuple[str, tuple[int, ...]], Snapshot] = {}
        self._sessions: dict[str, _Session] = {}

    def advance(self, session: str, request: MemberRequest | PlacesRequest | None, replies: Replies) -> Step:
        """The next step of a search after these replies: the offers of this member, or its part of the answer.

        Without a request, it continues a session, or raises `UnknownSessionError` if it does not know the session.
        """
        if isinstance(request, PlacesRequest):
            snapshot = self._snapshot(request.version, request.shards)
            return places_step(snapshot, request, replies, self._threads(None))
        if request is not None and request.alone:
            snapshot = self._snapshot(request.version, request.shards)
            return search_shards(snapshot, request, None, self._threads(request.threads))
        with self._lock:
            running = self._sessions.get(session)
            if running is None or not running.follows(replies):
                if request is None:
                    raise UnknownSessionError("this search was not started here, or it has ended")
                threads = self._threads(request.threads)
                running = self._sessions[session] = _Session(self._snapshot, request, threads, self._forget)
            self._sessions[session] = self._sessions.pop(session)  # the most recently used session is the last one
            outdated = list(self._sessions)[:-MAX_SESSIONS]
        for name in outdated:
            self.drop(name)
        step = running.advance(replies)
        if isinstance(step, Part):
            self.drop(session)
        return step

    def drop(self, session: str) -> None:
        """Ends a session that will not be continued."""
        with self._lock:
            running = self._sessions.pop(session, None)
        if running is not None:
            running.abandon()

    def _forget(self, failed: _Session) -> None:
        """Removes a session that has failed. A repeated request starts it again."""
        with self._lock:
            self._sessions = {name: known for name, known in self._sessions.items() if known is not failed}

    def _threads(self, wanted: int | None) -> int:
        return thread_count(wanted) if wanted is not None else max(1, thread_count(None) // self._sharing)

    def _snapshot(self, version: str, shards: tuple[int, ...]) -> Snapshot:
        if (known := self._known_snapshot(version, shards)) is not None:
            return known
        with self._opening:  # opening reads files; searches of other snapshots continue meanwhile
            if (known := self._known_snapshot(version, shards)) is not None:
                return known
            opened = self._open(version, shards)
            with self._lock:
                self._snapshots[version, shards] = opened
                latest = list(dict.fromkeys(opened_version for opened_version, _ in reversed(self._snapshots)))[
                    :MAX_VERSIONS
                ]
                kept = [key for key in self._snapshots if key[0] in latest][-MAX_OPEN:]
                self._snapshots = {key: self._snapshots[key] for key in kept}
            return opened

    def _known_snapshot(self, version: str, shards: tuple[int, ...]) -> Snapshot | None:
        with self._lock:
            known = self._snapshots.pop((version, shards), None)
            if known is not None:
                self._snapshots[version, shards] = known  # the most recently used snapshot is the last one
            return known

    def _open(self, version: str, shards: tuple[int, ...]) -> Snapshot:
        folder = self._folder
        if folder.manifest.fingerprint != version:
            folder.refresh()
        if folder.manifest.fingerprint != version:
            raise StaleVersionError(
                f"{folder.path} is at version {folder.manifest.fingerprint}, and {version} was asked for"
            )
        return folder.snapshot.of(shards)


def search_shards(snapshot: Snapshot, request: MemberRequest, agree: _Agree | None, threads: int) -> Part:
    """Runs a whole search of some shards. It calls ``agree`` where it needs numbers about all documents."""
    chosen = select(snapshot, request.candidates, request.exclude, request.where)
    snapshot.expect(scattered=isinstance(request.policy, CalibratedDepth))
    since = request.policy.since if isinstance(request.policy, CalibratedDepth) else None
    policy = to_native(request.policy, None if since is None else snapshot.added_since(since))
    (answer,) = _core.search(
        snapshot.corpus, [request.query], [chosen], request.k, policy, threads, False, exchange=agree
    )
    positions = answer.positions
    return Part(
        snapshot.ids_at(positions),
        answer.scores,
        snapshot.sequence[positions],
        len(chosen),
        answer.guarantee,
        answer.coverage,
        [(active, revealed, None if isnan(tau) else tau) for active, revealed, tau in answer.rounds],
        answer.survivors,
        answer.rescored,
        answer.stages,
        answer.isa,
        answer.counts,
    )


class _Session:
    """One search in its own thread. It stops at each agreement until the reply has arrived."""

    def __init__(
        self, open_snapshot: _Open, request: MemberRequest, threads: int, forget: Callable[[_Session], None]
    ) -> None:
        self._open, self._request, self._threads, self._forget = open_snapshot, request, threads, forget
        self._changed = threading.Condition()
        self._replies: list[Reply] = []
        self._steps: list[Step] = []
        self._failure: BaseException | None = None
        self._stop = _core.Stop()
        self._thread: threading.Thread | None = None

    def follows(self, replies: Replies) -> bool:
        """Whether its replies so far and these replies begin alike, and it has not failed."""
        with self._changed:
            both = zip(self._replies, replies, strict=False)
            return self._failure is None and all(mine == given for mine, given in both)

    def advance(self, replies: Replies) -> Step:
        """The step after these replies."""
        with self._changed:
            self._replies += replies[len(self._replies) :]
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="maxsieve-session", daemon=True)
                self._thread.start()
                _started.add(self)
            self._changed.wait_for(lambda: len(self._steps) > len(replies) or self._failure is not None)
            if len(self._steps) > len(replies):
                return self._steps[len(replies)]
            assert self._failure is not None
            raise self._failure

    def abandon(self) -> None:
        """Ends the search."""
        self._stop.request()
        self._fail(AbandonedError("this search was abandoned"))

    def end(self) -> None:
        """Ends the search, and waits until its thread has ended."""
        if self._thread is not None and self._thread.is_alive():
            self.abandon()
            self._thread.join(END_TIMEOUT)

    def _run(self) -> None:
        try:
            with self._stop:
                snapshot = self._open(self._request.version, self._request.shards)
                part = search_shards(snapshot, self._request, self._agree, self._threads)
            self._put(part)
        except BaseException as problem:  # it is raised where the caller waits for this search
            self._forget(self)
            self._fail(problem)

    def _agree(self, offers: list[Any]) -> list[float]:
        """Puts the offers of this member, and waits for the reply."""
        number = self._put(Offers.of(offers))
        until = time.monotonic() + REPLY_TIMEOUT
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._replies) > number or self._failure is not None, until - time.monotonic()
            )
            if self._failure is not None or len(self._replies) <= number:
                raise AbandonedError(f"there was no reply for {REPLY_TIMEOUT:.0f} seconds")
            return list(self._replies[number])

    def _put(self, step: Step) -> int:
        with self._changed:
            self._steps.append(step)
            self._changed.notify_all()
            return len(self._steps) - 1

    def _fail(self, problem: BaseException) -> None:
        with self._changed:
            self._failure = self._failure or problem
            self._changed.notify_all()


_started: weakref.WeakSet[_Session] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Ends all searches before Python ends: a thread that comes back from the engine later would abort the process."""
    for session in list(_started):
        session.end()
