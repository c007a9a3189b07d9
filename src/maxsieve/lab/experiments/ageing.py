"""How calibrations and codebooks age when documents are added, usual and unusual ones, and when they are deleted."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from maxsieve import Calibrated, Index
from maxsieve.ids import Id
from maxsieve.index import to_rows
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, ensure_codebook
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.guarantee import (
    QUICK_SPLITS,
    SPLITS,
    Ranks,
    ks_of,
    measured,
    ranks_for,
    ranks_of,
    targets_of,
)
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.options import PerQuery, SearchOptions
from maxsieve.searcher import LocalSearcher
from maxsieve.spec import INFINITE, depth
from maxsieve.storage.calibration import Calibration
from maxsieve.storage.snapshot import Snapshot

GROWN = (1.1, 2.0, 10.0)
"""How many times the documents there are after the others were added."""
LEFT = (0.9, 0.5)
"""Shares of the documents that are left after deletion."""


def ageing(dataset: Dataset, options: Options) -> ExperimentResult:
    """A table of calibrations after changes, and one of old codebooks."""
    data = dataset.as_indexed().first(options.count)
    queries = list(data.queries.values())
    targets = targets_of(queries)
    splits = QUICK_SPLITS if options.quick else SPLITS
    changed: list[list[Cell]] = []
    aged: list[list[Cell]] = []
    orders = {"at random": random.Random(0).sample(data.ids, len(data.ids)), "unusual": unusual_last(data)}

    whole = data.with_documents(orders["at random"], store=data.index.store).index
    ensure_codebook(whole, progress=options.progress)
    fresh = ranks_of(whole.storage.snapshot.here, queries, options)
    aged.append(["all", _centroids(whole), *_depths(fresh, targets)])
    for kind, order in orders.items():
        for grown in GROWN:
            early = order[: max(2, round(len(order) / grown))]
            index = data.with_documents(early, store=data.index.store).index
            ensure_codebook(index, progress=options.progress)
            before = ranks_of(index.storage.snapshot.here, queries, options)
            late = order[len(early) :]
            index.add((data.vectors(doc_id) for doc_id in late), late)
            index.compact()
            snapshot = index.storage.snapshot.here
            after = ranks_of(snapshot, queries, options)
            words = f"{len(late) / len(early):.0%} added, {kind}"
            for k in ks_of(before):
                changed.append([words, k])
                for target in targets:
                    old = old_ranks(snapshot, set(early), after, queries, k, target)
                    changed[-1] += _overlaps(before, old, after, k, target, splits)
            if kind == "at random":
                aged.append([f"{1 / grown:.0%}", _centroids(index), *_depths(after, targets)])
    for share in LEFT:
        changed += _deleted(data, orders["at random"], share, queries, options, splits)
    return ExperimentResult(
        "ageing",
        data.name,
        f"Documents are added to an index, or deleted from it, after it was calibrated: at random, or those that are "
        f"least like the others. {splits} random splits of the queries; {data.extent(documents=True)}.",
        [_change_table(changed, targets), _book_table(aged, fresh, targets)],
    )


def unusual_last(data: Embedded) -> list[str]:
    """The documents, those whose mean vectors point furthest along the main direction of all last."""
    means = np.array([data.vectors(doc_id).astype(np.float64).mean(axis=0) for doc_id in data.ids])
    _, _, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return [data.ids[i] for i in np.argsort(means @ directions[0], kind="stable")]


def old_ranks(
    snapshot: Snapshot, early: set[str], after: Calibration, queries: Sequence[F32], k: int, target: float
) -> Ranks:
    """The ranks among the early documents of each query's true best hits now; 0 for a later document.

    Later documents are all followed up, until the calibration is brought up to date.
    """
    best = after.hits["documents"].ids or []
    mask = np.array([id in early for id in snapshot.ids_in_order()])
    options = SearchOptions(k, candidates=PerQuery([mask]))
    search = LocalSearcher().prepare(snapshot, to_rows(queries, snapshot.layout), options)
    wanted: list[tuple[int, list[Id]]] = [
        (query, [id for id in ids[:k] if id in early]) for query, ids in enumerate(best)
    ]
    found = np.zeros((len(best), k), np.int64)
    walk = after.walks[after.walk(k, Calibrated(target).target)]
    for (query, ids), ranks in zip(wanted, search.ranks(wanted, walk), strict=True):
        places = {id: int(rank) for id, rank in zip(ids, ranks, strict=True)}
        found[query] = [places.get(id, 0) for id in best[query][:k]]
    return found


def _overlaps(before: Calibration, old: Ranks, after: Calibration, k: int, target: float, splits: int) -> list[Cell]:
    """At once, after an update, and if only n documents of all were followed up."""
    first, last = ranks_for(before, k, target), ranks_for(after, k, target)
    return [
        measured(first, old, k, target, splits).mean.value,
        measured(last, last, k, target, splits).mean.value,
        measured(first, last, k, target, splits).mean.value,
    ]


def _deleted(
    data: Embedded, order: Sequence[str], share: float, queries: Sequence[F32], options: Options, splits: int
) -> list[list[Cell]]:
    """A row for each K: the hits that are left, by the ranks that they had."""
    index = data.with_documents(list(order), store=data.index.store).index
    ensure_codebook(index, progress=options.progress)
    before = ranks_of(index.storage.snapshot.here, queries, options)
    index.delete(list(order[round(share * len(order)) :]))
    after = ranks_of(index.storage.snapshot.here, queries, options)
    rows: list[list[Cell]] = []
    for k in ks_of(before if before.k < after.k else after):
        rows.append([f"{1 - share:.0%} deleted", k])
        for target in targets_of(queries):
            first, last = ranks_for(before, k, target), ranks_for(after, k, target)
            struck = np.full((len(first), k), INFINITE)
            for query, ids in enumerate(before.hits["documents"].ids or []):
                left = [rank for id, rank in zip(ids, first[query].tolist(), strict=True) if id in index][:k]
                struck[query, : len(left)] = left
            at_once = measured(struck, last, k, target, splits).mean.value
            rows[-1] += [at_once, measured(last, last, k, target, splits).mean.value, None]
    return rows


def _centroids(index: Index) -> int:
    book = index.storage.snapshot.codebook
    assert book is not None
    return book.centroids


def _depths(made: Calibration, targets: Sequence[float]) -> list[Cell]:
    target = Calibrated(targets[-1]).target
    return [min(depth(ranks_for(made, k, targets[-1]), k, target), made.documents) for k in ks_of(made)]


def _change_table(rows: list[list[Cell]], targets: Sequence[float]) -> Table:
    columns = [Column("documents"), Column("K")]
    for target in targets:
        columns += [Column(f"{target:g} at once", ".4f"), Column(f"{target:g} updated", ".4f")]
        columns.append(Column(f"{target:g} by n alone", ".4f"))
    note = (
        "Mean overlap after the change. At once: calibrated before it; new documents are all followed up, and deleted "
        "hits are struck. Updated: the calibration was brought up to date. By n alone: as if new documents were not "
        "followed up, which is what the guarantee would not survive."
    )
    return Table("Calibrations after a change", columns, rows, note=note)


def _book_table(rows: list[list[Cell]], made: Calibration, targets: Sequence[float]) -> Table:
    columns = [Column("learnt from"), Column("centroids", ",d")]
    columns += [Column(f"n for {targets[-1]:g}, K = {k}", ",d") for k in ks_of(made)]
    note = "Learnt from a share of the documents, then used for all. n: documents to follow up, by all queries."
    return Table("Old codebooks", columns, rows, note=note)
