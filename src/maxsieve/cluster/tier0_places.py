"""The places of documents in the list by proxy of the whole corpus, which a calibration needs.

This takes one agreement. Each member offers the proxies of the wanted documents that it has. With the reply, all
members know the proxies of all wanted documents, and each counts its own documents that rank before them. The place of
a document is the sum of these counts, plus 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.cluster.agreement import Offer, Offers, Replies
from maxsieve.searcher import select
from maxsieve.storage.snapshot import Snapshot
from maxsieve.where import Where


class Counts(NamedTuple):
    """For each wanted document, the number of a member's documents that rank before it; -1 if it has no place."""

    before: NDArray[np.int64]


@dataclass(frozen=True)
class PlacesRequest:
    """Asks for the places of the documents with the ``wanted`` sequence numbers, by tier 0 or by a walk of lists.

    With a filter, the list has only documents that match it; with ``until``, only those with sequence numbers below.
    """

    version: str
    shards: tuple[int, ...]
    alone: bool
    query: NDArray[np.float32]
    wanted: NDArray[np.int64]
    walk: tuple[int, int] | None = None
    where: Where | None = None
    until: int | None = None

    kind = "places"
    """All such requests take about the same time."""
    is_kept = False
    """There is no session, and the request is sent with each step."""

    def is_done(self, first: Offers, replies: Replies) -> bool:
        """False: every member has documents to count."""
        return False

    def empty_part(self, first: Offers, part: Counts) -> Counts:
        """Counts of 0."""
        return Counts(np.zeros_like(part.before))


def places_step(snapshot: Snapshot, request: PlacesRequest, replies: Replies, threads: int) -> Offers | Counts:
    """The next step of a member: offers of proxies, or the counts of its documents that rank before each wanted one."""
    wanted = request.wanted
    if not request.alone and not replies:
        own = _own_proxies(snapshot, request, threads)
        return Offers([Offer("max", 0, own[i : i + 1]) for i in range(len(wanted))])
    known = _own_proxies(snapshot, request, threads) if request.alone else np.array(replies[0], np.float64)
    proxies = known.astype(np.int32)
    candidates = select(snapshot, None, None, request.where)
    if request.until is not None:
        candidates = candidates[snapshot.sequence[candidates] < request.until]
    before = _core.count_before(snapshot.corpus, request.query, candidates, proxies, wanted, threads, walk=request.walk)
    return Counts(np.where(proxies < 0, -1, before))


def _own_proxies(snapshot: Snapshot, request: PlacesRequest, threads: int) -> NDArray[np.float64]:
    """The proxies of the wanted documents that this member has, and -infinity for the others."""
    positions = snapshot.searchable[np.isin(snapshot.sequence[snapshot.searchable], request.wanted)]
    proxies = _core.tier0(snapshot.corpus, request.query, positions, threads, walk=request.walk)
    found = dict(zip(snapshot.sequence[positions].tolist(), proxies.tolist(), strict=True))
    return np.array([found.get(number, -np.inf) for number in request.wanted.tolist()], np.float64)
