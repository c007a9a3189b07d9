"""Simulates the latency of a search over 1 to 1,000 nodes, with stragglers, with and without hedged requests.

Each node has the same number of documents, so that a search does the same work on each. A search with `Certified` has
three steps: scan, score the first documents, score the rest. Each step waits for the slowest node. In the last two
steps, only nodes with documents to score are called: at most K nodes, and at most as many as there are documents to
score (--asked).

The duration of a step is random, around measured service times (--steps: milliseconds of each step on one node). A call
that is a straggler takes --slow times as long. The coordinator sends calls and collects answers one after the other,
which takes --per-call microseconds for each call.

A hedged request goes to a replica by the rule of the coordinator: when a call has taken three times the median, and at
least 50 ms. The faster answer of the two is used.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.coordinator import HEDGE_FACTOR, MIN_HEDGE_DELAY

F64 = NDArray[np.float64]
NODES = (1, 10, 100, 1000)


def main() -> int:
    options = parse()
    rng = np.random.default_rng(options.seed)
    rows = []
    for nodes in NODES:
        for hedged in (False, True):
            latency, extra = simulate(rng, nodes, options, hedged=hedged)
            p50, p99, p999 = np.percentile(latency, [50, 99, 99.9])
            rows.append(
                {
                    "nodes": nodes,
                    "hedged": hedged,
                    "p50 ms": round(float(p50), 1),
                    "p99 ms": round(float(p99), 1),
                    "p99.9 ms": round(float(p999), 1),
                    "calls more": f"{extra:.1%}",
                }
            )
    if options.json:
        print(json.dumps({"options": vars(options), "rows": rows}, indent=1))
        return 0
    print("| nodes | hedged | p50 ms | p99 ms | p99.9 ms | calls more |\n|---|---|---|---|---|---|")
    for row in rows:
        print(
            "| " + " | ".join(str(value).replace("True", "yes").replace("False", "no") for value in row.values()) + " |"
        )
    return 0


def simulate(rng: np.random.Generator, nodes: int, options: argparse.Namespace, *, hedged: bool) -> tuple[F64, float]:
    """The milliseconds of each search, and the fraction of additional calls."""
    latency, more, calls = np.zeros(options.searches), 0, 0
    for step, at_most in zip(options.steps, options.asked, strict=True):
        asked = min(nodes, at_most or nodes)
        calls += options.searches * asked
        usual = draw(rng, step, (20_000,), options)
        late = max(1e3 * MIN_HEDGE_DELAY, HEDGE_FACTOR * float(np.median(usual)))
        took = draw(rng, step, (options.searches, asked), options)
        if hedged:
            is_late = took > late
            more += int(is_late.sum())
            took = np.where(is_late, np.minimum(took, late + draw(rng, step, took.shape, options)), took)
        # The i-th call starts after the calls before it were sent. Answers are collected one after the other.
        sent = options.per_call / 1e3 * np.arange(1, asked + 1)
        arrived = np.sort(took + sent + options.call, axis=1)
        done = np.maximum.accumulate(arrived - sent, axis=1)[:, -1] + sent[-1]
        latency += np.maximum(done, arrived[:, -1])
    return latency, more / calls


def draw(rng: np.random.Generator, step: float, shape: tuple[int, ...], options: argparse.Namespace) -> F64:
    """Random durations of a step: log-normal around the measured one, with some stragglers."""
    spread = options.spread
    usual = step * np.exp(spread * rng.standard_normal(shape) - spread * spread / 2)
    return np.where(rng.random(shape) < options.stragglers, options.slow * usual, usual)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=float, nargs="+", default=[45.0, 0.5, 0.2], help="ms of each step on one node")
    parser.add_argument(
        "--asked", type=int, nargs="+", default=[0, 10, 26], help="maximum number of nodes called in each step; 0: all"
    )
    parser.add_argument("--call", type=float, default=1.0, help="ms of a call that does nothing")
    parser.add_argument("--per-call", type=float, default=200.0, help="microseconds of the coordinator for each call")
    parser.add_argument("--spread", type=float, default=0.15, help="standard deviation of the log of a duration")
    parser.add_argument("--stragglers", type=float, default=0.002, help="fraction of calls that are slow")
    parser.add_argument("--slow", type=float, default=10.0, help="how many times as long slow calls take")
    parser.add_argument("--searches", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
