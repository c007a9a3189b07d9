"""The tables and sentences with figures, for the README and the pages of docs/."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from benchmarks.figures.names import (
    APPROXIMATE,
    ENGINES,
    EXACT,
    MACHINES,
    OTHERS,
    OURS,
    PEERS,
    TITLES,
    alone,
    label,
    name,
    number,
    runs,
    share,
    side_by_side,
    smallest_k,
    spread,
)
from benchmarks.figures.published import Measured, Run, read

WIDTH = 100
XEON = {"AMX": "amx", "AVX-512 VNNI": "avx512vnni"}
"""Kernels of the run `amx`."""
SHORT = ("scifact", "hotpotqa")
SHORT_METHODS = ("certified", "calibrated-0.99", "calibrated-0.95", "bandit-0.2", "colbandit-0.2", "qdrant-edge")
SHORT_METHODS += ("lancedb", "lancedb-refine-10", "lancedb-thorough", "fast-plaid")


def pitch() -> str:
    """How `Calibrated` compares with engines that others use."""
    run = read("zen5-engines")
    small, large = (alone(run, shape) for shape in ENGINES)
    return _wrapped(
        f"On {ENGINES['hotpotqa']}, `Calibrated(0.99)` takes {_time(small['calibrated-0.99'])}, and on "
        f"{ENGINES['mid']} {_time(large['calibrated-0.99'])}. On the smaller corpus, TACHIOM "
        f"{run.versions['TACHIOM']} takes {_time(small['tachiom-default'])} by default and "
        f"{_time(small['tachiom-fast'])} at its fastest, and LanceDB {run.versions['lancedb']} "
        f"{_time(small['lancedb-thorough'])} with 100 probes. [Figures](#how-fast)."
    )


def _time(row: Measured) -> str:
    return f"{number(row.time)} ms (overlap {row.found:.3g})"


def scorers() -> str:
    """How `Certified` compares with the exact and with the approximate scorers of others."""
    exact = [ratio for run in side_by_side().values() for ratio in _exact_ratios(run)]
    lead = ""
    if exact and min(exact) > 1:
        lead = "No exact scorer of another library that was measured is as fast as `Certified`. "
    ahead = [f"{kernel} (Xeon)" for kernel, isa in XEON.items() if min(_amx_ratios(isa)) > 1]
    behind = []
    for cpu, run in side_by_side().items():
        shapes = [alone(run, shape) for shape in TITLES if shape in run.shapes]
        faster = [
            label(method)
            for method in APPROXIMATE
            if any(method in rows and rows[method].time <= rows["certified"].time for rows in shapes)
        ]
        if faster:
            verb = "is" if len(faster) == 1 else "are"
            behind.append(f" On {MACHINES[cpu]}, {_listed(faster)} {verb} faster than `Certified`, but not exact.")
        elif any(method in rows for rows in shapes for method in APPROXIMATE):
            ahead.append(MACHINES[cpu])
    return _wrapped(
        f"{lead}On {_listed(ahead)}, `Certified` is also faster than the approximate scorers of other libraries that "
        f"were measured there.{''.join(behind)}"
    )


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def engines() -> str:
    """The README's table of engines: median, 95th percentile and overlap."""
    return _wide(read("zen5-engines"), ENGINES, (*OURS, *PEERS))


def tachiom() -> str:
    """TACHIOM on two corpora, beside maxsieve before it had lists."""
    return _wide(read("zen4-engines"), ENGINES, (*OURS, *PEERS))


def short() -> str:
    """The README's table of libraries that are easily installed."""
    return _wide(read("zen5-engines"), OTHERS, SHORT_METHODS)


def _wide(run: Run, titles: dict[str, str], methods: Sequence[str]) -> str:
    shapes = [shape for shape in titles if shape in run.shapes]
    head = " | ".join(f"{titles[shape]}: ms | p95 | overlap" for shape in shapes)
    lines = [f"| K = {smallest_k(run)}, one thread | {head} |", "|---|" + "---:|---:|---:|" * len(shapes)]
    for method in methods:
        rows = [alone(run, shape).get(method) for shape in shapes]
        if any(rows):
            lines.append(f"| {name(method, run)} | {' | '.join(map(_cells, rows))} |")
    return "\n".join(lines)


def _cells(row: Measured | None) -> str:
    return " | | " if row is None else f"{number(row.time)} | {number(row.p95 or 0)} | {share(row.found)}"


def beside() -> str:
    """All methods: a table for each machine."""
    return "\n\n".join(f"{run.machine}:\n\n{_table(run)}" for run in side_by_side().values())


def _table(run: Run) -> str:
    shapes = [shape for shape in TITLES if shape in run.shapes]
    head = " | ".join(f"{TITLES[shape]}: ms | overlap" for shape in shapes)
    lines = [f"| one query, K = {smallest_k(run)}, one thread | {head} |", "|---|" + "---:|---:|" * len(shapes)]
    for method in (*OURS, *PEERS):
        rows = [alone(run, shape).get(method) for shape in shapes]
        if any(rows):
            cells = " | ".join("- | -" if row is None else f"{number(row.time)} | {share(row.found)}" for row in rows)
            lines.append(f"| {name(method, run)} | {cells} |")
    return "\n".join(lines)


def said() -> str:
    """The results of the tables in sentences: an item for each machine."""
    items = [f"**{MACHINES[cpu]}.** {_said(run)}" for cpu, run in side_by_side().items()]
    return "\n".join(_item(text) for text in [*items, _said_amx(), _said_calibrated()])


