"""nDCG@10 of late interaction beside BM25 and a single vector of the same model."""

from __future__ import annotations

import numpy as np

from maxsieve.lab.embedded import F32, Embedded
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.metrics.interval import difference, mean
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.source import Source
from maxsieve.text import BM25, load_encoder
from maxsieve.text.encoder import unit_rows

MEASURE = "nDCG@10"
DEPTH = 10
FIRST_STAGE = 100


def run(source: Source, options: Options) -> Result:
    """A row for each way to search."""
    corpus = source.texts("retrieval")
    dims = sorted({source.dim, load_encoder(source.encoder).dim})
    source.embed(dims)
    full = source.embedded(dims[-1]).first(options.count)
    texts = {query: corpus.queries[query] for query in full.queries}
    bm25 = BM25.of(source.collection(dims[0]))
    lexical = {query: [str(one) for one in bm25(text, FIRST_STAGE)] for query, text in texts.items()}
    runs = {"BM25 (bm25s)": lexical, "one vector (mean of the token vectors)": _single(full)}
    for dim in dims:
        data = source.embedded(dim).first(options.count)
        runs[f"late interaction, {data.encoder}"] = data.truth(DEPTH, threads=options.cores)
        runs[f"BM25's best {FIRST_STAGE}, then late interaction, {data.encoder}"] = _staged(data, lexical)
    return _result(full, runs)


def _result(data: Embedded, runs: dict[str, dict[str, list[str]]]) -> Result:
    scores = {}
    for name, answers in runs.items():
        unwanted = {query: data.exclusions.get(query, []) for query in answers}
        kept = {query: [one for one in found if one not in unwanted[query]] for query, found in answers.items()}
        scores[name] = list(data.quality(kept, [MEASURE])[MEASURE].values())
    lexical, single = list(scores)[:2]
    rows: list[list[Cell]] = []
    for name, values in scores.items():
        own, ahead = mean(values), difference(values, scores[lexical])
        rows.append([name, own.value, own.low, own.high, ahead.value, ahead.low, ahead.high])
    columns = [Column("search"), Column(MEASURE, ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    columns += [Column("ahead of BM25", "+.3f"), Column("low", "+.3f"), Column("high", "+.3f")]
    best = max(float(np.mean(values)) for name, values in scores.items() if name.startswith("late"))
    rivals = {name: float(np.mean(scores[name])) for name in (lexical, single)}
    words = [f"{'ahead of' if best > value else 'behind'} {name} ({value:.3f})" for name, value in rivals.items()]
    return Result(
        "retrieval",
        data.name,
        f"{MEASURE} over {len(scores[lexical])} queries, with 95 % bootstrap intervals; documents that a query must "
        "not find (itself) are left out.",
        [Table(f"{MEASURE}", columns, rows)],
        remarks=[f"Late interaction at its best, {best:.3f}, is {' and '.join(words)}."],
    )


def _single(data: Embedded) -> dict[str, list[str]]:
    ids = [str(one) for one in data.index.ids]
    documents = unit_rows(np.array([_centre(data.vectors(one), data.index.dim) for one in ids]))
    queries = np.array([_centre(rows, data.index.dim) for rows in data.queries.values()])
    order = np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, : DEPTH + 1]
    return {query: [ids[place] for place in places] for query, places in zip(data.queries, order.tolist(), strict=True)}


def _centre(rows: F32, dim: int) -> F32:
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(dim), np.float32)


def _staged(data: Embedded, candidates: dict[str, list[str]]) -> dict[str, list[str]]:
    hits = data.index.search_many(
        list(data.queries.values()), DEPTH + 1, candidates=[candidates[query] for query in data.queries]
    )
    return {query: [str(one) for one in found.ids] for query, found in zip(data.queries, hits, strict=True)}


EXPERIMENT = Experiment("retrieval", "nDCG@10 of late interaction, BM25 and a single vector.", run)
