"""What `make demo` runs: an index over structured random vectors, and three policies on the same queries."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from rich import box
from rich.console import Console
from rich.table import Table

import maxsieve as ms
from maxsieve.policies import Policy
from structured import Structured

K = 10
SHOWN = 3
POLICIES: dict[str, Policy] = {"Exhaustive": ms.Exhaustive(), "Certified": ms.Certified(), "Bandit": ms.Bandit()}


def main() -> int:
    options = parse()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=100)

    corpus = Structured(options.documents)
    started = perf_counter()
    index = ms.Index.build(corpus.documents(), range(corpus.size), progress=True)
    console.print(
        f"Built an index of {len(index):,} documents with {index.tokens:,} tokens, d = {index.dim}, in "
        f"{perf_counter() - started:.1f} s; kernel {ms.isa()}."
    )

    table = empty_table(options.queries)
    answers: dict[str, list[ms.Hits]] = {name: [] for name in POLICIES}
    for number, query in enumerate(corpus.queries(options.queries)):
        for name, policy in POLICIES.items():
            index.search(query, K, policy=policy)  # warms up
            started = perf_counter()
            hits = index.search(query, K, policy=policy)
            milliseconds = (perf_counter() - started) * 1e3
            answers[name].append(hits)
            table.add_row(*row(name, hits, milliseconds, answers["Exhaustive"][number]))
        table.add_section()
    console.print(table)

    exact = sum(map(same, answers["Certified"], answers["Exhaustive"]))
    if exact < options.queries:
        console.print(f"Certified DIFFERED from exhaustive scoring on {options.queries - exact} queries: a bug.")
        return 1
    rescored = sum(hits.report.rescored for hits in answers["Certified"]) / options.queries
    covered = sum(hits.report.coverage for hits in answers["Bandit"]) / options.queries
    found = sum(map(common, answers["Bandit"], answers["Exhaustive"])) / sum(map(len, answers["Exhaustive"]))
    console.print(
        f"Certified gave the answer of exhaustive scoring, bit for bit, on all {options.queries} queries, and "
        f"scored only {rescored:.0f} of {len(index):,} documents exactly to prove it. Bandit looked at {covered:.0%} "
        f"of the cells and found {found:.0%} of the true top {K}, without a guarantee."
    )
    return 0


def empty_table(queries: int) -> Table:
    table = Table(
        title=f"The {K} best documents for each of {queries} queries of 32 tokens; ids and scores of the first {SHOWN}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("policy", "ids", "scores", "guarantee"):
        table.add_column(heading)
    for heading in ("coverage", "rescored", "ms"):
        table.add_column(heading, justify="right")
    table.add_column("agreement")
    return table


def row(name: str, hits: ms.Hits, milliseconds: float, truth: ms.Hits) -> list[str]:
    return [
        name,
        " ".join(f"{key:>4}" for key in hits.ids[:SHOWN]),
        " ".join(f"{score:.2f}" for score in hits.scores[:SHOWN]),
        hits.report.guarantee,
        f"{hits.report.coverage:.0%}",
        f"{hits.report.rescored:,}",
        f"{milliseconds:.1f}",
        "(reference)" if hits is truth else agreement(hits, truth),
    ]


def agreement(hits: ms.Hits, truth: ms.Hits) -> str:
    return "bit for bit" if same(hits, truth) else f"{common(hits, truth)} of {len(truth)} ids"


def same(hits: ms.Hits, truth: ms.Hits) -> bool:
    return hits.ids == truth.ids and hits.scores.tobytes() == truth.scores.tobytes()


def common(hits: ms.Hits, truth: ms.Hits) -> int:
    return len(set(hits.ids) & set(truth.ids))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python benchmarks/demo.py --documents 1000")
    parser.add_argument("--documents", type=int, default=5000, help="of about 120 tokens each (default: 5000)")
    parser.add_argument("--queries", type=int, default=3, help="of 32 tokens each (default: 3)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
