"""Members in one process, without Ray: together they find what one index finds, bit for bit."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import maxsieve as ms
from long_form import scaled
from maxsieve import _core
from maxsieve.cluster import member
from maxsieve.cluster.agreement import Offers, UnknownSessionError, merge
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import shard_of
from maxsieve.cluster.member import CalibratedDepth, Member, MemberRequest, Part, to_native
from maxsieve.cluster.rebuild import train_codebook
from maxsieve.cluster.snapshot import ShardedSnapshot
from maxsieve.errors import StaleVersionError
from maxsieve.spec.shards import certified_in_shards
from maxsieve.storage.segments import Layout

from .holding import put

POLICIES: dict[str, Any] = {
    "certified": ms.Certified(),
    "exhaustive": ms.Exhaustive(),
    "bandit": ms.Bandit(),
    "bandit, block 1": ms.Bandit(block=1, margin=0, seed=3),
    "bandit, serfling": ms.Bandit(alpha=1.0, radius="serfling", block=2),
    "bandit, careless": ms.Bandit(alpha=0.01, margin=1, block=3),
}


def ragged(rng: np.random.Generator, documents: int, dim: int, *, ties: bool) -> list[NDArray[np.float32]]:
    """Documents of 0 to 9 tokens; with ``ties``, many of them are equal."""
    made = [rng.standard_normal((int(rng.integers(0, 10)), dim)).astype(np.float32) for _ in range(documents)]
    if ties:
        made = [made[int(rng.integers(0, 4))] if i % 3 else made[i] for i in range(documents)]
    return made


def build(path: Path, docs: list[NDArray[np.float32]], ids: list[Any], shards: int) -> ShardedFolder:
    folder = ShardedFolder.create(path, Layout(docs[0].shape[1]), shards=shards)
    put(folder, docs, ids)
    return folder


def search(
    folder: ShardedFolder, parts: list[tuple[int, ...]], query: NDArray[np.float32], k: int, policy: Any, **more: Any
) -> tuple[list[Part], int]:
    """What each member has at the end, and the number of agreements."""
    shards = len(folder.manifest.shards)
    candidates, exclude = more.pop("candidates", None), more.pop("exclude", None)
    members = [Member(folder.path) for _ in parts]

    def own(ids: list[Any] | None, part: tuple[int, ...]) -> list[Any] | None:
        return None if ids is None else [one for one in ids if shard_of(one, shards) in part]

    requests = [
        MemberRequest(
            folder.manifest.fingerprint,
            part,
            len(parts) == 1,
            query,
            k,
            policy,
            own(candidates, part),
            own(exclude, part),
            threads=1,
            **more,
        )
        for part in parts
    ]
    replies: tuple[tuple[float, ...], ...] = ()
    while True:
        steps = [one.advance("s", request, replies) for one, request in zip(members, requests, strict=True)]
        if isinstance(steps[0], Part):
            return [step for step in steps if isinstance(step, Part)], len(replies)
        replies = (*replies, merge([step for step in steps if isinstance(step, Offers)]))


def together(parts: list[Part], k: int) -> tuple[list[Any], bytes]:
    found = [
        (-score, number, one, score)
        for part in parts
        for one, score, number in zip(part.ids, part.scores, part.sequence, strict=True)
    ]
    best = sorted(found, key=lambda hit: hit[:2])[:k]
    return [hit[2] for hit in best], np.array([hit[3] for hit in best], np.float32).tobytes()


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=scaled(40))
@given(
    seed=st.integers(0, 2**32),
    shards=st.sampled_from([1, 2, 3, 7]),
    members=st.integers(1, 7),
    k=st.integers(1, 40),
    ties=st.booleans(),
)
def test_members_find_what_one_index_finds(
    name: str, seed: int, shards: int, members: int, k: int, ties: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng, policy = np.random.default_rng(seed), POLICIES[name]
    docs = [*ragged(rng, 60, 8, ties=ties), np.ones((1, 8), np.float32)]
    ids = [f"d{i}" for i in rng.permutation(len(docs))]
    index = ms.Index.build(docs, ids)
    folder = build(tmp_path_factory.mktemp("corpus") / "c", docs, ids, shards)
    gone = [str(one) for one in rng.choice(ids, 5, replace=False)]
    if seed % 2:
        index.delete(gone)
        folder.delete(gone)
    live = index.ids
    query = rng.standard_normal((int(rng.integers(1, 12)), 8)).astype(np.float32)
    more: dict[str, Any] = {}
    if seed % 3 == 1:
        more["candidates"] = [str(one) for one in rng.choice(live, 20, replace=False)]
    if seed % 5 == 1:
        more["exclude"] = [str(one) for one in rng.choice(live, 3, replace=False)]
    expected = index.search(query, k, policy=policy, threads=1, **more)
    parts = [part for i in range(members) if (part := tuple(range(i, shards, members)))]
    found, _ = search(folder, parts, query, k, policy, **more)
    assert together(found, k) == (expected.ids, expected.scores.tobytes())
    report = expected.report
    for part in found:
        assert (part.guarantee, part.coverage) == (report.guarantee, report.coverage)
        kth = report.rounds[-1].threshold if report.rounds else None
        assert [(a, r, kth if t is None else t) for a, r, t in part.rounds] == [tuple(one) for one in report.rounds]
    assert sum(part.survivors for part in found) == report.survivors
    assert sum(part.documents for part in found) == report.survivors
    if len(parts) == 1:
        assert found[0].rescored == report.rescored


@settings(max_examples=scaled(8))
@given(seed=st.integers(0, 2**32), shards=st.sampled_from([1, 2, 3, 7]), depth=st.integers(1, 60), k=st.integers(1, 12))
def test_calibrated_follows_up_the_same_documents(
    seed: int, shards: int, depth: int, k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    docs = [*ragged(rng, 120, 8, ties=seed % 2 == 0), np.ones((1, 8), np.float32)]
    ids = [f"d{i}" for i in rng.permutation(len(docs))]
    index = ms.Index.build(docs, ids)
    index.train_codebook()
    folder = build(tmp_path_factory.mktemp("corpus") / "c", docs, ids, shards)
    train_codebook(folder)
    state = index.storage.snapshot
    assert folder.snapshot.here.codebook is not None
    since = int(rng.choice([60, 120, 2**62]))
    policy = CalibratedDepth(max(depth, k), 1e6, (int(rng.choice([1, 4, 40])), 4), since)  # so that lists are walked
    native = to_native(policy, state.added_since(since))
    query = rng.standard_normal((3, 8)).astype(np.float32)
    (expected,) = _core.search(state.corpus, [query], [state.searchable], k, native, 1, False)
    parts = [(shard,) for shard in range(shards)]
    found, _ = search(folder, parts, query, k, policy)
    assert together(found, k) == (state.ids_at(expected.positions), expected.scores.tobytes())
    assert {(part.guarantee, part.coverage) for part in found} == {(expected.guarantee, expected.coverage)}
    assert sum(part.survivors for part in found) == expected.survivors


@pytest.mark.parametrize("with_documents", [0, 1])
def test_calibrated_with_a_member_that_has_no_document_to_offer(with_documents: int, tmp_path: Path) -> None:
    """The last rank that is followed up is a proxy and a sequence number, whichever member comes first."""
    rng = np.random.default_rng(0)
    docs = [np.repeat(one, 3, axis=0) for one in rng.standard_normal((4, 1, 8)).astype(np.float32)] * 30  # many ties
    ids = [f"d{i}" for i in range(len(docs))]
    folder = build(tmp_path / "c", docs, ids, 2)
    train_codebook(folder)
    here = [one for one in ids if shard_of(one, 2) == with_documents]
    policy = CalibratedDepth(10, 1000.0, (256, 4))
    found, agreements = search(folder, [(0,), (1,)], docs[0], 5, policy, candidates=here)
    assert agreements == 5
    assert [part.survivors for part in found] == [10 * (shard == with_documents) for shard in (0, 1)]
    assert together(found, 5)[0] == [one for one in here if int(one[1:]) % 4 == 0][:5]


@pytest.mark.parametrize("policy", [ms.Certified(), ms.Bandit(block=1, margin=0)], ids=["certified", "bandit"])
def test_a_member_that_knows_nothing_of_a_session_replays_it(policy: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    docs = [rng.standard_normal((5, 8)).astype(np.float32) for _ in range(200)]
    folder = build(tmp_path / "c", docs, [f"d{i}" for i in range(200)], 3)
    query = rng.standard_normal((6, 8)).astype(np.float32)
    requests = [MemberRequest(folder.manifest.fingerprint, (i,), False, query, 5, policy, threads=1) for i in range(3)]
    members = [Member(folder.path) for _ in requests]
    replies: tuple[tuple[float, ...], ...] = ()
    while True:
        steps = [one.advance("s", request, replies) for one, request in zip(members, requests, strict=True)]
        again = [one.advance("s", request, replies) for one, request in zip(members, requests, strict=True)]
        others = [Member(folder.path).advance("t", request, replies) for request in requests]
        assert as_text(steps) == as_text(again) == as_text(others)
        if isinstance(steps[0], Part):
            break
        replies = (*replies, merge([step for step in steps if isinstance(step, Offers)]))
    assert len(replies) >= 2
    for one, request in zip(members, requests, strict=True):  # an earlier step can be asked for again
        assert as_text([one.advance("s", request, replies[:1])]) == as_text(
            [Member(folder.path).advance("s", request, replies[:1])]
        )


def as_text(steps: list[Any]) -> str:
    """Everything of some steps except their times."""
    return repr([step._replace(stages={}) if isinstance(step, Part) else step for step in steps])


@settings(max_examples=scaled(20))
@given(seed=st.integers(0, 2**32), shards=st.sampled_from([2, 3, 7]), k=st.integers(1, 30))
def test_members_score_what_the_specification_says(
    seed: int, shards: int, k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    docs = [*ragged(rng, 30, 8, ties=seed % 2 == 0), np.ones((1, 8), np.float32)]
    ids = [f"d{i}" for i in range(len(docs))]
    folder = build(tmp_path_factory.mktemp("corpus") / "c", docs, ids, shards)
    query = rng.standard_normal((4, 8)).astype(np.float32)
    found, _ = search(folder, [(shard,) for shard in range(shards)], query, k, ms.Certified())
    expected = certified_in_shards(query, docs, [shard_of(one, shards) for one in ids], k)
    assert together(found, k) == ([ids[i] for i in expected.positions], expected.scores.tobytes())
    counts = [*expected.rescored, *[0] * (shards - len(expected.rescored))]
    assert [part.rescored for part in found] == counts


def test_members_that_disagree_are_an_error(tmp_path: Path) -> None:
    one, other = (Offers.of([(kind, 0, np.array([1.0]))]) for kind in ("sum", "max"))
    with pytest.raises(ValueError, match="versions of maxsieve"):
        merge([one, other])


def test_all_members_together_rescore_little_more_than_one_index(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    centre = rng.standard_normal((40, 16)).astype(np.float32)
    docs = [
        centre[rng.integers(0, 40, 12)] + 0.3 * rng.standard_normal((12, 16)).astype(np.float32) for _ in range(800)
    ]
    ids = [f"d{i}" for i in range(len(docs))]
    index, folder = ms.Index.build(docs, ids), build(tmp_path / "c", docs, ids, 8)
    alone = shared = 0
    for _ in range(20):
        query = centre[rng.integers(0, 40, 8)] + 0.3 * rng.standard_normal((8, 16)).astype(np.float32)
        alone += index.search(query, 10).report.rescored
        found, agreements = search(folder, [(shard,) for shard in range(8)], query, 10, ms.Certified())
        shared += sum(part.rescored for part in found)
        assert agreements == 2
    assert alone <= shared <= 1.5 * alone


def two_requests(folder: ShardedFolder) -> list[MemberRequest]:
    """One for each of two shards."""
    query = np.ones((2, 8), np.float32)
    return [MemberRequest(folder.manifest.fingerprint, (i,), False, query, 3, ms.Certified()) for i in range(2)]


@pytest.mark.parametrize("reply", [(), (40.0,), (40.0, 1.0, 1.0)])
def test_a_reply_of_another_length_is_refused(reply: tuple[float, ...], tmp_path: Path) -> None:
    """Another version of maxsieve may send this: the engine must not read past its end."""
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    with pytest.raises(ValueError, match="a reply"):
        Member(folder.path).advance("s", two_requests(folder)[0], (reply,))


def test_files_of_older_versions_are_closed(tmp_path: Path) -> None:
    """Only searches that began before the last change use the previous version, and none uses an older one."""
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    one, versions = Member(folder.path), []
    for number in range(4):
        for request in two_requests(folder):
            one.advance("s", replace(request, alone=True), ())
        versions.append(folder.manifest.fingerprint)
        assert list(one._snapshots) == [(version, (shard,)) for version in versions[-2:] for shard in (0, 1)]
        put(folder, [np.ones((1, 8), np.float32)] * 9, list(range(100 + 9 * number, 109 + 9 * number)))
        folder.compact()


def test_another_corpus_in_the_same_place_is_not_searched(tmp_path: Path) -> None:
    """A member is restarted after the folder was removed and filled with other documents, with as many commits."""
    first = build(tmp_path / "c", ragged(np.random.default_rng(0), 20, 8, ties=False), list(range(20)), 2)
    rmtree(first.path)
    second = build(tmp_path / "c", ragged(np.random.default_rng(1), 20, 8, ties=False), list(range(20)), 2)
    assert first.manifest.generation == second.manifest.generation
    for request in two_requests(first):
        with pytest.raises(StaleVersionError):
            Member(second.path).advance("s", request, ())


def test_a_version_that_was_undone_is_not_searched(tmp_path: Path) -> None:
    """An older copy of the folder is restored and changed: the number of the version has been used before."""
    folder = build(tmp_path / "c", ragged(np.random.default_rng(0), 20, 8, ties=False), list(range(20)), 2)
    copytree(folder.path, tmp_path / "copy")
    put(folder, [np.full((1, 8), 9, np.float32)], [20])
    running = Member(folder.path)
    running.advance("s", replace(two_requests(folder)[0], shards=(0, 1), alone=True), ())
    rmtree(folder.path)
    copytree(tmp_path / "copy", folder.path)
    restored = ShardedFolder.open(folder.path)
    put(restored, [np.full((1, 8), 9, np.float32)], [21])
    assert restored.manifest.generation == folder.manifest.generation
    part = running.advance("t", replace(two_requests(restored)[0], shards=(0, 1), alone=True), ())
    assert isinstance(part, Part)
    assert 21 in part.ids
    assert 20 not in part.ids


def test_a_search_that_nobody_continues_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    first, second = two_requests(folder)
    one, before = Member(folder.path), set(threading.enumerate())
    monkeypatch.setattr(member, "REPLY_TIMEOUT", 0.01)
    offers = one.advance("s", first, ())
    for thread in set(threading.enumerate()) - before:  # sessions of other tests wait for a minute
        if thread.name == "maxsieve-session":
            thread.join(60)
    assert not one._sessions
    monkeypatch.undo()
    replies = (merge([offers, Member(folder.path).advance("t", second, ())]),)
    assert as_text([one.advance("s", first, replies)]) == as_text([Member(folder.path).advance("u", first, replies)])


def test_a_process_ends_while_searches_wait_for_replies(tmp_path: Path) -> None:
    """Python ends threads that ask for the GIL after its end. With C++ frames, that aborts the process."""
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    program = f"""
import time
from pathlib import Path
import numpy as np
import maxsieve as ms
from maxsieve.cluster import member

