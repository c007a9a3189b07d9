"""Retrieval quality on a corpus of texts: the default, fewer dimensions, BM25, one vector, hybrid search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maxsieve import Bandit, Certified
from maxsieve.ids import Id
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, answers_of, mean_coverage, mean_rescored
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.pareto import cheapest
from maxsieve.lab.hybrids import Hybrids, Rankings, cross_fitted
from maxsieve.lab.metrics.confidence import comparison_table, difference, mean
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.metrics.sentences import compared
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.lab.sweep import bandit_points
from maxsieve.text.encoders.encoder import unit_rows

MEASURE = "nDCG@10"
DEPTH = 10
FIRST_STAGE = 100
K = 5
WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Weights of BM25 to choose from."""
DEFAULT, STEMMED, SINGLE = "the default", "stemmed BM25", "one vector"


def retrieval(dataset: Dataset, options: Options) -> ExperimentResult:
    """nDCG@10 of a collection with default options, BM25, a single vector of the same model, and hybrid search."""
    corpus = dataset.texts("retrieval")
    *reduced, full = [dataset.embedded(dim).first(options.count) for dim in _dims(dataset)]
    width = dataset.loaded_encoder.dim
    default = dataset.as_indexed(width).first(options.count)
    words = dataset.indexed_collection(width).bm25.scores([corpus.queries[query] for query in full.queries])
    unwanted: list[list[Id]] = [[*corpus.exclusions.get(query, [])] for query in full.queries]
    lexical = [own.among(None, ids) for own, ids in zip(words, unwanted, strict=True)]
    hybrids = Hybrids(default, lexical, FIRST_STAGE, options.cores)

    def values(answers: Rankings) -> list[float]:
        found = dict(zip(full.queries, answers, strict=True))
        return list(full.quality(found, [MEASURE])[MEASURE].values())

    own, wholes = values(hybrids.late(DEPTH)), _wholes(full)
    weights = {0.0: own, **{weight: values(hybrids.fused(weight, DEPTH)) for weight in WEIGHTS}}
    fitted, chosen = cross_fitted(weights)
    searches = {f"{DEFAULT}: late interaction, {_vectors(default)}": own}
    for data in (*reduced, full):
        found = answers_of(data.search(DEPTH, Certified(), threads=options.cores))
        searches[f"late interaction, {_vectors(data)}"] = values(list(found.values()))
    searches |= {
        STEMMED: values(hybrids.lexical(DEPTH)),
        SINGLE: values(_single(full, wholes, unwanted)),
        f"late interaction's best {FIRST_STAGE}, ordered by it and {SINGLE}": values(
            _both(full, wholes, options.cores)
        ),
        "hybrid, reciprocal rank": values(hybrids.fused("rrf", DEPTH)),
        "hybrid, a weight that other queries chose": fitted,
        f"BM25's best {FIRST_STAGE}, then {DEFAULT}": values(hybrids.staged(DEPTH)),
    }
    return ExperimentResult(
        "retrieval",
        dataset.name,
        f"{MEASURE} over {len(fitted)} queries, with 95 % bootstrap intervals of means, and of differences query by "
        "query; documents that a query must not find (itself) are left out. One vector is the mean of a text's token "
        f"vectors. Hybrid is {DEFAULT} and BM25 fused, by ranks or by a weight; each half of the queries gets the "
        "weight that is best for the other.",
        [
            comparison_table(MEASURE, MEASURE, searches, STEMMED),
            _weights(weights),
        ],
        remarks=_remarks(searches, weights, chosen),
    )


def _vectors(data: Embedded) -> str:
    return f"d = {data.index.dim}, {data.index.store}" + ", passages" * data.keys.passages


def _weights(weights: dict[float, list[float]]) -> Table:
    named = {f"{weight:g}" if weight else DEFAULT: values for weight, values in weights.items()}
    table = comparison_table("Hybrid search, by the weight of BM25", MEASURE, named, DEFAULT)
    note = "Over all queries, to choose a weight from: what a chosen one is worth is in the table above."
    return replace(table, columns=[Column("weight"), *table.columns[1:]], note=note)


