"""The benchmark tells right answers from wrong ones, and compares methods that ran in turns."""

from __future__ import annotations

import itertools
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import spec


@pytest.fixture
def shape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    from benchmarks.vectors.shapes import Shape

    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path))
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 40)
    rows = rng.standard_normal((lengths.sum(), 16)).astype(np.float32)
    return Shape("few", rows, lengths, [rng.standard_normal((t, 16)).astype(np.float32) for t in (3, 5, 4)])


@pytest.mark.parametrize("chunk", [1, 7, 1 << 14])
def test_true_scores_are_maxsim(shape: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.vectors import truth

    monkeypatch.setattr(truth, "CHUNK", chunk)
    scores = truth.scores(shape, 2)
    expected = [spec.scores(query, shape.documents) for query in shape.queries[:2]]
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)
    assert (truth.scores(shape, 2) == scores).all()  # from the cache


def test_an_answer_is_checked_in_set_and_score() -> None:
    from benchmarks.vectors.truth import check

    true = np.array([[5.0, 4.0, 3.0, 2.999999, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    right = (0, np.array([0, 1, 2]), np.array([5.0, 4.0, 3.0]))
    tied = (0, np.array([1, 0, 3]), np.array([4.0, 5.0, 3.0]))
    wrong = (1, np.array([4, 3, 0]), np.array([5.0, 4.5, 1.0]))
    twice = (1, np.array([4, 4, 3]), np.array([5.0, 5.0, 4.0]))
    assert check(true, [right], 3).exact_sets == 1
    assert check(true, [tied], 3).exact_sets == 1
    assert check(true, [right, wrong], 3).exact_sets == 0.5
    assert check(true, [right, wrong], 3).overlap == pytest.approx(5 / 6)
    assert check(true, [right, wrong], 3).worst_error == 0.5
    assert check(true, [wrong], 1).exact_sets == 1
    assert check(true, [twice], 3).exact_sets == 0


def test_methods_take_turns_on_every_query() -> None:
    from benchmarks.runs.comparison.measure import Setting, Task, interleave

    asked: list[tuple[str, int]] = []
    clock: Iterator[float] = itertools.count(0, 0.5)

    def task(name: str, batch: int = 1) -> Task:
        return Task(Setting(name, 5, batch=batch), lambda number: asked.append((name, number)), lambda _: [])

    timings: dict[Any, Any] = {}
    options = {"session": 0, "queries": 4, "repeat": 2, "clock": lambda: next(clock), "advance": lambda: None}
    interleave([task("a"), task("b")], timings, seconds=100, **options)
    warm_up, turns = [0], [0, 1, 2, 3, 1, 2, 3, 0]
    assert asked == [(name, number) for number in warm_up + turns for name in "ab"]
    assert [timing.median for timing in timings.values()] == [0.5, 0.5]

    timings.clear()
    interleave([task("slow"), task("many", batch=10)], timings, seconds=0.1, **options)
    slow, many = timings.values()
    assert len(slow.seconds) == len(many.seconds) == 3
    assert many.median == 0.05


def test_ratios_are_of_common_rounds() -> None:
    from benchmarks.runs.comparison.measure import Setting, Timing

    one, other, batch = (Timing(Setting("a", 5, batch=n)) for n in (1, 1, 2))
    one.seconds.update({(0, 0): 1.0, (0, 1): 10.0, (0, 2): 100.0})
    other.seconds.update({(0, 1): 5.0, (0, 2): 50.0, (1, 0): 1.0})
    batch.seconds.update({(0, 0): 4.0})
    assert one.times(other) == 2
    assert one.times(batch) == 5


def test_peers_that_do_not_fit_together_take_turns(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.runs.comparison import sessions

    class Peer:
        most_tokens = None

        def __init__(self, need: float) -> None:
            self.need = need

        def estimate(self, _: Any) -> float:
            return self.need

    class Entry:
        def __init__(self, need: float) -> None:
            self.need, self.methods = need, (f"peer {need:g}",)

        def make(self) -> Peer:
            return Peer(self.need)

    monkeypatch.setattr(sessions, "free_bytes", lambda: 10.0 + sessions.SPARE)
    left_out: list[str] = []
    entries: Any = [Entry(need) for need in (6, 4, 3, 8, 12, 60)]
    groups = [[peer.need for _, peer in group] for group in sessions.sessions(entries, shape, 50, left_out)]
    assert groups == [[6, 4], [3], [8]]
    assert [reason.split(" on ")[0] for reason in left_out] == ["peer 12", "peer 60"]
    assert list(sessions.sessions([], shape, 50, left_out)) == [[]]


def test_the_read_limit_reads_every_code() -> None:
    from benchmarks.runs.comparison import readlimit

    name, read = readlimit.reader()
    codes = np.zeros(4096, np.int8)
    before = read(codes)
    for position in range(0, 4096, 97):
        changed = codes.copy()
        changed[position] = 1
        assert read(changed) != before or name != "read limit"
    index = ms.Index.build([np.eye(32)] * 3)
    assert sum(array.nbytes for array in readlimit.codes(index)) == 3 * 32 * 32
    assert readlimit.resident_bytes(index) == index.nbytes - 4 * index.tokens * index.dim


def test_every_task_of_ours_gives_the_true_answer(shape: Any) -> None:
    from benchmarks.runs.comparison import ours
    from benchmarks.vectors.truth import check, scores

    index = ours.build(shape, threads=1)
    options: dict[str, Any] = {"ks": [2, 5], "isas": ms.isas()[:1], "threads": [1, 2], "batches": [1, 3]}
    tasks = list(ours.tasks(index, shape.queries, ["certified", "exhaustive"], **options))
    assert len(tasks) == 2 * 2 * 3
    for task in tasks:
        task.ready()
        answers = [(n, found.positions, found.scores) for n, found in enumerate(task.read(task.run(0)))]
        assert len(answers) == task.setting.batch
        assert all(len(positions) == task.setting.k for _, positions, _ in answers)
        assert check(scores(shape, 3), answers, task.setting.k).exact_sets == 1


def test_a_peer_that_crashes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.peers import ENTRIES
    from benchmarks.peers.probe import probe

    first, second, third, fourth = (entry.methods[0] for entry in ENTRIES[:4])
    asked = []

    def process(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command[3:])
        if len(asked) == 1:
            return subprocess.CompletedProcess(command, -signal.SIGILL, f"works {first}\n")
        return subprocess.CompletedProcess(command, 0, f"fails {third} ImportError: not here\nworks {fourth}\n")

    monkeypatch.setattr(subprocess, "run", process)
    assert probe(ENTRIES[:4]) == {second: "crashes (SIGILL)", third: "ImportError: not here"}
    assert asked == [[first, second, third, fourth], [third, fourth]]
