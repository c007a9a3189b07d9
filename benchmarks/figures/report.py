"""Results as tables, on the terminal and in Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.figures.targets import Judge, Target
from benchmarks.runs.comparison.results import Holding, Results, Row

INTRODUCTION = """\
Times are medians for one query, with quartiles and the 95th percentile (p95), in one run in which all methods took
turns on the same queries. One thread unless said; a batch's time is divided by its queries. `ns` is nanoseconds per
document token; `x read` is the time over that of merely reading the int8 codes. Overlap (mean share of the true top K
that was found), exact (share of queries with a true top K) and worst error (of a score) are against float64. Calibrated
methods were calibrated on other queries than the timed ones."""


@dataclass(frozen=True)
class Section:
    """A titled table of words."""

    title: str
    header: list[str]
    lines: list[list[str]]


def sections(results: Results, targets: list[Target]) -> Iterator[Section]:
    """Everything to print, in order."""
    for shape, description in results.shapes.items():
        found = sorted(results.find(shape=shape), key=lambda row: (row.k, row.batch, row.threads, row.milliseconds))
        yield Section(f"{shape}: {description}", TIMES, [_times(row) for row in found])
        peers = list(dict.fromkeys(peer for row in found for peer in row.speedups))
        if peers:
            lines = [
                [*_settings(row), *(_number(row.speedups.get(peer)) for peer in peers)] for row in found if row.ours
            ]
            yield Section(f"{shape}: how many times as long the others take", [*SETTINGS, *peers], lines)
    yield Section("holding the documents", HOLDINGS, [_holding(holding) for holding in results.holdings])
    figures = [[name, f"{value:,.4g}"] for name, value in results.figures.items()]
    yield Section("single calls", ["figure", "value"], figures)
    yield Section("targets", ["figure", "target", "measured", "verdict", "remark"], [_target(t) for t in targets])


def print_all(results: Results) -> None:
    """On the terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=170)
    for section in sections(results, _targets(results)):
        table = Table(title=section.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for column, name in enumerate(section.header):
            table.add_column(name, justify="left" if column == 0 else "right", no_wrap=column == 0)
        for line in section.lines:
            table.add_row(*line)
        console.print(table)
    for reason in results.absent:
        console.print(f"left out: {reason}")


def save(results: Results, folder: Path) -> None:
    """Write `bench.json` and `bench.md` into the folder."""
    targets = _targets(results)
    whole = asdict(results) | {"targets": [asdict(target) | {"verdict": target.verdict} for target in targets]}
    (folder / "bench.json").write_text(json.dumps(whole, indent=1))
    clock = "" if results.options["clock"] == "wall" else " Times are CPU time, since the machine was busy."
    lines = ["# Benchmark", "", INTRODUCTION + clock, ""]
    lines += [f"- {name}: {value}" for name, value in results.machine.items()]
    lines += [f"- left out: {reason}" for reason in results.absent]
    lines += ["", "![nanoseconds per document token](bench.png)", ""]
    for section in sections(results, targets):
        lines += [f"## {section.title}", "", _markdown(section.header), "|---" * len(section.header) + "|"]
        lines += [*map(_markdown, section.lines), ""]
    (folder / "bench.md").write_text("\n".join(lines))


HOLDINGS = ["shape", "holder", "bytes per token", "tokens/s taken in", "note"]
SETTINGS = ["method", "K", "kernel", "threads", "batch"]
ACCURACY = ["overlap", "exact", "worst error", "coverage", "rescored"]
TIMES = [*SETTINGS, "runs", "ms", "quartiles", "p95", "ns", "x read", *ACCURACY]


def _settings(row: Row) -> list[str]:
    return [row.method, str(row.k), row.isa, str(row.threads), str(row.batch)]


def _times(row: Row) -> list[str]:
    low, high = row.quartiles
    return [
        *_settings(row),
        str(row.runs),
        _number(row.milliseconds),
        f"{_number(low)}-{_number(high)}",
        _number(row.p95),
        _number(row.ns_per_token),
        _number(row.times_read_limit),
        f"{row.overlap:.3f}",
        f"{row.exact_sets:.2f}",
        f"{row.worst_error:.1e}",
        _number(row.coverage),
        _number(row.rescored),
    ]


def _holding(holding: Holding) -> list[str]:
    speed = holding.build_tokens_per_second
    return [holding.shape, holding.holder, _number(holding.bytes_per_token), _number(speed), holding.note]


def _targets(results: Results) -> list[Target]:
    return list(Judge(results).targets()) if results.rows else []


def _target(target: Target) -> list[str]:
    bound = f"{'at least' if target.at_least else 'at most'} {target.limit:g}"
    return [target.figure, bound, _number(target.value), target.verdict, target.remark]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _markdown(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
