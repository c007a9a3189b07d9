"""Tuning: the cheapest `Bandit` setting that reaches an Overlap@K, verified on held-out queries."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from maxsieve import Bandit, Certified
from maxsieve.common.checks import as_count
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded, answers_of, mean_coverage, mean_rescored
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import best_share, lower_bound
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.recommendation import Look, Recommendation, Setting
from maxsieve.lab.times import Timed, measure, timed_queries
from maxsieve.policies import Policy

ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
MARGINS = (0, 5, 20)
QUICK_ALPHAS = (0.1, 0.2, 0.5, 1.0)
QUICK_MARGINS = (5, 20)
LOOKS = 8
"""The most settings that are tried on the held-out queries."""
CHOOSING = 0.25
"""The share of queries that choose the setting. Few are enough; verification needs the others."""


def tune(
    dataset: Dataset | Embedded,
    target: float = 0.99,
    k: int = 10,
    confidence: float = 0.95,
    queries: int | None = None,
    *,
    alphas: Sequence[float] = ALPHAS,
    margins: Sequence[int] = MARGINS,
    choosing: float = CHOOSING,
    seed: int = 0,
    threads: int | None = None,
    progress: bool = False,
) -> Recommendation:
    """The cheapest setting of ``alphas`` x ``margins`` that is shown to find a share ``target`` of the true top ``k``.

    Queries are split at random, by ``seed``. On the first part every setting is run. Its cost is the share of cells it
    computes, proxies and canonical cells alike: ``coverage + rescored / documents``, the same on every run and machine.
    (A canonical cell takes 2 to 20 times as long as a proxy, depending on the CPU, but few documents are rescored.) The
    candidates are the settings that reach the target there, and for which no cheaper setting finds more; at most 8.

    They are tried on the other queries **from the most careful to the cheapest, up to the first whose lower confidence
    bound (`lower_bound`) misses the target**; the one before it is the answer. Several looks at the same queries would
    ordinarily need a correction. This order needs none: for a wrong answer, a setting that is truly below the target
    must pass. Let B be the first such setting in the order. Whatever comes after it is looked at only if B passes, so
    that every wrong answer requires this one mistake, whose probability is at most ``1 - confidence`` (fixed-sequence
    testing). The order, and the stakes of the bound, come from the first part alone.

    Times are measured last, of the answer and of `Certified`, in turns on one thread. They affect only the advice:
    `Recommendation.policy` has the rule.
    """
    _check_share("target", target, one_allowed=True)
    _check_share("confidence", confidence)
    _check_share("choosing", choosing)
    k = as_count(k, "k", at_least=1)
    data = (dataset.as_indexed() if isinstance(dataset, Dataset) else dataset).first(queries)
    first, rest = _split(data, choosing, seed)
    options = Options(threads=threads, progress=progress)
    grid = [Bandit(alpha, margin=margin) for alpha, margin in product(alphas, margins)]
    if not grid:
        raise ValueError("there must be at least one alpha and one margin")
    with options.bar("choosing", len(grid)) as advance:
        settings = []
        for policy in grid:
            settings.append(_tried(first, policy, k, options))
            advance(1)
    looks = _looks(rest, sequence(settings, target), target, k, confidence, options)
    answer = next((look for look in reversed(looks) if look.bound >= target), None)
    times = _times(rest, [Certified()] if answer is None else [Certified(), answer.setting.policy], k, options)
    return Recommendation(
        data.name,
        data.encoder,
        len(data.index),
        target,
        k,
        confidence,
        len(first.queries),
        len(rest.queries),
        settings,
        looks,
        answer,
        times[Certified()],
        None if answer is None else times[answer.setting.policy],
        dataset.collection_argument() if isinstance(dataset, Dataset) else None,
    )


def sequence(settings: Sequence[Setting], target: float) -> list[Setting]:
    """The settings to verify, the most careful first: they reach the target, and no cheaper one finds more.

    If there are many, a few at equal distances are taken, including the cheapest and the most careful.
    """
    kept: list[Setting] = []
    for setting in sorted(settings, key=lambda setting: (setting.cost, -setting.overlap)):
        if setting.overlap >= max([target, *(better.overlap for better in kept)]):
            kept.append(setting)
    places = np.unique(np.linspace(0, len(kept) - 1, min(LOOKS, len(kept))).round().astype(int))
    return [kept[place] for place in reversed(places)]


def _looks(
    data: Embedded, settings: Sequence[Setting], target: float, k: int, confidence: float, options: Options
) -> list[Look]:
    looks: list[Look] = []
    with options.bar("verifying", len(settings)) as advance:
        for setting in settings:
            hits = data.search(k, setting.policy, threads=options.cores)
            found = overlaps(answers_of(hits), data.truth(k, threads=options.cores), k)
            bound = lower_bound(found, confidence, best_share(setting.overlaps, target))
            looks.append(Look(setting, float(np.mean(found)), bound, mean_coverage(hits), mean_rescored(hits)))
            advance(1)
            if bound < target:
                break
    return looks


def _tried(data: Embedded, policy: Bandit, k: int, options: Options) -> Setting:
    hits = data.search(k, policy, threads=options.cores)
    cost = mean_coverage(hits) + mean_rescored(hits) / max(1, len(data.index))
    return Setting(policy, cost, overlaps(answers_of(hits), data.truth(k, threads=options.cores), k))


def _times(data: Embedded, policies: Sequence[Policy], k: int, options: Options) -> dict[Policy, list[float]]:
    times = measure(timed_queries(data, options), [Timed(policy, k) for policy in policies], options)
    return {way.policy: [1e3 * seconds for seconds in found.seconds] for way, found in times.items()}


def _split(data: Embedded, choosing: float, seed: int) -> tuple[Embedded, Embedded]:
    names = random.Random(seed).sample(list(data.queries), len(data.queries))
    if len(names) < 2:
        raise ValueError(f"tuning needs at least 2 queries, and {data.name} has {len(names)}")
    count = min(max(1, round(choosing * len(names))), len(names) - 1)
    first, rest = ({query: data.queries[query] for query in part} for part in (names[:count], names[count:]))
    return replace(data, queries=first), replace(data, queries=rest)


def _check_share(name: str, value: float, *, one_allowed: bool = False) -> None:
    if not (0 < value < 1 or (one_allowed and value == 1)):
        raise ValueError(f"{name} must lie in (0, 1{']' if one_allowed else ')'}, not {value}")
