"""Parameter sweeps over the paper's methods: the answers of each setting, and the share of cells it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxsieve import Bandit, Certified
from maxsieve.lab.embedded import F32, Answers, Embedded, answers_of
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.paper import BALL_CARVING, BANDIT, DOC_UNIFORM
from maxsieve.policies import Policy
from maxsieve.spec.baselines import cells_per_row, centroids


def doc_uniform(cells: F32, gammas: Sequence[float], k: int, seed: int) -> dict[float, list[int]]:
    """For each gamma the positions of the k best documents by ``cells_per_row(gamma, T)`` random cells of each.

    ``cells`` is the matrix H [N, T]. A row of ``-inf`` (an empty or excluded document) is never a hit. All gammas use a
    prefix of the same random order.

    >>> doc_uniform(np.array([[1, 1], [3, 3], [2, 2]], np.float32), [0.5, 1.0], 2, seed=0)
    {0.5: [1, 2], 1.0: [1, 2]}
    """
    documents, tokens = cells.shape
    budgets = np.array([cells_per_row(gamma, tokens) for gamma in gammas])[:, None]
    ranks = token_ranks(documents, tokens, seed)
    totals = np.zeros((len(gammas), documents))
    for t in range(tokens):  # in the order of tokens, as for canonical scores: at gamma = 1 both are equal
        totals += np.where(ranks[:, t] < budgets, cells[:, t], 0)
    order = np.argsort(-totals.astype(np.float32), axis=1, kind="stable")[:, :k]
    return {
        gamma: [position for position in best.tolist() if total[position] > -np.inf]
        for gamma, best, total in zip(gammas, order, totals, strict=True)
    }


def token_ranks(documents: int, tokens: int, seed: int) -> NDArray[np.int64]:
    """The rank of each token in each document's random order, [documents, tokens]: `spec.baselines.token_order`.

    Runs one step of the shuffle for all documents at once; a document whose random word is rejected draws again.
    """
    state = np.uint64(seed << 32 & 2**64 - 1) + np.arange(documents, dtype=np.uint64)
    order = np.tile(np.arange(tokens), (documents, 1))
    rows = np.arange(documents)
    for last in range(tokens - 1, 0, -1):
        n = last + 1
        state, words = _next(state)
        while (again := words < np.uint64(2**64 % n)).any():
            state[again], words[again] = _next(state[again])
        partners = (words % np.uint64(n)).astype(np.int64)
        order[rows, partners], order[:, last] = order[:, last].copy(), order[rows, partners]
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(tokens)[None], axis=1)
    return ranks


def _next(state: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """SplitMix64: new states and their words, modulo 2^64 as NumPy's arrays of uint64 count."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    words = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, words ^ (words >> np.uint64(31))


ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
GAMMAS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.70, 0.80, 0.90, 1.0)
TAUS = (0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 1.0)
"""The paper's six values, and 1, where Ball-carving equals exhaustive scoring."""
QUICK_ALPHAS = (0.05, 0.2, 0.5, 1.0)
QUICK_GAMMAS = (0.1, 0.2, 0.4, 0.7, 1.0)
QUICK_TAUS = (0.4, 0.6, 0.8, 1.0)

BASELINE_DEPTH = 100
"""Depth of the baselines' rankings: the largest that any experiment needs, so that all share one sweep."""


@dataclass(frozen=True)
class Point:
    """A method at one value of its parameter: coverage and answer (best first) by query."""

    method: str
    knob: float
    coverages: dict[str, float]
    answers: Answers

    @property
    def coverage(self) -> float:
        """Averaged over queries."""
        return float(np.mean(list(self.coverages.values())))

    def overlaps(self, truth: Answers, k: int) -> list[float]:
        """Overlap@k of every query."""
        return overlaps(self.answers, truth, k)


def all_points(data: Embedded, k: int, options: Options) -> dict[str, list[Point]]:
    """Every method, Bandit first."""
    return {BANDIT: bandit_points(data, k, options), **baseline_points(data, k, options)}


def bandit_points(data: Embedded, k: int, options: Options) -> list[Point]:
    """The engine's `Bandit` at every alpha."""
    alphas = QUICK_ALPHAS if options.quick else ALPHAS
    settings = ((alpha, Bandit(alpha), data.queries) for alpha in alphas)
    return _once(data, BANDIT, k, options, lambda: _searched(data, BANDIT, k, settings, len(alphas), options))


def baseline_points(data: Embedded, k: int, options: Options) -> dict[str, list[Point]]:
    """Both baselines. Their rankings do not depend on k, so a prefix is the answer for a smaller k.

    `Certified` gives the same as exhaustive scoring of the carved query, in less time.
    """
    k = max(k, BASELINE_DEPTH)
    taus = QUICK_TAUS if options.quick else TAUS
    carved = ({query: centroids(rows, tau) for query, rows in data.queries.items()} for tau in taus)
    settings = ((tau, Certified(), queries) for tau, queries in zip(taus, carved, strict=True))
    makers: dict[str, Callable[[], list[Point]]] = {
        DOC_UNIFORM: lambda: _doc_uniform(data, k, options),
        BALL_CARVING: lambda: _searched(data, BALL_CARVING, k, settings, len(taus), options),
    }
    return {method: _once(data, method, k, options, make) for method, make in makers.items()}


def _once(data: Embedded, method: str, k: int, options: Options, make: Callable[[], list[Point]]) -> list[Point]:
    """The points of a sweep, computed once for all experiments on the same data."""
    key = (method, k, options.quick)
    if key not in data.sweeps:
        data.sweeps[key] = make()
    found: list[Point] = data.sweeps[key]
    return found


def _searched(
    data: Embedded,
    method: str,
    k: int,
    settings: Iterator[tuple[float, Policy, dict[str, F32]]],
    count: int,
    options: Options,
) -> list[Point]:
    """The answers of the index at each setting: a parameter, the policy, and the vectors used as queries."""
    points = []
    with options.bar(f"{method}, K = {k}", count * len(data.queries)) as advance:
        for knob, policy, queries in settings:
            hits = data.search(k, policy, threads=options.cores, queries=queries, advance=advance)
            coverages = {
                query: hits[query].report.coverage * (len(queries[query]) / len(rows))
                for query, rows in data.queries.items()
            }
            points.append(Point(method, knob, coverages, answers_of(hits)))
    return points


def _doc_uniform(data: Embedded, k: int, options: Options) -> list[Point]:
    gammas: Sequence[float] = QUICK_GAMMAS if options.quick else GAMMAS
    place = {doc_id: position for position, doc_id in enumerate(data.ids)}
    points = [Point(DOC_UNIFORM, gamma, {}, {}) for gamma in gammas]
    with options.bar(f"{DOC_UNIFORM}, K = {k}", len(data.queries)) as advance:
        for number, (query, rows) in enumerate(data.queries.items()):
            cells = data.cells(rows, threads=options.cores)
            cells[[place[doc_id] for doc_id in data.exclusions.get(query, []) if doc_id in place]] = -np.inf
            found = doc_uniform(cells, gammas, k, seed=number)
            for point in points:
                point.coverages[query] = cells_per_row(point.knob, len(rows)) / len(rows)
                point.answers[query] = [data.ids[position] for position in found[point.knob]]
            advance(1)
    return points
