"""The range of int8 codes, up to a document's largest value or clipped at a percentile; and stores of a few bits.

Every quantiser runs through the same simulation: codes with a scale and a proven residual for each document, the sieve
of `spec.bandit` on the proxies they give, and best-first rescoring by ``P_i + eps_i``. For ours that is what the engine
does. Stores of a few bits are decoded, and searched exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maxsieve import Certified, Index
from maxsieve.lab.codes import ABSMAX, PERCENTILE, CorpusCodes, limits, quantise_corpus
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, F64, Answers, Embedded, answers_of
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import difference, mean
from maxsieve.lab.metrics.quality import overlap, overlaps
from maxsieve.lab.metrics.sentences import compared
from maxsieve.lab.residuals import BITS, Residuals
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.spec import RevealModel, lane_sum, proxy_model, quantise_query, sieve, top_k

KS = (5, 10, 100)
QUICK_KS = (5,)
ALPHA = 0.2
DEPTH = 10
"""Hits that are compared for stores of a few bits."""
LARGEST_DIM = 1040
"""127^2 * 1040 < 2^24: products of codes add up exactly in float32, in any order."""
QUERY_TOKENS = 512
"""Rows of one matrix product."""


@dataclass(frozen=True)
class QuantiserFigures:
    """One query under one quantiser and K."""

    published: float
    """Overlap of the published Bandit, which treats proxies as exact cells, in the last round, too."""
    overlap: float
    """Overlap of our Bandit, whose last round widens bounds by ``eps_i``: it misses less, and rescores more."""
    coverage: float
    survivors: int
    """Documents that Bandit rescored."""
    rescored: int
    """Documents that Certified rescored."""


def quantisers(dataset: Dataset, options: Options) -> ExperimentResult:
    """A table of the codes, and one of the results of both policies."""
    data = dataset.embedded().first(options.count)
    if data.index.dim > LARGEST_DIM:
        raise ValueError(f"quantisers takes vectors of up to {LARGEST_DIM} dimensions, not {data.index.dim}")
    ks = QUICK_KS if options.quick else KS
    scores = {query: candidate_scores(data, query, options.cores) for query in data.queries}
    corpora: dict[str, CorpusCodes] = {}
    outcomes: dict[tuple[int, str], list[QuantiserFigures]] = {}
    broken: dict[str, int] = {}
    known = limits(data)
    with options.bar("simulating", len(data.queries) * len(known)) as advance:
        for name, limit in known.items():
            corpora[name], broken[name] = quantise_corpus(data, limit), 0
            for query, model, proxies in models(data, corpora[name]):
                broken[name] += int((np.abs(scores[query] - proxies) > model.eps).sum())
                for k in ks:
                    outcomes.setdefault((k, name), []).append(outcome(model, proxies, scores[query], k))
                advance(1)
    checked = sum(map(len, scores.values()))
    return ExperimentResult(
        "quantisers",
        data.name,
        "One int8 scale a document that reaches its largest value (ours), against scales that reach the "
        f"{PERCENTILE}th percentile of its magnitudes, or of the whole corpus's (the paper doesn't say which), with "
        "values beyond clipped; "
        f"Bandit({ALPHA:g}) and Certified; {data.extent(documents=True)}.",
        [_policies(outcomes), _codes(corpora, broken, checked), _few_bits(data, options)],
        remarks=_remarks(outcomes, ks),
    )


def models(data: Embedded, corpus: CorpusCodes) -> Iterator[tuple[str, RevealModel, F64]]:
    """For every query the input of the sieve, and the proxies of the candidates' scores."""
    for some in _groups(data.queries):
        coded = {query: quantise_query(data.queries[query]) for query in some}
        maxima = corpus.maxima(np.concatenate([y.codes for y in coded.values()]))
        first = 0
        for query, y in coded.items():
            kept = np.isin(data.searchable, data.candidates(query))
            own = maxima[kept, first : first + len(y.codes)].astype(np.float64)
            first += len(y.codes)
            model = proxy_model(y, own, corpus.scale[kept], corpus.rho[kept], corpus.nu[kept])
            yield query, model, model.scale * lane_sum(model.x)


def candidate_scores(data: Embedded, query: str, threads: int) -> F32:
    """The canonical scores of the documents that can be a query's hits."""
    return data.scores(data.queries[query], threads=threads)[data.candidates(query)]


def outcome(model: RevealModel, proxies: F64, scores: F32, k: int) -> QuantiserFigures:
    """Both policies on one query; ``scores`` are its candidates' canonical ones."""
    believed = model._replace(eps=np.zeros(len(scores)))
    (survivors, rounds, coverage, _), published = sieve(model, k, alpha=ALPHA), sieve(believed, k, alpha=ALPHA)[0]
    upper = proxies + model.eps
    complete = bool(rounds) and rounds[-1].revealed == model.x.shape[1]
    return QuantiserFigures(
        _overlap(published, scores, k),
        _overlap(survivors, scores, k),
        coverage,
        rescored(upper[survivors], scores[survivors], k) if complete else len(survivors),
        rescored(upper, scores, k),
    )


def _overlap(survivors: NDArray[np.int64], scores: F32, k: int) -> float:
    """The share of the true top k among the survivors' top k."""
    left = np.full(len(scores), -np.inf, np.float32)
    left[survivors] = scores[survivors]
    return overlap(*([str(i) for i in top_k(values, k)] for values in (left, scores)))


