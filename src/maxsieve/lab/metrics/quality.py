"""Measures of answers: against exhaustive scoring (`overlap`), and by judgements (`quality`, by ``ir-measures``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maxsieve.common.optional import optional
from maxsieve.text.trec import Run


def overlap(found: Sequence[str], truth: Sequence[str]) -> float:
    """The share of the true top K that is among the found ones: the paper's Overlap@K.

    >>> overlap(["b", "x"], ["a", "b"]), overlap([], [])
    (0.5, 1.0)
    """
    return len({*found} & {*truth}) / len({*truth}) if truth else 1.0


def overlaps(answers: Mapping[str, Sequence[str]], truth: Mapping[str, Sequence[str]], k: int) -> list[float]:
    """Overlap@k of every query of ``truth``; both have ids by query, best first, and may be longer.

    >>> overlaps({"q": ["b", "x", "a"]}, {"q": ["a", "b", "c"]}, 2)
    [0.5]
    """
    return [overlap(answers[query][:k], best[:k]) for query, best in truth.items()]


def quality(
    run: Run, judgements: Mapping[str, Mapping[str, int]], measures: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Measure -> query id -> value, for every judged query; a query that is missing in the run has 0.

    Measures have the names of ``ir-measures``: ``nDCG@10``, ``R@50`` or ``Recall@50``, ``RR@10`` or ``MRR@10``.
    Only the order of the hits counts, not their scores, so that ties stay as they were broken.

    >>> quality({"q": [("a", 1.0), ("b", 1.0)]}, {"q": {"b": 1}, "r": {"a": 1}}, ["RR@10"])
    {'RR@10': {'q': 0.5, 'r': 0.0}}
    """
    ir_measures = optional("ir_measures", "lab")
    parsed = {name: _parsed(ir_measures, name) for name in measures}
    judged = {query: dict(grades) for query, grades in judgements.items() if grades}
    for query, grades in judged.items():
        _refuse_other_than_str([query, *grades], "judgements")
    ranks = {query: _ranks(query, hits) for query, hits in run.items()}
    if not judged or not parsed:
        return {name: dict.fromkeys(judged, 0.0) for name in parsed}
    answered = {query: found for query, found in ranks.items() if query in judged}
    values = {
        (metric.measure, metric.query_id): float(metric.value)
        for metric in ir_measures.iter_calc(list(dict.fromkeys(parsed.values())), judged, answered)
    }
    return {name: {query: values.get((measure, query), 0.0) for query in judged} for name, measure in parsed.items()}


def ranked(ids: Sequence[str]) -> list[tuple[str, float]]:
    """Ids, best first, as hits of a run; scores are made from ranks.

    >>> ranked(["b", "a"])
    [('b', 2.0), ('a', 1.0)]
    """
    return [(doc_id, float(len(ids) - rank)) for rank, doc_id in enumerate(ids)]


def _ranks(query: str, hits: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Distinct scores by rank: the evaluators sort by score, and break ties by document id."""
    ids = [doc_id for doc_id, _ in hits]
    _refuse_other_than_str([query, *ids], "run")
    ranks = dict(ranked(ids))
    if len(ranks) < len(ids):
        repeated = next(doc_id for doc_id in ids if ids.count(doc_id) > 1)
        raise ValueError(f"run: document {repeated!r} occurs twice among the hits of query {query!r}")
    return ranks


def _refuse_other_than_str(ids: Sequence[object], where: str) -> None:
    """Refuses ids that are not str: an int never equals a str, so its judgements would silently be lost."""
    for doc_id in ids:
        if not isinstance(doc_id, str):
            raise TypeError(f"{where}: the id {doc_id!r} is not a str")


def _parsed(ir_measures: Any, name: str) -> Any:
    try:
        measure = ir_measures.parse_measure(name)
        computable = any(
            provider.is_available() and provider.supports(measure) for provider in ir_measures.DefaultPipeline.providers
        )
    except (NameError, ValueError, TypeError, SyntaxError, AssertionError) as problem:
        raise ValueError(f"{name!r} is not a measure of ir-measures: {problem}") from None
    if not computable:
        raise ValueError(
            f"{name!r} can't be computed by the installed providers of ir-measures; nDCG@10 can, for example"
        )
    return measure
