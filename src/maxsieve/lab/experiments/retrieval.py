"""Full and reduced vectors of a corpus of texts: how well they retrieve, beside BM25 and a single vector, and sieve."""

from __future__ import annotations

import numpy as np

from maxsieve import Bandit, Certified
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Answers, Embedded, answers_of, mean_coverage, mean_rescored, to_strings
from maxsieve.lab.experiment import Options
from maxsieve.lab.experiments.pareto import cheapest
from maxsieve.lab.metrics.confidence import difference, mean
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.lab.sweep import bandit_points
from maxsieve.text import BM25
from maxsieve.text.encoder import unit_rows

MEASURE = "nDCG@10"
DEPTH = 10
FIRST_STAGE = 100
K = 5


def retrieval(dataset: Dataset, options: Options) -> Result:
    """nDCG@10 of late interaction beside BM25 and a single vector of the same model: a row for each way to search."""
    corpus = dataset.texts("retrieval")
    dims = _dims(dataset)
    full = dataset.embedded(dims[-1]).first(options.count)
    bm25 = BM25.of(dataset.collection(dims[0]))
    lexical = {query: [str(one) for one in bm25(corpus.queries[query], FIRST_STAGE)] for query in full.queries}
    runs = {"BM25 (bm25s)": lexical, "one vector (mean of the token vectors)": _single(full)}
    for dim in dims:
        data = dataset.embedded(dim).first(options.count)
        runs[f"late interaction, {data.encoder}"] = data.truth(DEPTH, threads=options.cores)
        runs[f"BM25's best {FIRST_STAGE}, then late interaction, {data.encoder}"] = _staged(data, lexical)
    return _result(full, runs)


def _dims(dataset: Dataset) -> list[int]:
    """The dimensions asked for and the encoder's own, for which vectors are made in one go."""
    dims = sorted({dataset.dim, dataset.loaded_encoder.dim})
    dataset.embed(dims)
    return dims


def _result(data: Embedded, runs: dict[str, Answers]) -> Result:
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


def _single(data: Embedded) -> Answers:
    documents = unit_rows(np.array([_centre(data.vectors(one), data.index.dim) for one in data.ids]))
    queries = np.array([_centre(rows, data.index.dim) for rows in data.queries.values()])
    order = np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, : DEPTH + 1]
    return {
        query: [data.ids[place] for place in places] for query, places in zip(data.queries, order.tolist(), strict=True)
    }


def _centre(rows: F32, dim: int) -> F32:
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(dim), np.float32)


def _staged(data: Embedded, candidates: Answers) -> Answers:
    named = [candidates[query] for query in data.queries]
    hits = data.index.search_many(list(data.queries.values()), DEPTH + 1, candidates=named)
    return {query: to_strings(found) for query, found in zip(data.queries, hits, strict=True)}


def encoders(dataset: Dataset, options: Options) -> Result:
    """The sieve's figures, a row for each set of vectors: reduced by the collection's projection, and full width."""
    dataset.texts("encoders")
    rows = [_row(dataset.embedded(dim).first(options.count), options) for dim in _dims(dataset)]
    columns = [Column("vectors"), Column(MEASURE, ".3f"), Column("Bandit 0.2 coverage", ".1%")]
    columns += [Column(f"Bandit 0.2 Ov@{K}", ".3f"), Column("coverage for 95%", ".1%")]
    columns += [Column("Certified rescored", ".1f"), Column("bytes per token", ".0f")]
    data = dataset.embedded().first(options.count)
    summary = f"K = {K}, {len(data.queries)} queries; {MEASURE} of exhaustive scoring."
    return Result("encoders", data.name, summary, [Table("Two sets of vectors", columns, rows)])


def _row(data: Embedded, options: Options) -> list[Cell]:
    truth = data.truth(DEPTH, threads=options.cores)
    scores = data.quality(truth, [MEASURE])[MEASURE]
    bandit = data.search(K, Bandit(0.2), threads=options.cores)
    point = cheapest(bandit_points(data, K, options), truth, K, 0.95)
    certified = data.search(K, Certified(), threads=options.cores)
    return [
        data.encoder,
        mean(list(scores.values())).value,
        mean_coverage(bandit),
        mean(overlaps(answers_of(bandit), truth, K)).value,
        point.coverage if point else None,
        mean_rescored(certified),
        data.index.nbytes / data.index.tokens,
    ]
