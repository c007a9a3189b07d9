"""Whether `Calibrated` reaches its guaranteed overlap: on halves of the queries, and with filters."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import Calibrated, Index
from maxsieve.calibrate import Wanted, calibrate
from maxsieve.index import to_rows
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, ensure_codebook
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import Mean, mean
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.searcher import LocalSearcher
from maxsieve.spec import depth, queries_needed, tail_depth
from maxsieve.storage.calibration import Calibration
from maxsieve.storage.snapshot import Snapshot
from maxsieve.where import Where, to_where

Ranks = NDArray[np.int64]
"""[queries, K]: the rank by lists, from 1, of each of a query's true best documents, best first."""

KS = (1, 10, 100)
TARGETS = (0.9, 0.95, 0.99)
SPLITS, QUICK_SPLITS = 200, 20
TAILS = ((0.9, 0.9), (0.9, 0.95))
"""Overlaps, and the shares of queries that reach them."""
PERCENTS = (1, 10, 50)
"""Filters that match so many of the documents."""


class SplitResults(NamedTuple):
    """The mean overlap on each random split of the queries, and the depth that was used."""

    overlaps: list[float]
    depths: list[int]

    @property
    def mean(self) -> Mean:
        """The mean of the overlaps. Splits are independent, so its interval is that of the expected overlap."""
        return mean(self.overlaps)