def rescored(upper: F64, scores: F32, k: int) -> int:
    """How many documents `spec.certified` scores before no upper bound left reaches the k-th best score."""
    best: list[float] = []
    order = np.lexsort((np.arange(len(upper)), -upper)).tolist()
    for count, i in enumerate(order):
        if len(best) < k:
            heapq.heappush(best, float(scores[i]))
        elif upper[i] < best[0]:
            return count
        else:
            heapq.heappushpop(best, float(scores[i]))
    return len(order)


def _groups(queries: dict[str, F32]) -> Iterator[list[str]]:
    some: list[str] = []
    for query, rows in queries.items():
        if some and sum(len(queries[query]) for query in some) + len(rows) > QUERY_TOKENS:
            yield some
            some = []
        some.append(query)
    if some:
        yield some


def _policies(outcomes: dict[tuple[int, str], list[QuantiserFigures]]) -> Table:
    rows: list[list[Cell]] = []
    for (k, name), found in sorted(outcomes.items(), key=lambda pair: pair[0][0]):
        each = [
            (figures.published, figures.overlap, figures.coverage, figures.survivors, figures.rescored)
            for figures in found
        ]
        rows.append([k, name, *np.mean(each, axis=0).tolist(), int(np.max([figures.rescored for figures in found]))])
    columns = [Column("K"), Column("codes"), Column("Bandit as published: Ov@K", ".3f")]
    columns += [Column("Bandit: Ov@K", ".3f"), Column("coverage", ".1%")]
    columns += [Column("rescored", ".1f"), Column("Certified: rescored", ".1f"), Column("at most", ",")]
    note = (
        "Means over queries. Ov@K: share of the true top K that is found; as published, the proxies are taken for the "
        "cells to the end; ours drops by bounds widened by eps when all tokens are revealed, so that coarser codes "
        "have more documents rescored instead. Then: cells revealed and documents rescored by ours; documents that "
        "Certified rescores, whose answer is exact with any codes, and the most for one query."
    )
    return Table("What the codes are good for", columns, rows, note=note)


def _codes(corpora: dict[str, CorpusCodes], broken: dict[str, int], checked: int) -> Table:
    rows: list[list[Cell]] = []
    for name, corpus in corpora.items():
        rho = corpus.rho.mean(), corpus.rho.max()
        shown = [float(corpus.scale.mean()), corpus.clipped, float(rho[0]), float(rho[1])]
        rows.append([name, *shown, broken[name], checked])
    columns = [Column("codes"), Column("mean scale", ".5f"), Column("values clipped", ".3%"), Column("mean rho", ".4f")]
    columns += [Column("largest rho", ".4f"), Column("bounds broken", ","), Column("of", ",")]
    note = (
        "Rho bounds what the codes lose of a document's token, in Euclidean length; scale and mean rho are means over "
        "documents. Bounds broken: pairs of query and document with |S - P| > eps, which must not be."
    )
    return Table("The codes", columns, rows, note=note)


def _few_bits(data: Embedded, options: Options) -> Table:
    """Overlap with the exact answers, and nDCG@10 if there are judgements, of vectors decoded from few bits."""
    ids = [data.ids[i] for i in data.searchable]
    made, truth = Residuals(data, options.cores), data.truth(DEPTH, threads=options.cores)
    exact = _ndcg(data, truth)
    rows: list[list[Cell]] = []
    with options.bar("decoding", 2 * len(BITS)) as advance:
        for bits in BITS:
            for form in made.forms(bits):
                decoded = replace(data, index=Index.build(form.documents, ids))
                answers = answers_of(decoded.search(DEPTH, Certified(), threads=options.cores))
                found = mean(overlaps(answers, truth, DEPTH))
                row: list[Cell] = [
                    bits,
                    form.name,
                    form.nbytes,
                    made.codebook_bytes,
                    found.value,
                    found.low,
                    found.high,
                ]
                if exact:
                    ahead = difference(_ndcg(data, answers), exact)
                    row += [ahead.value, ahead.low, ahead.high]
                rows.append(row)
                advance(1)
    columns = [Column("bits"), Column("form"), Column("bytes a token", ".1f"), Column("and of the codebook", ".1f")]
    columns += [Column(f"Ov@{DEPTH}", ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    if exact:
        columns += [Column("nDCG@10 less the exact one's", "+.4f"), Column("low", "+.4f"), Column("high", "+.4f")]
    note = (
        f"{made.centroids:,} centroids, trained on these documents, the same for both forms (mean cosine to a token's "
        f"centroid {made.cosine:.2f}). Decoded vectors are searched exactly. Bytes without offsets and ids; 95 % "
        "bootstrap intervals over queries, paired for nDCG@10."
    )
    return Table("A few bits a number", columns, rows, note=note)


def _ndcg(data: Embedded, answers: Answers) -> list[float]:
    """By query; empty without judgements."""
    return list(data.quality(answers, ["nDCG@10"])["nDCG@10"].values()) if data.judgements else []


def _remarks(outcomes: dict[tuple[int, str], list[QuantiserFigures]], ks: tuple[int, ...]) -> list[str]:
    remarks = []
    for k in ks:
        mine = {name: found for (at, name), found in outcomes.items() if at == k}
        ours = mine.pop(ABSMAX)
        for name, other in mine.items():
            times = np.mean([figures.rescored for figures in other]) / np.mean([figures.rescored for figures in ours])
            published = difference(
                [100 * figures.published for figures in other], [100 * figures.published for figures in ours]
            )
            own = difference([100 * figures.overlap for figures in other], [100 * figures.overlap for figures in ours])
            remarks.append(
                f"K = {k}, points of Bandit's overlap: as published, {compared(name, ABSMAX, published, '.1f')}; as "
                f"ours, {compared(name, ABSMAX, own, '.1f')}. {name} has Certified rescore {times:.1f} times as many "
                "documents."
            )
    return remarks