def _said(run: Run) -> str:
    shapes = [alone(run, shape) for shape in TITLES if shape in run.shapes]

    def times(slow: str, fast: str) -> list[float]:
        return [rows[slow].time / rows[fast].time for rows in shapes if slow in rows and fast in rows]

    exact = _exact_ratios(run)
    text = f"`Certified` is {spread(exact)} times as fast as the other exact scorers." if exact else ""
    approximate = [ratio for method in APPROXIMATE for ratio in times(method, "certified")]
    if approximate and min(approximate) > 1:
        text += f" It is also {spread(approximate)} times as fast as the approximate ones."
    elif times("colbandit-0.2", "certified"):
        text += (
            f" colbandit at alpha 0.2, which is approximate, takes {spread(times('colbandit-0.2', 'certified'))} "
            f"times as long as `Certified`, and {spread(times('colbandit-0.2', 'bandit-0.2'))} times as long as "
            "`Bandit(0.2)`."
        )
    if quick := times("certified", "calibrated-0.99"):
        text += f" `Calibrated(0.99)` is {spread(quick)} times as fast as `Certified`."
    return text


def _exact_ratios(run: Run) -> list[float]:
    """How many times as long as `Certified` the exact scorers of others take."""
    return [
        row.time / rows["certified"].time
        for rows in (alone(run, shape) for shape in TITLES if shape in run.shapes)
        for method, row in rows.items()
        if method in PEERS and method not in APPROXIMATE and row.found >= EXACT
    ]


def _said_amx() -> str:
    run = read("amx")
    theirs = [method for method in APPROXIMATE if any(run.find(method=method))]
    return (
        f"**AMX (Xeon).** `Certified` is {spread(_amx_ratios('amx'))} times as fast as the approximate scorers that "
        f"were measured there ({' and '.join(name(method, run) for method in theirs)}), and on the same CPU without "
        f"AMX, with AVX-512 VNNI, {spread(_amx_ratios('avx512vnni'))} times. No overlaps were noted on that machine."
    )


def _amx_ratios(isa: str) -> list[float]:
    """How many times as long as `Certified` the approximate scorers take on the machine with AMX."""
    run = read("amx")
    shapes = [{(row.method, row.isa): row.ns for row in run.find(shape=shape, threads=1)} for shape in run.shapes]
    return [rows[m, ""] / rows["certified", isa] for rows in shapes for m in APPROXIMATE if (m, "") in rows]


def _said_calibrated() -> str:
    run = read("zen3-avx2-calibrated")
    rows = [alone(run, shape) for shape in SHORT]
    ratio = [one["certified"].time / one["calibrated-0.99"].time for one in rows]
    found = " and ".join(f"{one['calibrated-0.99'].found:.3f}" for one in rows)
    return (
        f"**`Calibrated(0.99)`**, {MACHINES['zen3-avx2']}, K = {smallest_k(run)}: {spread(ratio)} times as fast as "
        f"`Certified`, with an overlap of {found} (SciFact, hotpotqa_1k)."
    )


def million() -> str:
    """A million documents, in a sentence."""
    run = read("zen5-million")
    quick = run.one(method="calibrated-0.99", threads=1)
    return _wrapped(
        f"A million documents of 64 tokens, from disk, K = 10, one thread: {number(quick.time)} ms with "
        f"`Calibrated(0.99)` (p95 {number(quick.p95 or 0)} ms, overlap {share(quick.found)}, "
        f"{quick.resident_bytes_per_token:.2g} bytes a token in memory), "
        f"{number(run.one(method='certified', threads=1).time)} ms with `Certified`."
    )


def calibrated() -> str:
    """`Calibrated` beside others, in a table."""
    run = read("zen3-avx2-calibrated")
    return _table(run)


def plaid() -> str:
    """fast-plaid, in a table."""
    run = read("zen3-avx2-fast-plaid")
    lines = ["| one query, K = 10, one thread | ms | overlap |", "|---|---:|---:|"]
    lines += [f"| {name(row.method, run)} | {number(row.time)} | {share(row.found)} |" for row in run.rows]
    return "\n".join(lines)


def amx() -> str:
    """The machine with AMX: nanoseconds a token, kernel by kernel."""
    run = read("amx")
    lines = ["| ns a document token, K = 5, one thread | 1,000 documents | 25,657 documents |", "|---|---:|---:|"]
    for method in (*OURS, *PEERS):
        for isa in dict.fromkeys(row.isa for row in run.find(method=method)):
            rows = [next(run.find(method=method, isa=isa, shape=s, threads=1), None) for s in ("rerank", "scidocs")]
            cells = " | ".join("" if row is None else f"{row.ns_per_token:g}" for row in rows)
            lines.append(f"| {name(method, run)}{f', {isa}' if isa else ''} | {cells} |")
    return "\n".join(lines)


def sources() -> str:
    """How each run was measured."""
    return "\n".join(_source(run, name) for name, run in runs().items())


def measured() -> str:
    """The same, shorter."""
    files: dict[str, list[str]] = {}
    for file, run in runs().items():
        files.setdefault(run.machine, []).append(f"[{file}.json](benchmarks/results/{file}.json)")
    return "\n".join(_item(f"{machine}: {', '.join(names)}") for machine, names in files.items())


PARTS: dict[str, Callable[[], str]] = {
    "pitch": pitch,
    "engines": engines,
    "tachiom": tachiom,
    "scorers": scorers,
    "short": short,
    "beside": beside,
    "said": said,
    "calibrated": calibrated,
    "million": million,
    "fast-plaid": plaid,
    "amx": amx,
    "sources": sources,
    "measured": measured,
}
"""The function that writes each part, by name."""


def _source(run: Run, file: str) -> str:
    date, note = f", {run.date}" if run.date else "", f" ({run.note})" if run.note else ""
    return _item(f"`benchmarks/results/{file}.json`: {run.machine}{date}{note}: `{run.command}`")


def _item(text: str) -> str:
    return textwrap.fill(f"- {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)
