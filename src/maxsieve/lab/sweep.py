"""The methods of the paper with their knobs swept: what each finds, and the share of cells it computes for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxsieve import Bandit, Certified
from maxsieve.lab.baselines import ball_carving, cells_per_row, doc_uniform
from maxsieve.lab.embedded import Embedded, to_strings
from maxsieve.lab.experiment import Options
from maxsieve.lab.metrics.fidelity import overlap

ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
GAMMAS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.70, 0.80, 0.90, 1.0)
TAUS = (0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 1.0)
"""The paper's six, and 1, at which Ball-carving is exhaustive scoring."""
QUICK_ALPHAS = (0.05, 0.2, 0.5, 1.0)
QUICK_GAMMAS = (0.1, 0.2, 0.4, 0.7, 1.0)
QUICK_TAUS = (0.4, 0.6, 0.8, 1.0)

BASELINE_DEPTH = 100
"""Of the baselines' rankings: what the deepest of the experiments needs, so that all share one sweep."""

BANDIT, DOC_UNIFORM, BALL_CARVING = "Bandit", "Doc-Uniform", "Ball-carving"


@dataclass(frozen=True)
class Point:
    """A method at one setting of its knob: by query, its coverage and its answer, best first."""

    method: str
    knob: float
    coverages: dict[str, float]
    answers: dict[str, list[str]]

    @property
    def coverage(self) -> float:
        """Averaged over queries."""
        return float(np.mean(list(self.coverages.values())))

    def overlaps(self, truth: dict[str, list[str]], k: int) -> list[float]:
        """Overlap@k of every query."""
        return [overlap(self.answers[query][:k], truth[query][:k]) for query in truth]


def _kept(data: Embedded, method: str, k: int, options: Options, make: Callable[[], list[Point]]) -> list[Point]:
    """The points of a sweep, computed once for all experiments on the same data."""
    key = (method, k, options.quick)
    if key not in data.sweeps:
        data.sweeps[key] = make()
    found: list[Point] = data.sweeps[key]
    return found


def bandit_points(data: Embedded, k: int, options: Options) -> list[Point]:
    """The engine's `Bandit` at every alpha."""
    return _kept(data, BANDIT, k, options, lambda: _bandit(data, k, options))


def _bandit(data: Embedded, k: int, options: Options) -> list[Point]:
    chosen = QUICK_ALPHAS if options.quick else ALPHAS
    points = []
    with options.bar(f"{BANDIT}, K = {k}", len(chosen) * len(data.queries)) as advance:
        for alpha in chosen:
            hits = data.search(k, Bandit(alpha), threads=options.cores, advance=advance)
            coverages = {query: found.report.coverage for query, found in hits.items()}
            points.append(Point(BANDIT, alpha, coverages, {query: to_strings(found) for query, found in hits.items()}))
    return points


def doc_uniform_points(data: Embedded, k: int, options: Options) -> list[Point]:
    """Doc-Uniform at every gamma."""
    return _kept(data, DOC_UNIFORM, k, options, lambda: _doc_uniform(data, k, options))


def _doc_uniform(data: Embedded, k: int, options: Options) -> list[Point]:
    gammas = QUICK_GAMMAS if options.quick else GAMMAS
    ids = [str(one) for one in data.index.ids]
    place = {one: position for position, one in enumerate(ids)}
    coverages: dict[float, dict[str, float]] = {gamma: {} for gamma in gammas}
    answers: dict[float, dict[str, list[str]]] = {gamma: {} for gamma in gammas}
    with options.bar(f"{DOC_UNIFORM}, K = {k}", len(data.queries)) as advance:
        for number, (query, rows) in enumerate(data.queries.items()):
            cells = data.cells(rows, threads=options.cores)
            cells[[place[one] for one in data.exclusions.get(query, []) if one in place]] = -np.inf
            for gamma, positions in doc_uniform(cells, gammas, k, seed=number).items():
                coverages[gamma][query] = cells_per_row(gamma, len(rows)) / len(rows)
                answers[gamma][query] = [ids[position] for position in positions]
            advance(1)
    return [Point(DOC_UNIFORM, gamma, coverages[gamma], answers[gamma]) for gamma in gammas]


def ball_carving_points(data: Embedded, k: int, options: Options) -> list[Point]:
    """Ball-carving at every tau. `Certified` gives what exhaustive scoring of the carved query gives, and sooner."""
    return _kept(data, BALL_CARVING, k, options, lambda: _ball_carving(data, k, options))


def _ball_carving(data: Embedded, k: int, options: Options) -> list[Point]:
    taus = QUICK_TAUS if options.quick else TAUS
    points = []
    with options.bar(f"{BALL_CARVING}, K = {k}", len(taus) * len(data.queries)) as advance:
        for tau in taus:
            carved = {query: ball_carving(rows, tau) for query, rows in data.queries.items()}
            hits = data.search(k, Certified(), threads=options.cores, queries=carved, advance=advance)
            coverages = {query: len(carved[query]) / len(rows) for query, rows in data.queries.items()}
            answers = {query: to_strings(found) for query, found in hits.items()}
            points.append(Point(BALL_CARVING, tau, coverages, answers))
    return points


def baseline_points(data: Embedded, k: int, options: Options) -> dict[str, list[Point]]:
    """Both baselines; their rankings don't depend on k, so that a prefix is the answer for a smaller one."""
    k = max(k, BASELINE_DEPTH)
    return {
        DOC_UNIFORM: doc_uniform_points(data, k, options),
        BALL_CARVING: ball_carving_points(data, k, options),
    }
