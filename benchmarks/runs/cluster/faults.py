"""Kills and stops members of a corpus in shards during searches and additions. Compares all answers with one index.

Actors and nodes are killed. Actors are also stopped for two seconds, in which they neither answer nor fail.

One thread adds, replaces and deletes documents, in the corpus and in an index in memory. Other threads search all the
time. An answer is right if it is bit for bit that of the index at one of the versions that the corpus had during the
search. At the end, the corpus must have the same documents in the same order with the same vectors.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from benchmarks.runs.cluster.nodes import add_node, start_head
from maxsieve.cluster import Cluster

DIM, QUERIES, K, STOPPED = 32, 6, 10, 2.0
POLICIES: tuple[Any, ...] = (ms.Certified(), ms.Bandit(), ms.Exhaustive())


@dataclass
class Figures:
    """Counts of events, and the errors."""

    actor_kills: int = 0
    node_kills: int = 0
    actor_stops: int = 0
    adds: int = 0
    searches: int = 0
    retried: int = 0
    hedged: int = 0
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    documents: int = 0
    lost: int = 0
    twice: int = 0


class Story:
    """The corpus, an index with the same documents, and the expected answers of each version."""

    def __init__(self, path: Path, *, shards: int, replicas: int, documents: int) -> None:
        self._rng = np.random.default_rng(0)
        self.queries = [self._rng.standard_normal((8, DIM)).astype(np.float32) for _ in range(QUERIES)]
        first = self._some(documents)
        self.sharded = ms.Index.build(first, path=path, shards=shards, cluster=Cluster(replicas=replicas))
        self.one = ms.Index.build(first)
        self._next = documents
        self.answers = [self._answer()]
        self.started = 0
        """The number of the newest version that is certainly visible. Later ones in ``answers`` may be visible."""

    def _some(self, count: int) -> list[Any]:
        lengths = self._rng.integers(1, 24, count)
        return [self._rng.standard_normal((length, DIM)).astype(np.float32) for length in lengths]

    def _answer(self) -> list[list[Any]]:
        return [[answer(self.one.search(query, K, policy=policy)) for policy in POLICIES] for query in self.queries]

    def change(self) -> None:
        """Adds, replaces and deletes documents, first in the index and then in the corpus."""
        known = self.one.ids
        replaced = [known[i] for i in self._rng.choice(len(known), 5, replace=False)]
        gone = [one for one in self._rng.choice(known, 5, replace=False).tolist() if one not in replaced]
        ids = [*replaced, *range(self._next, self._next + 20)]
        self._next += 20
        documents = self._some(len(ids))
        self.one.add(documents, ids, replace=True, delete=gone)
        self.answers.append(self._answer())
        self.sharded.add(documents, ids, replace=True, delete=gone)
        self.started += 1

    def search(self, number: int, figures: Figures) -> None:
        """Searches once, and compares the answer with all versions that existed during the search."""
        query, policy = number % QUERIES, number // QUERIES % len(POLICIES)
        first, began = self.started, time.perf_counter()
        hits = self.sharded.search(self.queries[query], K, policy=POLICIES[policy])
        figures.seconds.append(time.perf_counter() - began)
        possible = [answers[query][policy] for answers in self.answers[first:]]
        figures.searches += 1
        figures.retried += hits.report.retried
        figures.hedged += hits.report.hedged
        if answer(hits) not in possible:
            figures.wrong.append(f"search {number} at version {first}: {hits}")

    def check_contents(self, figures: Figures) -> None:
        """Checks that no document is lost or duplicated, and that order and vectors are right."""
        self.sharded.verify()
        ids = self.sharded.ids
        figures.documents = len(ids)
        figures.lost = len(set(self.one.ids) - set(ids))
        figures.twice = len(ids) - len(set(ids))
        if ids != self.one.ids:
            figures.wrong.append("the order of documents")
        figures.wrong += [
            f"the vectors of {one}"
            for one in ids
            if one in self.one and self.one.vectors(one).tobytes() != self.sharded.vectors(one).tobytes()
        ]


def answer(hits: Any) -> tuple[Any, ...]:
    return hits.ids, hits.scores.tobytes(), hits.report.guarantee, hits.report.rounds


def run(
    cluster: Any,
    path: Path,
    *,
    actor_kills: int,
    node_kills: int,
    actor_stops: int,
    pause: float,
    shards: int = 6,
    replicas: int = 2,
    documents: int = 2000,
    searchers: int = 2,
    say: Callable[[str], None] = lambda _: None,
) -> Figures:
    """Runs the whole test on the cluster of this process. Only nodes that are added here are killed."""
    figures, chance = Figures(), random.Random(0)
    spare = add_node(cluster) if node_kills else None
    story = Story(path, shards=shards, replicas=replicas, documents=documents)
    over, numbers = threading.Event(), iter(range(10**9))

    def going(work: Callable[[], None]) -> None:
        try:
            while not over.is_set():
                work()
        except Exception as problem:
            figures.failed.append(repr(problem))
            over.set()

    def change() -> None:
        story.change()
        figures.adds += 1
        time.sleep(0.2)

    threads = [threading.Thread(target=going, args=(change,))]
    threads += [
        threading.Thread(target=going, args=(lambda: story.search(next(numbers), figures),)) for _ in range(searchers)
    ]
    story.search(0, Figures())  # starts the members before the measurement
    for thread in threads:
        thread.start()
    faults = ["kill actor"] * actor_kills + ["kill node"] * node_kills + ["stop actor"] * actor_stops
    chance.shuffle(faults)
    try:
        for number, fault in enumerate(faults):
            if over.wait(pause):
                break
            say(f"fault {number + 1} of {len(faults)}: {fault}; searches: {figures.searches}, adds: {figures.adds}")
            if fault == "kill node":
                cluster.remove_node(spare, allow_graceful=False)
                figures.node_kills += 1
                spare = add_node(cluster)
            elif fault == "stop actor":
                pid = any_pid(story, chance)
                os.kill(pid, signal.SIGSTOP)
                over.wait(STOPPED)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                figures.actor_stops += 1
            else:
                os.kill(any_pid(story, chance), signal.SIGKILL)
                figures.actor_kills += 1
        over.wait(pause)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    story.check_contents(figures)
    story.sharded.close()
    if spare is not None:
        cluster.remove_node(spare, allow_graceful=True)
    return figures


def any_pid(story: Story, chance: random.Random) -> int:
    """The process id of a random member that answers. Waits until there is one."""
    while not (pids := [member.pid for member in story.sharded.searcher.members() if member.pid is not None]):
        time.sleep(0.1)
    return chance.choice(pids)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actor-kills", type=int, default=20)
    parser.add_argument("--node-kills", type=int, default=5)
    parser.add_argument("--actor-stops", type=int, default=5)
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between two faults")
    parser.add_argument("--replicas", type=int, default=2)
    options = parser.parse_args()
    import ray

    cluster = start_head()
    for _ in range(2):
        add_node(cluster)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        figures = run(
            cluster,
            Path(folder) / "corpus",
            actor_kills=options.actor_kills,
            node_kills=options.node_kills,
            actor_stops=options.actor_stops,
            pause=options.pause,
            replicas=options.replicas,
            say=lambda line: print(line, file=sys.stderr),
        )
    ray.shutdown()
    cluster.shutdown()
    report(figures)
    return int(bool(figures.wrong or figures.failed or figures.lost or figures.twice))


def report(figures: Figures) -> None:
    times = np.array(figures.seconds) * 1e3
    print(f"killed: {figures.actor_kills} actors, {figures.node_kills} nodes; stopped: {figures.actor_stops} actors")
    print(f"adds: {figures.adds}, each a commit over all shards; documents in the end: {figures.documents}")
    print(
        f"searches: {figures.searches}; parts taken over from a lost member: {figures.retried}, late: {figures.hedged}"
    )
    print(
        f"milliseconds a search: median {np.median(times):.1f}, 95th percentile {np.percentile(times, 95):.0f}, "
        f"99th {np.percentile(times, 99):.0f}, longest {times.max():.0f}"
    )
    print(f"wrong answers: {len(figures.wrong)}, lost: {figures.lost}, twice: {figures.twice}")
    print(f"calls that failed: {len(figures.failed)}")
    for line in [*figures.wrong, *figures.failed][:10]:
        print(f"  {line}")


if __name__ == "__main__":
    sys.exit(main())
