"""The search with members that are lost, late or out of date at chosen steps: the answer is always the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from cluster.fake_members import QUICK, STEPS, Doc, FakeMembers, Fault
from maxsieve.cluster import coordinator
from maxsieve.cluster.coordinator import LatencyHistory, MemberAnswers, ShardsUnavailableError, run
from maxsieve.cluster.member import MemberRequest
from maxsieve.cluster.placement import Seat
from maxsieve.errors import StaleVersionError

K = 4


def corpus_of(shards: int, documents: int = 40, seed: int = 0) -> list[list[Doc]]:
    rng = np.random.default_rng(seed)
    corpus: list[list[Doc]] = [[] for _ in range(shards)]
    for sequence in range(documents):
        corpus[int(rng.integers(shards))].append(Doc(float(rng.integers(6)), sequence))  # many ties
    return corpus


def to_request(shards: tuple[int, ...], alone: bool) -> MemberRequest:
    query = np.ones((3, 2), np.float32)
    return MemberRequest("1", shards, alone, query, K, ms.Bandit(), None, None, None, None)


def search(members: FakeMembers, latencies: LatencyHistory | None = None, **options: Any) -> MemberAnswers:
    settings = {"timeout": 60.0, "partial": "refuse"} | options
    (found,) = run(members, members.sizes, [to_request], latencies or LatencyHistory(), **settings)
    return found


def best(found: MemberAnswers) -> list[tuple[float, int]]:
    pairs = [pair for part in found.parts for pair in zip(part.scores.tolist(), part.sequence.tolist(), strict=True)]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:K]


def truth(corpus: Sequence[Sequence[Doc]], missing: Sequence[int] = ()) -> list[tuple[float, int]]:
    there = [one for shard, documents in enumerate(corpus) if shard not in missing for one in documents]
    return sorted(((one.score, one.sequence) for one in there), key=lambda pair: (-pair[0], pair[1]))[:K]


def plan_of(faults: dict[int, Fault]) -> Callable[[Seat, int], Fault]:
    return lambda _, number: faults.get(number, "")


def check_nothing_is_left(members: FakeMembers) -> None:
    assert not any(members.sessions.values()), "a member still holds a session that nobody goes on with"


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_without_faults(nodes: int) -> None:
    corpus = corpus_of(7)
    members = FakeMembers(corpus, nodes, 1, plan_of({}))
    found = search(members)
    assert best(found) == truth(corpus)
    assert (found.missing, found.retried, found.hedged) == ((), 0, 0)
    assert found.agreements == (0 if nodes == 1 else STEPS)
    assert sum(members.calls.values()) == (1 if nodes == 1 else nodes * (STEPS + 1))
    check_nothing_is_left(members)


@pytest.mark.parametrize("number", range(2 * (STEPS + 1)))
@pytest.mark.parametrize("fault", ["dead before", "dead after", "late", "stale", "disk"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_one_fault_at_each_call(number: int, fault: Fault, replicas: int) -> None:
    """A replacement replays the replies, even if no other member has these shards."""
    corpus = corpus_of(5)
    members = FakeMembers(corpus, 2, replicas, plan_of({number: fault}))
    clean = search(FakeMembers(corpus, 2, replicas, plan_of({})))
    found = search(members)
    assert best(found) == truth(corpus)
    assert [part.coverage for part in found.parts] == [part.coverage for part in clean.parts]
    assert (found.missing, found.retried + found.hedged) == ((), 1)
    assert (found.hedged == 1) == (fault == "late")
    assert found.seconds < 10 * QUICK + coordinator.DEFAULT_HEDGE_DELAY
    assert bool(members.suspected) == (fault in ("late", "dead before", "dead after"))
    check_nothing_is_left(members)


@pytest.mark.parametrize("number", range(2 * (STEPS + 1)))
def test_a_member_that_has_forgotten_begins_again(number: int) -> None:
    """Like a member that was restarted between two steps. The request is sent again, and no member is suspected."""
    corpus = corpus_of(5)
    members = FakeMembers(corpus, 2, 1, plan_of({number: "forgot"}))
    found = search(members)
    assert best(found) == truth(corpus)
    assert (found.missing, found.retried, found.hedged) == ((), int(number >= 2), 0)
    assert not members.suspected
    check_nothing_is_left(members)


@given(
    shards=st.integers(1, 6),
    nodes=st.integers(1, 4),
    replicas=st.integers(1, 3),
    faults=st.dictionaries(
        st.integers(0, 30),
        st.sampled_from(["dead before", "dead after", "late", "stale", "disk", "forgot"]),
        max_size=12,
    ),
    seed=st.integers(0, 5),
)
def test_any_faults(shards: int, nodes: int, replicas: int, faults: dict[int, Fault], seed: int) -> None:
    corpus = corpus_of(shards, seed=seed)
    members = FakeMembers(corpus, nodes, replicas, plan_of(faults))
    try:
        found = search(members, timeout=1000.0)
    except StaleVersionError:
        assert "stale" in faults.values()
    else:
        assert best(found) == truth(corpus)
        assert found.missing == ()
    check_nothing_is_left(members)


@given(
    faults=st.dictionaries(
        st.integers(0, 40), st.sampled_from(["dead before", "dead after", "late", "disk"]), max_size=25
    ),
    nodes=st.integers(1, 3),
)
def test_any_faults_with_partial_answers(faults: dict[int, Fault], nodes: int) -> None:
    """The answer is exact for all shards that are not named as missing."""
    corpus = corpus_of(4)
    members = FakeMembers(corpus, nodes, 1, plan_of(faults))
    found = search(members, partial="allow", timeout=5.0)
    assert best(found) == truth(corpus, found.missing)
    check_nothing_is_left(members)


def test_nobody_answers_in_time() -> None:
    members = FakeMembers(corpus_of(4), 2, 1, lambda seat, _: "disk" if seat.node == "node1" else "late")
    with pytest.raises(ShardsUnavailableError, match=r"shards 0, 1, 2, 3\b.*\b5 s\b") as caught:
        search(members, timeout=5.0)
    assert caught.value.shards == (0, 1, 2, 3)
    assert members.clock == pytest.approx(5.0)
    check_nothing_is_left(members)


def test_the_last_error_is_named_even_if_a_new_attempt_runs() -> None:
    """All members fail at first; the second attempt is not answered in time."""
    members = FakeMembers(corpus_of(4), 1, 1, lambda _, number: "disk" if number == 0 else "late")
    with pytest.raises(ShardsUnavailableError, match=r"\b1 s\b.*Input/output error"):
        search(members, timeout=1.0)
    check_nothing_is_left(members)


def test_a_shard_that_nobody_can_read() -> None:
    """The file of one shard can't be read by any member: all others answer, and the answer says so."""
    corpus = corpus_of(7)

    class OneBad(FakeMembers):
        def _advance(self, seat: Seat, session: str, request: MemberRequest | None, replies: Any) -> Any:
            if request is not None and 1 in request.shards:
                return OSError(5, "Input/output error")
            return super()._advance(seat, session, request, replies)

    members = OneBad(corpus, 3, 1, plan_of({}))
    found = search(members, partial="allow")
    assert found.missing == (1,)
    assert best(found) == truth(corpus, [1])
    with pytest.raises(ShardsUnavailableError, match=r"shards 1, .*\b3 s\b.*Input/output error"):
        search(members, timeout=3.0)
    check_nothing_is_left(members)


