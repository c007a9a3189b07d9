"""Two versions of maxsieve in turns, query by query: what a change costs or gains, also on a busy machine.

    python -m benchmarks.runs.turns OTHER/.venv/bin/python hotpotqa scifact --k 10 100
    python -m benchmarks.runs.turns OTHER/.venv/bin/python hotpotqa --policy certified bandit exhaustive --queries 20

Each version runs in a process of its own, which builds the same index in memory, and calibrates it if asked for. The
time of a query is the least CPU time of all turns. Only names that earlier versions have are used on that side.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any

import numpy as np

import maxsieve as ms
from maxsieve import _core

POLICIES = {
    "calibrated-0.99": lambda: ms.Calibrated(0.99),
    "calibrated-0.95": lambda: ms.Calibrated(0.95),
    "calibrated-0.9": lambda: ms.Calibrated(0.9),
    "certified": ms.Certified,
    "bandit": lambda: ms.Bandit(alpha=0.2),
    "exhaustive": ms.Exhaustive,
}


def work(vectors: Path, k: int, calibrated: bool) -> None:
    """Answers requests on standard input: a policy, the number of a query, k and an ISA."""
    held = np.load(vectors)
    asked, practice = (
        [np.ascontiguousarray(rows) for rows in np.split(held[name], np.cumsum(held[f"{name}_lengths"])[:-1])]
        for name in ("queries", "practice")
    )
    index = ms.Index.build(held["rows"], lengths=held["lengths"])
    if calibrated:
        index.calibrate(practice, k)
    print("ready", flush=True)
    for line in sys.stdin:
        policy, number, k, isa = json.loads(line)
        _core.use_isa(isa)
        chosen = POLICIES[policy]()
        started = thread_time()
        hits = index.search(asked[number], k, policy=chosen, threads=1)
        seconds = thread_time() - started
        print(json.dumps([seconds, [int(id) for id in hits.ids], hits.report.survivors]), flush=True)


class Version:
    """One version in its process."""

    def __init__(self, python: str, vectors: Path, k: int, calibrated: bool) -> None:
        command = [python, __file__, "--work", str(vectors), "--k", str(k), *["--calibrated"] * calibrated]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self) -> str:
        """The next line of its output."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, *request: Any) -> Any:
        """Its answer to a request."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self.read())

    def end(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(versions: dict[str, Version], policy: str, queries: int, k: int, isa: str, turns: int) -> None:
    """A line for each version: the median over queries of the least time, and what was found."""
    truth = [{*versions["now"].ask("certified", query, k, isa)[1]} for query in range(queries)]
    seconds = {name: np.full(queries, np.inf) for name in versions}
    overlaps: dict[str, list[float]] = {name: [] for name in versions}
    followed = dict.fromkeys(versions, 0)
    for turn in range(turns):
        for query in range(queries):
            for name in [*versions][:: 1 if (turn + query) % 2 else -1]:
                spent, ids, followed[name] = versions[name].ask(policy, query, k, isa)
                seconds[name][query] = min(seconds[name][query], spent)
                overlaps[name].append(len({*ids} & truth[query]) / k)
    ratio = np.median(seconds["before"] / seconds["now"])
    for name, own in seconds.items():
        print(
            f"  {policy}, K = {k}, {isa or 'best ISA'}, {name}: {1e3 * np.median(own):.3f} ms, p95 "
            f"{1e3 * np.quantile(own, 0.95):.3f}, overlap {statistics.mean(overlaps[name]):.4f}, "
            f"{followed[name]:,} documents followed up"
            + (f"; {ratio:.3f} times as fast as before" if name == "now" else ""),
            flush=True,
        )


def save_vectors(name: str, queries: int, documents: int | None, path: Path) -> None:
    """Writes a shape to a file that both versions read."""
    from benchmarks.vectors.shapes import load  # here, because the other version may not have it

    shape = load(name, queries, lambda some, _: some)
    lengths = shape.lengths[:documents]
    rows = {"rows": shape.rows[: lengths.sum()], "lengths": lengths}
    for kind, some in (("queries", shape.queries), ("practice", shape.practice)):
        rows |= {kind: np.concatenate(some), f"{kind}_lengths": np.array([len(query) for query in some])}
    np.savez(path, **rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--calibrated", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("other", nargs="?", help="the Python of the environment with the version before")
    parser.add_argument("shape", nargs="*")
    parser.add_argument("--policy", nargs="+", choices=POLICIES, default=["calibrated-0.99"])
    parser.add_argument("--k", type=int, nargs="+", default=[10])
    parser.add_argument("--isa", nargs="+", default=[""])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--documents", type=int, help="the first of the shape")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work, max(options.k), options.calibrated)
        return
    calibrated = any(policy.startswith("calibrated") for policy in options.policy)
    for name in options.shape:
        with TemporaryDirectory() as folder:
            vectors = Path(folder, "vectors.npz")
            save_vectors(name, options.queries, options.documents, vectors)
            pythons = {"before": options.other, "now": sys.executable}
            versions = {side: Version(python, vectors, max(options.k), calibrated) for side, python in pythons.items()}
            for version in versions.values():
                assert version.read() == "ready"
        print(f"{name}, {options.queries} queries, {options.turns} turns", flush=True)
        for isa in options.isa:
            for k in options.k:
                for policy in options.policy:
                    compare(versions, policy, options.queries, k, isa, options.turns)
        for version in versions.values():
            version.end()


if __name__ == "__main__":
    main()