def _remarks(
    searches: dict[str, list[float]], weights: dict[float, list[float]], chosen: tuple[float, float]
) -> list[str]:
    """Remarks that the intervals support, about the default first."""
    first, *others = searches
    pairs = [(first, rival) for rival in (STEMMED, SINGLE)]
    for name in others:
        if name not in (STEMMED, SINGLE):
            pairs += [(name, first), (name, STEMMED)]
    remarks = [_compared(searches, *pair) for pair in pairs]
    best = max(weights, key=lambda weight: np.mean(weights[weight]))
    advice = f"`search(..., hybrid={best:g})`" if best else "leave `hybrid` out"
    said = f"The weights that the halves of the queries chose are {chosen[0]:g} and {chosen[1]:g}; all of them choose"
    return [*remarks, f"{said} {best:g}: {advice}."]


def _compared(searches: dict[str, list[float]], method: str, other: str) -> str:
    names = method, other.partition(":")[0]
    first, second = (f"{name} ({np.mean(searches[key]):.3f})" for name, key in zip(names, (method, other), strict=True))
    said = compared(first, second, difference(searches[method], searches[other]))
    return f"{said[0].upper()}{said[1:]}."


def _dims(dataset: Dataset) -> list[int]:
    """The requested dimensions and the encoder's own, so that texts are encoded once for both."""
    dims = sorted({dataset.dim, dataset.loaded_encoder.dim})
    dataset.embed(dims)
    return dims


def _wholes(data: Embedded) -> tuple[F32, F32]:
    """One vector for each query and for each text: the mean of its token vectors, scaled to unit length."""
    queries = [_centre(rows, data.index.dim) for rows in data.queries.values()]
    documents = [_centre(data.vectors(doc_id), data.index.dim) for doc_id in data.ids]
    return unit_rows(np.array(queries)), unit_rows(np.array(documents))


def _single(data: Embedded, wholes: tuple[F32, F32], unwanted: Sequence[Sequence[Id]]) -> Rankings:
    """The best texts by one vector each."""
    queries, documents = wholes
    most = max(map(len, unwanted), default=0)
    order = np.argsort(-(queries @ documents.T), axis=1, kind="stable")
    ranked = [[data.ids[place] for place in places] for places in order[:, : DEPTH + most].tolist()]
    return [
        [doc_id for doc_id in found if doc_id not in own][:DEPTH] for found, own in zip(ranked, unwanted, strict=True)
    ]


def _both(data: Embedded, wholes: tuple[F32, F32], cores: int | None) -> Rankings:
    """The best texts by late interaction, ordered as `maxsieve grep` orders passages."""
    places = {doc_id: place for place, doc_id in enumerate(data.ids)}
    found = data.search(FIRST_STAGE, Certified(), threads=cores)
    ranked = []
    for query, hits in zip(wholes[0], found.values(), strict=True):
        ids = [str(doc_id) for doc_id in hits.ids]
        similar = wholes[1][[places[doc_id] for doc_id in ids]] @ query
        scores = hits.scores / hits.query_tokens + similar
        ranked.append([ids[place] for place in np.argsort(-scores, kind="stable")[:DEPTH].tolist()])
    return ranked


def _centre(rows: F32, dim: int) -> F32:
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(dim), np.float32)


def encoders(dataset: Dataset, options: Options) -> ExperimentResult:
    """The sieve's figures, a row for each set of vectors: reduced by the collection's projection, and full width."""
    dataset.texts("encoders")
    rows = [_row(dataset.embedded(dim).first(options.count), options) for dim in _dims(dataset)]
    columns = [Column("vectors"), Column(MEASURE, ".3f"), Column("Bandit 0.2 coverage", ".1%")]
    columns += [Column(f"Bandit 0.2 Ov@{K}", ".3f"), Column("coverage for 95%", ".1%")]
    columns += [Column("Certified rescored", ".1f"), Column("bytes per token", ".0f")]
    data = dataset.embedded().first(options.count)
    summary = f"K = {K}, {len(data.queries)} queries; {MEASURE} of exhaustive scoring."
    return ExperimentResult("encoders", data.name, summary, [Table("Two sets of vectors", columns, rows)])


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
