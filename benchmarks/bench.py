"""Times maxsieve and other libraries side by side on the same vectors, every answer checked against float64.

    make bench ARGS="--quick"
    make bench ARGS="--shape rerank scifact --method certified bandit-0.2 colbandit-0.2 --k 5 100"

All methods take turns in one process, so ratios within a run mean something where times on a busy machine don't.
Without options it runs all there is, which takes about an hour; a line is printed for whatever is done. Tables are
printed at the end, or after Ctrl-C as far as it got, and saved with a chart.
"""

from __future__ import annotations

from benchmarks.peers import one_thread  # noqa: F401

# isort: split
import argparse
import shlex
import signal
import sys
from pathlib import Path

import maxsieve as ms
from benchmarks.figures import published
from benchmarks.figures.chart import draw
from benchmarks.figures.report import print_all, save
from benchmarks.peers import ENTRIES, METHODS
from benchmarks.peers.probe import probe
from benchmarks.runs.arguments import positive
from benchmarks.runs.comparison.measure import CLOCKS
from benchmarks.runs.comparison.ours import POLICIES
from benchmarks.runs.comparison.results import Results
from benchmarks.runs.comparison.run import Plan, run
from benchmarks.runs.machine import describe
from benchmarks.vectors import shapes

SLOW = ("pylate", "qdrant-local", "fast-plaid", "lancedb", "lancedb-refine-10", "lancedb-thorough")
QUICK = {
    "shape": ["tiny"],
    "method": [*POLICIES, *(method for method in METHODS if method not in SLOW)],
    "k": [5, 100],
    "queries": 4,
    "repeat": 2,
    "seconds": 0.5,
}


APART = "runs in a process of its own, whose CPU time is not known here: take --clock wall"

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a program that the signal ended."""


def main() -> int:
    options = parse()
    kept, note, machine = (options.__dict__.pop(name) for name in published.KEEPING)
    results = Results(describe(), vars(options) | {"out": str(options.out)})
    wanted = tuple(entry for entry in ENTRIES if set(entry.methods) & set(options.method))
    apart = {entry.methods[0]: APART for entry in wanted if entry.own_process and options.clock == "cpu"}
    failures = apart | probe(tuple(entry for entry in wanted if entry.methods[0] not in apart))
    results.absent += [f"{name}: {reason}" for name, reason in failures.items()]
    entries = [entry for entry in wanted if entry.methods[0] not in failures]
    options.out.mkdir(parents=True, exist_ok=True)
    status = 0
    try:
        for _ in run(Plan(**vars(options), entries=entries), results):
            keep(results, options.out)  # after each shape, so that a killed run leaves its results
    except KeyboardInterrupt:
        print("interrupted; what was measured until then:", file=sys.stderr)
        status = INTERRUPTED
    print_all(results)
    if not results.rows:
        print("nothing was measured", file=sys.stderr)
        return status or 1
    keep(results, options.out)
    print(f"saved in {options.out}: bench.json, bench.md, bench.png")
    if kept and not status:
        published.write(results, kept, shlex.join(published.measuring(sys.argv[1:])), note, machine)
        print(f"kept in {kept}; `make figures` draws the charts and tables that are made of it")
    return status


def keep(results: Results, folder: Path) -> None:
    save(results, folder)
    draw(results, folder / "bench.png")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name in shapes.NAMES if name != "tiny" and name not in shapes.ON_DISK]
    parser.add_argument("--quick", action="store_true", help="a tiny shape and few runs, in a minute")
    parser.add_argument(
        "--shape", nargs="+", choices=shapes.NAMES, default=names, help="default: all but tiny and those on disk"
    )
    parser.add_argument("--method", nargs="+", choices=[*POLICIES, *METHODS], default=[*POLICIES, *METHODS])
    fast = [isa for isa in ms.isas() if isa != "scalar"] or ms.isas()
    parser.add_argument("--isa", nargs="+", choices=ms.isas(), default=fast, help="default: all but scalar")
    parser.add_argument("--k", nargs="+", type=positive, default=[5, 10, 100, 1000])
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2], help="of maxsieve; others have one")
    parser.add_argument("--batch", nargs="+", type=positive, default=[1, 32], help="queries at once, at the first K")
    parser.add_argument("--queries", type=positive, default=8, help="that methods take turns on")
    parser.add_argument("--repeat", type=positive, default=3, help="turns on each query")
    parser.add_argument("--seconds", type=float, default=5, help="for a method and setting, thrice at least")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine, with one thread")
    parser.add_argument("--documents", type=positive, help="of the shapes on disk, for a try")
    parser.add_argument("--memory", type=float, default=12, help="gigabytes that a peer may need")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="folder for the results")
    parser.add_argument("--results", type=Path, metavar="FILE", help="of benchmarks/results, for `make figures`")
    parser.add_argument("--machine", default="", help="what to call this machine in that file; by default its CPU")
    parser.add_argument("--note", default="", help="what else to say in that file, such as what ran beside it")
    first, _ = parser.parse_known_args()
    if first.quick:
        parser.set_defaults(**QUICK)
    if first.clock == "cpu":
        parser.set_defaults(threads=[1])
    options = parser.parse_args()
    if options.clock == "cpu" and options.threads != [1]:
        parser.error("CPU time adds up over threads: --clock cpu goes with --threads 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
