"""How calibrations and codebooks age when documents are added and deleted, and how large a codebook should be."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from maxsieve import Calibrated, _core
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.guarantee import (
    QUICK_SPLITS,
    SPLITS,
    Ranks,
    kept,
    ks_of,
    ranks_by_tier0,
    targets_of,
)
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.spec import depth
from maxsieve.storage.codebook import MOST, SAMPLE, SEED, Codebook, centroids_for, spread_sample
from maxsieve.storage.snapshot import Snapshot

THERE = (0.9, 0.8, 0.5, 0.25)
"""Shares of the documents that the index starts with; the others are added."""
LEFT = (0.9, 0.8, 0.5)
"""Shares of the documents that are left after deletion."""
SIZES = (0.5, 1.0, 2.0)
"""Sizes of a codebook, relative to the default."""
TIMED, ROUNDS = 20, 3
"""How many queries are timed, and how often; the fastest run counts."""


def ageing(dataset: Dataset, options: Options) -> ExperimentResult:
    """A table of calibrations, one of old codebooks and one of codebooks by size."""
    data = dataset.as_indexed().first(options.count)
    order = random.Random(0).sample(data.ids, len(data.ids))
    queries = list(data.queries.values())
    changed: list[list[Cell]] = []
    aged: list[list[Cell]] = []
    splits = QUICK_SPLITS if options.quick else SPLITS

    whole = data.with_documents(order, store=data.index.store).index
    whole.train_codebook(progress=options.progress)
    snapshot = whole.storage.snapshot.here
    fresh = ranks_by_tier0(snapshot, queries, options)
    aged.append(_aged(1.0, snapshot, fresh))
    sizes = [_sized(snapshot, round(size * centroids_for(whole.tokens)), queries, options) for size in SIZES]
    for share in THERE:
        early = order[: max(1, round(share * len(order)))]
        index = data.with_documents(early, store=data.index.store).index
        index.train_codebook(progress=options.progress)
        snapshot = index.storage.snapshot.here
        before, old = ranks_by_tier0(snapshot, queries, options), snapshot.n_searchable
        late = order[len(early) :]
        index.add((data.vectors(doc_id) for doc_id in late), late)
        snapshot = index.storage.snapshot.here
        after, grown = ranks_by_tier0(snapshot, queries, options), snapshot.n_searchable / old
        changed += _changed(f"{grown - 1:.0%} added", before, after, grown, splits)
        aged.append(_aged(share, snapshot, after))
    for share in LEFT:
        gone = [doc_id for doc_id in order[round(share * len(order)) :] if doc_id in whole]
        whole.delete(gone)
        after = ranks_by_tier0(whole.storage.snapshot.here, queries, options)
        changed += _changed(f"{1 - share:.0%} deleted", fresh, after, 1.0, splits)
    return ExperimentResult(
        "ageing",
        data.name,
        f"Documents are added to an index, or deleted from it, at random after it was calibrated; {splits} random "
        f"splits of the queries; {data.extent(documents=True)}.",
        [_change_table(changed, fresh), _book_table("Old codebooks", aged, fresh), _size_table(sizes, fresh)],
    )


def _changed(words: str, before: Ranks, after: Ranks, growth: float, splits: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    targets = targets_of(before)
    for k in ks_of(before if before.shape[1] < after.shape[1] else after):
        found = [kept(before, after, k, target, splits, growth).mean for target in targets]
        held = all(overlap.high >= target for overlap, target in zip(found, targets, strict=True))
        unchanged = kept(before, after, k, targets[-1], splits).mean.value if growth != 1 else None
        rows.append([words, k, *(overlap.value for overlap in found), held, unchanged])
    return rows


def _change_table(rows: list[list[Cell]], ranks: Ranks) -> Table:
    targets = targets_of(ranks)
    columns = [Column("documents"), Column("K"), *(Column(f"overlap for {target:g}", ".4f") for target in targets)]
    columns += [Column("all kept"), Column(f"{targets[-1]:g} with n as it was", ".4f")]
    note = (
        "Calibrated before the change and measured after it. n, the documents followed up, grows in proportion to the "
        "documents, but in the last column. Kept: within the 95 % interval of the mean over splits."
    )
    return Table("Calibrations after a change", columns, rows, note=note)


def _depths(ranks: Ranks) -> list[Cell]:
    target = Calibrated(targets_of(ranks)[-1]).target
    return [depth(ranks, k, target) for k in ks_of(ranks)]


def _aged(share: float, snapshot: Snapshot, ranks: Ranks) -> list[Cell]:
    assert snapshot.codebook is not None
    return [share, snapshot.codebook.centroids, *_depths(ranks)]


def _book_columns(ranks: Ranks) -> list[Column]:
    return [Column(f"n for {targets_of(ranks)[-1]:g}, K = {k}", ",d") for k in ks_of(ranks)]


def _book_table(title: str, rows: list[list[Cell]], ranks: Ranks) -> Table:
    columns = [Column("learnt from", ".0%"), Column("centroids", ",d"), *_book_columns(ranks)]
    note = "Learnt from a share of the documents, then used for all. n: documents to follow up, by all queries."
    return Table(title, columns, rows, note=note)


def _sized(snapshot: Snapshot, centroids: int, queries: list[F32], options: Options) -> list[Cell]:
    """A codebook of another size: its depths, and the milliseconds of its table and scan."""
    coded = with_centroids(snapshot, min(MOST, centroids), options.cores)
    ranks = ranks_by_tier0(coded, queries, options)
    seconds: list[list[float]] = []
    for rows in queries[:TIMED]:
        policy = _core.Calibrated(1, coded.mean_length)
        runs = [
            _core.search(coded.corpus, [rows], [coded.searchable], 1, policy, 1, False)[0].stages for _ in range(ROUNDS)
        ]
        seconds.append([min(run[stage] for run in runs) for stage in ("table", "tier 0")])
    return [min(MOST, centroids), *_depths(ranks), *(1e3 * np.median(seconds, axis=0)).tolist()]


def _size_table(rows: list[list[Cell]], ranks: Ranks) -> Table:
    columns = [Column("centroids", ",d"), *_book_columns(ranks), Column("table, ms", ".3f"), Column("scan, ms", ".3f")]
    note = f"Medians over {TIMED} queries on one thread."
    return Table("Codebooks by size", columns, rows, note=note)


def with_centroids(snapshot: Snapshot, centroids: int, threads: int) -> Snapshot:
    """A snapshot without deleted documents, with a codebook of this many centroids instead of the default."""
    codes = np.concatenate([segment.codes for segment in snapshot.segments])
    scale = np.concatenate([np.repeat(segment.scale, segment.lengths) for segment in snapshot.segments])
    chosen = spread_sample(len(codes), min(len(codes), SAMPLE * centroids))
    made = _core.train(snapshot.dim, codes[chosen], scale[chosen], centroids, SEED, threads)
    book = Codebook(snapshot.dim, *made, len(codes))
    segments = [book.name_tokens(segment, threads) for segment in snapshot.segments]
    return replace(snapshot, segments=segments, codebook=book, calibration=None)