class SlowEnd:
    def __del__(self, sleep=time.sleep):
        sleep(1)

end, member.REPLY_TIMEOUT = SlowEnd(), 0.5
one = member.Member(Path({str(folder.path)!r}))
query = np.ones((2, 8), np.float32)
request = member.MemberRequest({folder.manifest.fingerprint!r}, (0,), False, query, 3, ms.Certified())
for i in range(4):
    one.advance(str(i), request, ())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_searches_go_on_while_other_shards_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    first, second = (replace(request, alone=True) for request in two_requests(folder))
    one, opening, go_on = Member(folder.path), threading.Event(), threading.Event()
    one.advance("s", first, ())
    known = ShardedSnapshot.of

    def slow(self: ShardedSnapshot, shards: Any) -> Any:
        opening.set()
        assert go_on.wait(60)
        return known(self, shards)

    monkeypatch.setattr(ShardedSnapshot, "of", slow)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(one.advance, "t", second, ())
        assert opening.wait(60)
        assert isinstance(pool.submit(one.advance, "u", first, ()).result(60), Part)
        assert not waiting.done()
        go_on.set()
        assert isinstance(waiting.result(60), Part)


@pytest.mark.parametrize(
    ("wanted", "members", "threads"), [(None, 1, 8), (None, 3, 2), (None, 20, 1), (5, 3, 5)], ids=str
)
def test_members_of_a_node_share_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: int | None, members: int, threads: int
) -> None:
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    used: list[int] = []

    def search_and_note(
        corpus: Any, queries: Any, searchable: Any, k: int, policy: Any, threads: int, *others: Any, **options: Any
    ) -> Any:
        used.append(threads)
        return native(corpus, queries, searchable, k, policy, threads, *others, **options)

    native = _core.search
    monkeypatch.setattr(member._core, "search", search_and_note)
    monkeypatch.setattr(member, "thread_count", lambda asked: 8 if asked is None else asked)
    one = Member(folder.path, sharing_node_with=members)
    for request in two_requests(folder):
        one.advance("s", replace(request, alone=True, threads=wanted), ())
        one.advance(f"s{request.shards}", replace(request, threads=wanted), ())
    assert used == [threads] * 4


def test_a_request_is_sent_once(tmp_path: Path) -> None:
    """A session continues without it. A member that does not know the session says so."""
    folder = build(tmp_path / "c", [np.ones((1, 8), np.float32)] * 20, list(range(20)), 2)
    requests = two_requests(folder)
    members = [Member(folder.path) for _ in requests]
    steps: list[Any] = [one.advance("s", request, ()) for one, request in zip(members, requests, strict=True)]
    replies: tuple[tuple[float, ...], ...] = ()
    while not isinstance(steps[0], Part):
        replies = (*replies, merge(steps))
        with pytest.raises(UnknownSessionError):
            members[0].advance("t", None, replies)
        steps = [one.advance("s", None, replies) for one in members]
    whole = [Member(folder.path).advance("s", request, replies) for request in requests]
    assert as_text(steps) == as_text(whole)
    with pytest.raises(UnknownSessionError):
        members[0].advance("s", None, replies)
