"""Measures the additional cost of a search over shards: calls, agreements, memory. Figures of docs/cluster.md.

The same documents are searched in one index in memory, and in shards. First one member has all shards, as on one
machine by default. Then several members have different shards. Every answer is compared with that of the index.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import ray

import maxsieve as ms
from maxsieve.cluster import Cluster
from maxsieve.cluster.agreement import Offers, merge
from maxsieve.cluster.manifest import read_cluster
from maxsieve.cluster.member import Member, MemberRequest

DIM, LENGTH, TOKENS, K = 128, 80, 32, 10
POLICIES: dict[str, Any] = {"Certified": ms.Certified(), "Bandit": ms.Bandit(), "Exhaustive": ms.Exhaustive()}


def main() -> int:
    options = parse()
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((512, DIM)).astype(np.float32)

    def draw(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        rows = centres[rng.integers(0, len(centres), count)] + 0.4 * rng.standard_normal((count, DIM))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    rows, lengths = draw(options.documents * LENGTH), [LENGTH] * options.documents
    queries = [draw(TOKENS) for _ in range(options.queries)]
    index = ms.Index.build(rows, lengths=lengths)
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    figures: dict[str, Any] = {"documents": options.documents}
    figures |= {f"no-op fan-out to {n}": no_op(n, 100) for n in (1, 4, 12)}
    with tempfile.TemporaryDirectory() as folder:
        with ms.Index.build(rows[:80], lengths=[10] * 8, path=Path(folder) / "small", shards=4) as small:
            small.search(rows[:4])
            figures["MB of a member at rest"] = megabytes(small.searcher.members()[0].pid)
        for members in (1, options.members):
            name = f"{members} member" + "s" * (members > 1)
            path, where = Path(folder) / f"of-{members}", Cluster(actors_per_node=members)
            with ms.Index.build(rows, lengths=lengths, path=path, shards=options.shards, cluster=where) as sharded:
                figures[name] = {
                    policy: compare(index, sharded, queries, chosen) for policy, chosen in POLICIES.items()
                }
                if members == 1:
                    figures["steps of a member, ms"] = steps(path, queries)
    print(json.dumps(figures, indent=1, default=str))
    return 0


def compare(index: ms.Index, sharded: ms.Index, queries: list[Any], policy: Any) -> dict[str, float]:
    """Milliseconds of both, which are searched alternately, and the number of scored documents.

    "caller's CPU ms" is the CPU time of a search over shards in this process, including Ray's threads.
    """
    seconds: tuple[list[float], list[float]] = ([], [])
    answers: tuple[list[Any], list[Any]] = ([], [])
    cpu = []
    for query in [*queries[:5], *queries]:  # the first five are a warm-up
        for searched, took, found in zip((index, sharded), seconds, answers, strict=True):
            began, used = perf_counter(), process_time()
            found.append(searched.search(query, K, policy=policy))
            took.append(perf_counter() - began)
            if searched is sharded:
                cpu.append(process_time() - used)
    (alone, shared), (expected, found) = (one[5:] for one in seconds), (one[5:] for one in answers)
    for one, other in zip(expected, found, strict=True):
        if one.ids != other.ids or one.scores.tobytes() != other.scores.tobytes():
            raise SystemExit("the answer over shards differs from that of one index")
    return {
        "index ms": round(1e3 * median(alone), 2),
        "shards ms": round(1e3 * median(shared), 2),
        "added ms": round(1e3 * (median(shared) - median(alone)), 2),
        "least index ms": round(1e3 * min(alone), 2),
        "least shards ms": round(1e3 * min(shared), 2),
        "caller's CPU ms": round(1e3 * median(cpu[5:]), 2),
        "agreements": max(one.report.agreements for one in found),
        "rescored": round(sum(one.report.rescored for one in expected) / len(queries), 1),
        "rescored by all members": round(sum(one.report.rescored for one in found) / len(queries), 1),
    }


def no_op(actors: int, times: int) -> dict[str, Any]:
    """Measures calls to several actors that do nothing: one call to each, with as many bytes as a query has.

    Returns the median milliseconds until all have answered, the caller's CPU milliseconds for each call, and the memory
    of such an actor.
    """

    class Nothing:
        def call(self, given: bytes) -> bytes:
            """Does nothing."""
            return b""

        def pid(self) -> int:
            return os.getpid()

    some = [ray.remote(Nothing).options(num_cpus=0).remote() for _ in range(actors)]
    given = bytes(4 * TOKENS * DIM)
    seconds, cpu = [], []
    for _ in range(times + 10):
        began, used = perf_counter(), process_time()
        ray.get([one.call.remote(given) for one in some])
        seconds.append(perf_counter() - began)
        cpu.append(process_time() - used)
    memory = megabytes(ray.get(some[0].pid.remote()))
    for one in some:
        ray.kill(one)
    return {
        "ms": round(1e3 * median(seconds[10:]), 2),
        "caller's CPU ms a call": round(1e3 * median(cpu[10:]) / actors, 3),
        "MB of an actor": memory,
    }


def steps(path: Path, queries: list[Any]) -> list[float]:
    """The median milliseconds of each step of `Certified` on a member with all shards, in this process."""
    member, manifest = Member(path), read_cluster(path)
    seconds: list[list[float]] = []
    for number, query in enumerate([*queries[:5], *queries]):
        shards = tuple(range(len(manifest.shards)))
        request = MemberRequest(manifest.fingerprint, shards, False, query, K, ms.Certified())
        replies: tuple[Any, ...] = ()
        took = []
        while True:
            began = perf_counter()
            step = member.advance(str(number), request, replies)
            took.append(perf_counter() - began)
            if not isinstance(step, Offers):
                break
            replies = (*replies, merge([step]))
        seconds.append(took)
    return [round(1e3 * median(one), 2) for one in zip(*seconds[5:], strict=True)]


def megabytes(pid: int | None) -> dict[str, int]:
    """The memory of a process in MB: resident size, proportional share (PSS), and private memory."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    private = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    return {"resident": kilobytes["Rss"] // 1024, "share": kilobytes["Pss"] // 1024, "private": private // 1024}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=4000, help="documents, of 80 tokens each")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--members", type=int, default=4, help="the number of members of the second measurement")
    parser.add_argument("--queries", type=int, default=50)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
