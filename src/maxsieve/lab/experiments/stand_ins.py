"""Sentences of the documents in place of queries: how far real queries are from the overlap that sentences promise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from maxsieve import Calibrated
from maxsieve.calibrate import Wanted, calibrate
from maxsieve.calibrated import depth_at_least
from maxsieve.index import to_rows
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, ensure_codebook
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import Mean, mean
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.searcher import LocalSearcher
from maxsieve.storage.calibration import Calibration, Origin, depth_of, queries_needed
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text import Collection
from maxsieve.text.collection.sentences import OWN_SENTENCES, encode, own_sentences

KS = (1, 10, 100)
TARGETS = (0.9, 0.95, 0.99)
DRAWN, QUICK_DRAWN = 2000, 300
"""How many sentences are drawn. A calibration takes `OWN_SENTENCES` of them."""
KEYWORDS, KEYWORD_QUERIES = (1, 2, 3), 300
"""Words in a row, from so many of the queries: what people type who do not write sentences."""
DRAWS = 200
"""How many calibrations are made from random choices of the sentences."""


def stand_ins(dataset: Dataset, options: Options) -> ExperimentResult:
    """A row for each K and target. It calibrates a copy of what `maxsieve index` makes."""
    asked = dataset.texts("drawing sentences").queries
    data, collection = dataset.as_indexed().first(options.count), dataset.indexed_collection()
    index = data.with_documents(data.ids, store=data.index.store).index
    ensure_codebook(index, progress=options.progress)
    snapshot = index.storage.snapshot.here
    wanted = QUICK_DRAWN if options.quick else DRAWN
    texts = own_sentences(collection.index.storage.snapshot.here, wanted=wanted)
    sentences = [rows for rows in encode(texts, collection.encoder, progress=options.progress) if len(rows)]
    real = measured_on(data, snapshot, list(data.queries.values()), "queries", options)
    own = measured_on(data, snapshot, sentences, "own sentences", options)
    count = min(OWN_SENTENCES, len(sentences))
    targets = [target for target in TARGETS if count >= queries_needed(Calibrated(target).target)]
    found = {(k, target): compared(own, real, k, target, count) for k in KS if k <= real.k for target in targets}
    below = [f"{target:g} at K = {k}" for (k, target), (_, _, one, _) in found.items() if one.high < target]
    rows: list[list[Cell]] = [
        [k, target, *depths, one.value, one.low, one.high, float(np.quantile(means, 0.05))]
        for (k, target), (*depths, one, means) in found.items()
    ]
    tables = [_keywords(collection, data, snapshot, own, [asked[query] for query in data.queries], options)]
    columns = [Column("K"), Column("promised", "g"), Column("n by the queries", ",d"), Column("n by sentences", ",.0f")]
    columns += [Column("mean overlap", ".4f"), Column("low", ".4f"), Column("high", ".4f")]
    note = (
        f"n: passages followed up. Each of {DRAWS} calibrations takes {count} of {len(sentences):,} sentences at "
        "random; the overlap is that of all queries, on average over queries and calibrations, with its 95 % interval "
        "over queries. In the last column, the mean over queries is lower for one calibration in 20."
    )
    return ExperimentResult(
        "stand-ins",
        data.name,
        f"`Calibrated` is calibrated on sentences of the documents and measured on real queries; "
        f"{data.extent(documents=True)}.",
        [Table("Sentences against real queries", [*columns, Column("5 % quantile", ".4f")], rows, note=note), *tables],
        remarks=[
            f"Beyond its 95 % interval, the mean overlap of real queries is below the target for {', '.join(below)}."
            if below
            else f"The mean overlap of real queries reaches the target, within its 95 % interval, in all {len(rows)} "
            "cells."
        ],
    )


def _keywords(
    collection: Collection, data: Embedded, snapshot: Snapshot, own: Calibration, asked: list[str], options: Options
) -> Table:
    """What a few words of a query find at the largest target, for which there are enough sentences."""
    draw, count = random.Random(0), min(OWN_SENTENCES, own.n_queries)
    target = max(target for target in TARGETS if count >= queries_needed(Calibrated(target).target))
    ks, lengths = [k for k in KS if k <= own.k], own.lengths[:count]  # as many as a collection takes
    rows: list[list[Cell]] = []
    for words in KEYWORDS:
        texts = dict.fromkeys(_some_words(text, words, draw) for text in asked[:KEYWORD_QUERIES])
        queries = [query for query in encode(list(texts), collection.encoder, progress=False) if len(query)]
        real = measured_on(data, snapshot, queries, "queries", options)
        usual = np.mean((real.lengths >= lengths.min()) & (real.lengths <= lengths.max()))
        rows.append([words, len(queries), float(usual), *(compared(own, real, k, target, count)[2].value for k in ks)])
    columns = [Column("words"), Column("queries", ",d"), Column("as long as a sentence", ".0%")]
    columns += [Column(f"overlap, K = {k}", ".4f") for k in ks]
    note = (
        f"The mean overlap by Calibrated({target:g}). Without a policy, a query that has fewer or more tokens than all "
        f"sentences is answered exactly. (Tokens of {count} sentences: {lengths.min()} to {lengths.max()}.)"
    )
    return Table("Some words of the queries", columns, rows, note=note)


def _some_words(text: str, count: int, draw: random.Random) -> str:
    """Words in a row, at random."""
    words = text.split()
    first = draw.randrange(max(1, len(words) - count + 1))
    return " ".join(words[first : first + count])


def measured_on(
    data: Embedded, snapshot: Snapshot, queries: Sequence[F32], origin: Origin, options: Options
) -> Calibration:
    """What a calibration measures on these queries."""
    wanted = Wanted(to_rows(queries, snapshot.layout), KS[-1], origin)
    with options.bar(f"searching {origin}", len(queries)) as advance:
        return calibrate(snapshot, LocalSearcher(), wanted, data.keys.group_by, advance)


def compared(
    own: Calibration, real: Calibration, k: int, target: float, count: int
) -> tuple[int | None, float, Mean, NDArray[np.float64]]:
    """The depth by the queries, the mean depth by sentences, the overlap of the queries, and that of each draw."""
    overlap, kind = Calibrated(target).target, [*real.hits][-1]
    grouped = kind != "documents"
    ranks = _ranks(real, k, overlap, kind)
    sentences = _ranks(own, k, overlap, kind)
    rng = np.random.default_rng(0)
    depths = [
        depth_at_least(
            depth_of(sentences[rng.choice(len(sentences), count, replace=False)], k, overlap), k, grouped=grouped
        )
        for _ in range(DRAWS)
    ]
    found = np.array([(ranks[:, :k] <= depth).mean(axis=1) for depth in depths])
    by_queries = None
    if real.enough_for(overlap):
        by_queries = min(depth_at_least(depth_of(ranks, k, overlap), k, grouped=grouped), real.documents)
    followed = float(np.minimum(depths, own.documents).mean())
    return by_queries, followed, mean(found.mean(axis=0).tolist()), found.mean(axis=1)


def _ranks(made: Calibration, k: int, overlap: Fraction, kind: str) -> NDArray[np.int64]:
    """The ranks [queries, hits] of hits that count, by the walk for a top k and a target."""
    best = made.hits[kind]
    return best.counted(best.ranks[made.walk(k, overlap)], made.origin)
