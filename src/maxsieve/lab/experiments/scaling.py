"""Time and memory against documents, tokens, query tokens, K, dimensions and threads, with the slope that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from maxsieve import Bandit, Calibrated, Certified, Exhaustive
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded
from maxsieve.lab.experiments import Options
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.times import Timed, Times, measure, timed_queries
from maxsieve.policies import Policy
from maxsieve.storage.calibration import most_overlap

POLICIES: dict[str, Policy] = {"Exhaustive": Exhaustive(), "Certified": Certified(), "Bandit 0.2": Bandit(0.2)}
K = 5
SHARES = (0.125, 0.25, 0.5, 1.0)
QUERY_TOKENS = (4, 8, 16, 32, 64, 128)
KS = (1, 5, 20, 100, 500)
QUERIES = 20
CALIBRATING, QUICK_CALIBRATING = 200, 20
"""How many of the other queries `Calibrated` is calibrated on, for each number of documents."""
DOCUMENTS = "documents"
"""The axis that `Calibrated` is measured on."""

Setting = tuple[float, Embedded, int, int]
"""A position on the axis, the data that is searched, K, threads."""


def scaling(dataset: Dataset, options: Options) -> ExperimentResult:
    """Per axis a chart, and one table of all."""
    everyone = dataset.embedded()
    data = timed_queries(everyone, options) if options.quick or options.queries else everyone.first(QUERIES)
    others = [rows for query, rows in everyone.queries.items() if query not in data.queries]
    others = others[: QUICK_CALIBRATING if options.quick else CALIBRATING]
    calibrated = {"Calibrated": Calibrated(most_overlap(len(others)))} if others else {}
    rows: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    charts, remarks = [], []
    for axis, settings in _axes(data, options).items():
        policies = {**POLICIES, **(calibrated if axis == DOCUMENTS else {})}
        milliseconds: dict[str, list[float]] = {name: [] for name in policies}
        places = []
        for place, what, k, threads in settings():
            size = what.index.nbytes / 2**20
            if len(policies) > len(POLICIES):
                excluded = max(map(len, what.exclusions.values()), default=0)
                what.index.calibrate(others, k + excluded, progress=options.progress)
            times = measure(what, [Timed(policy, k, threads) for policy in policies.values()], options)
            own = [times[Timed(policy, k, threads)].milliseconds for policy in policies.values()]
            rows.append([axis, place, what.index.tokens, *own[: len(POLICIES)], size])
            places.append(place)
            for name, median in zip(policies, own, strict=True):
                milliseconds[name].append(median)
            if len(policies) > len(POLICIES):
                found, exact = (times[Timed(policies[name], k, threads)] for name in ("Calibrated", "Certified"))
                counts.append(_counts(what, found, exact))
        slopes = {name: slope(places, own) for name, own in milliseconds.items()}
        powers = ", ".join(f"{value:.2f} ({name})" for name, value in slopes.items())
        remarks.append(f"{axis}: time grows as its power {powers}.")
        lines = [Series(f"{name}, slope {slopes[name]:.2f}", places, own) for name, own in milliseconds.items()]
        title = f"{data.name}: milliseconds against {axis}"
        charts.append(Chart(axis.replace(" ", "-"), title, axis, "ms", lines, x_scale="log", y_scale="log"))
    columns = [Column("axis"), Column("at", "g"), Column("tokens", ",")]
    columns += [Column(f"{name}, ms", ".2f") for name in POLICIES]
    summary = (
        f"Median ms of a call, K = {K} and one thread unless said, {data.extent()}. "
        "Smaller sets are the first documents, documents and vectors cut short; longer queries are several in one. "
        "Slopes are fitted to logarithms."
    )
    tables = [Table("Time and memory", [*columns, Column("index, MiB", ".1f")], rows)]
    if counts:
        tables.append(_calibrated_table(counts, calibrated["Calibrated"], len(others)))
    return ExperimentResult("scaling", data.name, summary, tables, charts, remarks)


def _counts(data: Embedded, found: Times, exact: Times) -> list[Cell]:
    """What `Calibrated` reads and finds, as means over queries."""
    postings = float(np.mean([hits.report.touched.get("postings", 0) for hits in found.hits]))
    overlap = float(np.mean([len({*a.ids} & {*b.ids}) / len(b) for a, b in zip(found.hits, exact.hits, strict=True)]))
    size, tokens = len(data.searchable), data.index.tokens
    row: list[Cell] = [size, tokens, postings, postings / tokens, found.survivors, found.survivors / size]
    return [*row, overlap, found.milliseconds, exact.milliseconds / found.milliseconds]


def _calibrated_table(rows: list[list[Cell]], policy: Calibrated, queries: int) -> Table:
    columns = [Column("documents", ",d"), Column("tokens", ",d"), Column("postings", ",.0f")]
    columns += [Column("of tokens", ".2%"), Column("followed up", ",.0f"), Column("of documents", ".2%")]
    columns += [Column("overlap", ".3f"), Column("ms", ".3f"), Column("x Certified", ".2f")]
    note = f"Calibrated for each number of documents, on {queries} other queries."
    return Table(f"Calibrated({policy.overlap:g}) against documents", columns, rows, note=note)


def slope(x: list[float], y: list[float]) -> float:
    """The power of x that y grows with, by least squares on logarithms.

    >>> slope([1.0, 2.0, 4.0], [3.0, 12.0, 48.0])
    2.0
    """
    if len(set(x)) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0].round(6))


def _axes(data: Embedded, options: Options) -> dict[str, Callable[[], Iterator[Setting]]]:
    shares = SHARES[1::2] if options.quick else SHARES
    ids = data.ids
    longest = max(len(data.vectors(doc_id)) for doc_id in ids)

    def documents() -> Iterator[Setting]:
        for share in shares:
            some = ids[: max(K + 1, round(share * len(ids)))]
            yield float(len(some)), data.with_documents(some), K, 1

    def tokens() -> Iterator[Setting]:
        for share in shares:
            limit = max(1, round(share * longest))
            yield float(limit), data.with_documents(ids, _first_rows(limit)), K, 1

    def query_tokens() -> Iterator[Setting]:
        for count in QUERY_TOKENS[1::2] if options.quick else QUERY_TOKENS:
            yield float(count), replace(data, queries=long_queries(data, count)), K, 1

    def ks() -> Iterator[Setting]:
        for k in KS[1::2] if options.quick else KS:
            yield float(k), data, k, 1

    def dimensions() -> Iterator[Setting]:
        for share in shares:
            dim = max(1, round(share * data.index.dim))
            yield float(dim), data.with_vectors(f"first {dim}", _first_columns(dim), queries_too=True), K, 1

    def threads() -> Iterator[Setting]:
        for count in range(1, options.cores + 1):
            yield float(count), data, K, count

    return {
        "documents": documents,
        "tokens of the longest document": tokens,
        "query tokens": query_tokens,
        "K": ks,
        "dimensions": dimensions,
        "threads": threads,
    }


def _first_rows(limit: int) -> Callable[[F32], F32]:
    return lambda rows: rows[:limit]


def _first_columns(dim: int) -> Callable[[F32], F32]:
    return lambda rows: rows[:, :dim]


def long_queries(data: Embedded, tokens: int) -> dict[str, F32]:
    """Queries of this many tokens: the tokens of all queries are concatenated, repeated if necessary, and cut."""
    stream = np.concatenate(list(data.queries.values()))
    repeats = -(-tokens * len(data.queries) // len(stream))
    pieces = np.tile(stream, (repeats, 1))[: tokens * len(data.queries)].reshape(len(data.queries), tokens, -1)
    return dict(zip(data.queries, pieces, strict=True))
