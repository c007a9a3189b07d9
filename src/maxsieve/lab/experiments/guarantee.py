"""Whether `Calibrated` reaches its guaranteed overlap: on halves of the queries, and with own sentences."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import Calibrated
from maxsieve.calibrated import calibrate
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import Mean, mean
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.searcher import LocalSearcher
from maxsieve.spec import depth, queries_needed
from maxsieve.storage.snapshot import Snapshot

Ranks = NDArray[np.int64]
"""[queries, K]: the rank by tier 0, from 1, of each of a query's true best documents, best first."""

KS = (1, 10, 100)
TARGETS = (0.9, 0.95, 0.99)
SPLITS, QUICK_SPLITS = 200, 20
SENTENCES = 200
"""How many sentences are drawn from the documents."""
FEWEST_WORDS = 4
"""The fewest words of a sentence: shorter ones are headings and parts of abbreviations."""


class SplitResults(NamedTuple):
    """The mean overlap on each random split of the queries, and the depth that was used."""

    overlaps: list[float]
    depths: list[int]

    @property
    def mean(self) -> Mean:
        """The mean of the overlaps. Splits are independent, so its interval is that of the expected overlap."""
        return mean(self.overlaps)


def guarantee(dataset: Dataset, options: Options) -> ExperimentResult:
    """A row for each target and K; another table for own sentences, if there are texts."""
    data = dataset.as_indexed().first(options.count)
    index = data.with_documents(data.ids, store=data.index.store).index
    index.train_codebook(progress=options.progress)
    snapshot, queries = index.storage.snapshot.here, list(data.queries.values())
    ranks = ranks_by_tier0(snapshot, queries, options)
    splits = QUICK_SPLITS if options.quick else SPLITS
    cells = {(k, target): kept(ranks, ranks, k, target, splits) for k in ks_of(ranks) for target in targets_of(ranks)}
    tables = [_halves(cells, len(snapshot.searchable))]
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
            if target not in targets_of(ranks)
        ],
    ]
    if dataset.corpus is not None:
        own = ranks_by_tier0(snapshot, own_sentences(dataset, SENTENCES), options, KS[-1] + 1)
        tables.append(_sentences(own, ranks))
    return ExperimentResult(
        "guarantee",
        data.name,
        f"`Calibrated` is calibrated on one half of the queries and measured on the other, over {splits} random "
        f"splits; {data.extent(documents=True)}. Documents that a query must not find count like any other here.",
        tables,
        remarks=remarks,
    )


def ranks_by_tier0(snapshot: Snapshot, queries: Sequence[F32], options: Options, k: int = KS[-1]) -> Ranks:
    """The ranks that a calibration measures on queries; the snapshot must have a codebook."""
    with options.bar("calibrating", len(queries)) as advance:
        return calibrate(snapshot, LocalSearcher(), queries, k, "queries", None, advance).ranks


def ks_of(ranks: Ranks) -> list[int]:
    """The values of K that do not exceed the number of documents."""
    return [k for k in KS if k <= ranks.shape[1]]


def targets_of(ranks: Ranks) -> list[float]:
    """The targets for which half of the queries are enough."""
    found = [target for target in TARGETS if len(ranks) // 2 >= queries_needed(Calibrated(target).target)]
    if not found:
        fewest = 2 * queries_needed(Calibrated(TARGETS[0]).target)
        raise ValueError(f"{len(ranks)} queries are too few to calibrate on half of them: at least {fewest} are needed")
    return found


def kept(before: Ranks, after: Ranks, k: int, target: float, splits: int, growth: float = 1.0) -> SplitResults:
    """Calibrates on random halves of the queries, ranked ``before``, and measures on the rest, ranked ``after``."""
    rng = np.random.default_rng(0)
    found = SplitResults([], [])
    for _ in range(splits):
        chosen, others = np.split(rng.permutation(len(before)), [len(before) // 2])
        found.depths.append(max(k, ceil(depth(before[chosen], k, Calibrated(target).target) * growth)))
        found.overlaps.append(float((after[others, :k] <= found.depths[-1]).mean()))
    return found


def own_sentences(dataset: Dataset, count: int) -> list[F32]:
    """Sentences of documents as queries: one per document, chosen at random with a fixed seed."""
    texts = dataset.texts("drawing sentences").documents
    draw, sentences = random.Random(0), list[str]()
    for doc_id in draw.sample(list(texts), len(texts)):
        long = [part for part in re.split(r"(?<=[.!?])\s+", texts[doc_id]) if len(part.split()) >= FEWEST_WORDS]
        sentences += draw.sample(long, min(1, len(long)))
        if len(sentences) == count:
            break
    return [rows for rows in dataset.indexed_collection().encoder.encode_queries(sentences) if len(rows)]


def _halves(cells: dict[tuple[int, float], SplitResults], documents: int) -> Table:
    rows: list[list[Cell]] = []
    for (k, target), found in cells.items():
        own, quantiles = found.mean, np.quantile(found.overlaps, [0.05, 0.95]).tolist()
        below = float(np.mean([overlap < target for overlap in found.overlaps]))
        deep = float(np.mean(found.depths))
        rows.append([k, target, own.value, own.low, own.high, *quantiles, below, deep, deep / documents])
    columns = [Column("K"), Column("promised", "g"), Column("mean overlap", ".4f"), Column("low", ".4f")]
    columns += [Column("high", ".4f"), Column("5 % quantile", ".3f"), Column("95 % quantile", ".3f")]
    columns += [Column("splits below", ".0%"), Column("documents followed up", ",.0f"), Column("of all", ".1%")]
    note = (
        "What is promised is the mean over all ways to split. A single half may be below: its test queries may be "
        "the harder ones."
    )
    return Table("Promise and overlap", columns, rows, note=note)


def _sentences(own: Ranks, real: Ranks) -> Table:
    rows: list[list[Cell]] = []
    for k in ks_of(real):
        for target in targets_of(real):
            row: list[Cell] = [k, target, depth(real, k, Calibrated(target).target)]
            for ranks in (own, own[:, 1:]):
                deep = max(k, depth(ranks, k, Calibrated(target).target))
                found = mean((real[:, :k] <= deep).mean(axis=1).tolist())
                row += [deep, found.value, found.low, found.high]
            rows.append(row)
    columns = [Column("K"), Column("promised", "g"), Column("n by the queries", ",d")]
    for words in ("n by sentences", "n by sentences, own document left out"):
        columns += [Column(words, ",d"), Column("overlap", ".4f"), Column("low", ".4f"), Column("high", ".4f")]
    note = (
        f"n: documents followed up. Calibrated on {len(own)} sentences of the documents, one each, and measured on all "
        "queries. The first hit of a sentence is nearly always the document it was taken from, which no tier misses: "
        "the last columns count from the second hit on."
    )
    return Table("Own sentences against real queries", columns, rows, note=note)