def test_nobody_is_there() -> None:
    members = FakeMembers(corpus_of(4), 2, 1, lambda *_: "dead before")
    found = search(members, partial="allow")
    assert (found.parts, found.missing) == ([], (0, 1, 2, 3))
    assert members.clock < 1.0


def test_a_stale_version_everywhere_is_reported_to_the_caller() -> None:
    members = FakeMembers(corpus_of(4), 3, 1, lambda *_: "stale")
    with pytest.raises(StaleVersionError):
        search(members)
    with pytest.raises(StaleVersionError):
        search(members, partial="allow")


@pytest.mark.parametrize("partial", ["refuse", "allow"])
def test_a_version_that_all_answering_members_lack_is_reported_to_the_caller(partial: str) -> None:
    """A member that can't be reached has no files either: waiting for it, or leaving shards out, does not help."""
    members = FakeMembers(corpus_of(4), 2, 1, lambda seat, _: "stale" if seat.node == "node0" else "dead before")
    with pytest.raises(StaleVersionError):
        search(members, partial=partial)
    assert members.clock < 1.0
    check_nothing_is_left(members)


def test_a_mistake_of_the_caller_is_not_tried_elsewhere() -> None:
    class Unknown(FakeMembers):
        def _advance(self, *arguments: Any) -> Any:
            return KeyError("candidates: no document has the id 'x'")

    members = Unknown(corpus_of(4), 3, 2, plan_of({}))
    with pytest.raises(KeyError, match="'x'"):
        search(members)
    assert sum(members.calls.values()) == 3


def test_all_dead_for_a_while_is_waited_for() -> None:
    faults: dict[int, Fault] = dict.fromkeys(range(3), "dead before")
    corpus = corpus_of(4)
    members = FakeMembers(corpus, 2, 1, plan_of(faults))
    found = search(members)
    assert best(found) == truth(corpus)
    assert 1.0 < found.seconds < 3.0


def test_late_is_more_than_usual() -> None:
    """When usual times are known, a second request is sent long before the first returns, and otherwise not."""
    corpus, latencies = corpus_of(2), LatencyHistory()
    for _ in range(coordinator.MIN_LATENCIES):
        assert search(FakeMembers(corpus, 2, 2, plan_of({})), latencies).hedged == 0
    found = search(FakeMembers(corpus, 2, 2, plan_of({1: "late"})), latencies)
    assert found.hedged == 1
    assert found.seconds < coordinator.MIN_HEDGE_DELAY + 10 * QUICK
    assert best(found) == truth(corpus)


def test_late_is_more_than_the_others_took() -> None:
    corpus = corpus_of(6)
    found = search(FakeMembers(corpus, 3, 1, plan_of({1: "late"})))
    assert found.hedged == 1
    assert found.seconds < coordinator.MIN_HEDGE_DELAY + 10 * QUICK


def test_many_searches_at_a_time() -> None:
    corpus = corpus_of(6)
    faults: dict[int, Fault] = {3: "dead after", 17: "late", 40: "disk", 41: "dead before"}
    members = FakeMembers(corpus, 3, 2, plan_of(faults))
    found = run(members, members.sizes, [to_request] * 30, LatencyHistory(), timeout=60.0, partial="refuse")
    assert [best(one) for one in found] == [truth(corpus)] * 30
    assert members.clock < 30 * (STEPS + 1) * QUICK + 60.0
    check_nothing_is_left(members)