def guarantee(dataset: Dataset, options: Options) -> ExperimentResult:
    """A row for each target and K; tables for single queries and filters."""
    data = dataset.as_indexed().first(options.count)
    order = random.Random(1).sample(range(len(data.ids)), len(data.ids))
    index = Index.build(
        map(data.vectors, data.ids),
        data.ids,
        store=data.index.store,
        metadata=[{"percentile": 100 * place / len(order)} for place in order],
    )
    ensure_codebook(index, progress=options.progress)
    snapshot, queries = index.storage.snapshot.here, list(data.queries.values())
    ranks = ranks_of(snapshot, queries, options)
    splits = QUICK_SPLITS if options.quick else SPLITS
    cells = {(k, target): kept(ranks, ranks, k, target, splits) for k in ks_of(ranks) for target in targets_of(queries)}
    tables = [
        _halves(cells, len(snapshot.searchable)),
        _tails(
            ranks, splits, [tail for tail in TAILS if len(queries) // 2 >= queries_needed(Calibrated(tail[1]).target)]
        ),
        _filters(snapshot, queries, options, splits),
    ]
    missed = [cell for cell, found in cells.items() if found.mean.high < cell[1]]
    words = ", ".join(f"{target:g} at K = {k}" for k, target in missed)
    remarks = [
        f"The mean overlap is below what was promised, beyond its 95 % interval, for {words}."
        if missed
        else f"The mean overlap reaches what was promised, within its 95 % interval, in all {len(cells)} cells.",
        *[
            f"A half of these queries is too small to promise {target:g}: that needs "
            f"{queries_needed(Calibrated(target).target)}."
            for target in TARGETS
            if target not in targets_of(queries)
        ],
    ]
    return ExperimentResult(
        "guarantee",
        data.name,
        f"`Calibrated` is calibrated on one half of the queries and measured on the other, over {splits} random "
        f"splits; {data.extent(documents=True)}. Documents that a query must not find count like any other here.",
        tables,
        remarks=remarks,
    )


def ranks_of(
    snapshot: Snapshot, queries: Sequence[F32], options: Options, k: int = KS[-1], where: Where | None = None
) -> Calibration:
    """What a calibration measures on queries; the snapshot must have a codebook."""
    wanted = Wanted(to_rows(queries, snapshot.layout), k, "queries", where)
    with options.bar("calibrating", len(queries)) as advance:
        return calibrate(snapshot, LocalSearcher(), wanted, None, advance)


def ranks_for(made: Calibration, k: int, target: float) -> Ranks:
    """The ranks [queries, K] by the walk for a top k and a target."""
    ranks: Ranks = made.hits["documents"].ranks[made.walk(k, Calibrated(target).target)]
    return ranks


def ks_of(made: Calibration) -> list[int]:
    """The values of K that do not exceed the number of documents."""
    return [k for k in KS if k <= made.k]


def targets_of(queries: Sequence[F32]) -> list[float]:
    """The targets for which half of the queries are enough."""
    found = [target for target in TARGETS if len(queries) // 2 >= queries_needed(Calibrated(target).target)]
    if not found:
        fewest = 2 * queries_needed(Calibrated(TARGETS[0]).target)
        raise ValueError(
            f"{len(queries)} queries are too few to calibrate on half of them: at least {fewest} are needed"
        )
    return found


def kept(before: Calibration, after: Calibration, k: int, target: float, splits: int) -> SplitResults:
    """Calibrates on random halves of the queries, ranked ``before``, and measures on the rest, ranked ``after``."""
    return measured(ranks_for(before, k, target), ranks_for(after, k, target), k, target, splits)


def measured(before: Ranks, after: Ranks, k: int, target: float, splits: int) -> SplitResults:
    """The same with ranks."""
    found = SplitResults([], [])
    for chosen, others in halves_of(len(before), splits):
        found.depths.append(max(k, depth(before[chosen], k, Calibrated(target).target)))
        found.overlaps.append(float((after[others, :k] <= found.depths[-1]).mean()))
    return found


def halves_of(queries: int, splits: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Random halves of the queries, by their numbers."""
    rng = np.random.default_rng(0)
    for _ in range(splits):
        chosen, others = np.split(rng.permutation(queries), [queries // 2])
        yield chosen, others


def _halves(cells: dict[tuple[int, float], SplitResults], documents: int) -> Table:
    rows: list[list[Cell]] = []
    for (k, target), found in cells.items():
        own, quantiles = found.mean, np.quantile(found.overlaps, [0.05, 0.95]).tolist()
        below = float(np.mean([overlap < target for overlap in found.overlaps]))
        deep = float(np.mean(np.minimum(found.depths, documents)))
        rows.append([k, target, own.value, own.low, own.high, *quantiles, below, deep, deep / documents])
    columns = [Column("K"), Column("promised", "g"), Column("mean overlap", ".4f"), Column("low", ".4f")]
    columns += [Column("high", ".4f"), Column("5 % quantile", ".3f"), Column("95 % quantile", ".3f")]
    columns += [Column("splits below", ".0%"), Column("documents followed up", ",.0f"), Column("of all", ".1%")]
    note = (
        "What is promised is the mean over all ways to split. A single half may be below: its test queries may be "
        "the harder ones."
    )
    return Table("Promise and overlap", columns, rows, note=note)


def _tails(made: Calibration, splits: int, tails: Sequence[tuple[float, float]]) -> Table:
    """Whether the share of queries with enough hits is what was promised."""
    rows: list[list[Cell]] = []
    for k in ks_of(made):
        for overlap, share in tails:
            ranks, enough = ranks_for(made, k, overlap), ceil(k * Calibrated(overlap).target)
            shares, depths = [], []
            for chosen, others in halves_of(len(ranks), splits):
                deep = tail_depth(ranks[chosen], k, Calibrated(overlap).target, Calibrated(share).target)
                depths.append(min(max(k, deep), made.documents))
                shares.append(float(((ranks[others, :k] <= max(k, deep)).sum(axis=1) >= enough).mean()))
            own = mean(shares)
            rows.append([k, overlap, share, own.value, own.low, own.high, float(np.mean(depths))])
    columns = [Column("K"), Column("overlap", "g"), Column("promised share", "g"), Column("share of queries", ".4f")]
    columns += [Column("low", ".4f"), Column("high", ".4f"), Column("documents followed up", ",.0f")]
    return Table("Promises about single queries", columns, rows)


def _filters(snapshot: Snapshot, queries: Sequence[F32], options: Options, splits: int) -> Table:
    """Calibrations for filters that match a share of the documents at random."""
    rows: list[list[Cell]] = []
    for percent in PERCENTS:
        where = to_where({"percentile": {"lt": percent}})
        made = ranks_of(snapshot, queries, options, 10, where)
        for target in targets_of(queries):
            found = kept(made, made, min(10, made.k), target, splits)
            deep = float(np.mean(np.minimum(found.depths, made.documents)))
            own = found.mean
            rows.append([f"{percent} %", made.documents, min(10, made.k), target, own.value, own.low, own.high, deep])
    columns = [Column("filter"), Column("documents", ",d"), Column("K"), Column("promised", "g")]
    columns += [Column("mean overlap", ".4f"), Column("low", ".4f"), Column("high", ".4f")]
    return Table("Calibrated filters", [*columns, Column("documents followed up", ",.0f")], rows)
