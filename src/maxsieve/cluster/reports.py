"""Merges the parts of an answer and their reports.

The hits are the best documents of all parts, by descending score. For equal scores, the document that was added to the
corpus first comes first.

A report is merged by this rule:

- ``guarantee``, ``coverage`` and ``rounds`` are about the whole corpus. Every member computes them from numbers that
  all agreed on, so that all members have the same values; it is an error if they differ. A threshold that is the K-th
  best score is filled in here, where all scores are known. If shards are ``missing``, the guarantee is ``"none"``, and
  the other two are about the shards that answered.
- ``survivors``, ``rescored`` and ``touched`` are sums over all members: documents that were followed up, documents that
  were scored canonically, and what was read to choose them.
- ``seconds`` is the time that the caller waited, including calls and merging.
- ``stages`` has the longest time of any member for each stage, including the time in which it waited for replies, and
  ``"agreement"``: the rest of ``seconds``.
- ``isa`` is the kernel that was used. If machines used different ones, all are given, with a plus sign between them.
  The score bits are the same with all kernels.

The sums include members that were not asked in the last steps because none of their documents could be a hit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.cluster.coordinator import MemberAnswers
from maxsieve.cluster.member import Part
from maxsieve.hits import Promise, Report, Round, to_guarantee
from maxsieve.ids import Id


class Best(NamedTuple):
    """The best documents of all parts, best first, and the number of documents that were searched."""

    ids: list[Id]
    scores: NDArray[np.float32]
    sequence: NDArray[np.int64]
    documents: int


def merge_parts(parts: Sequence[Part], k: int) -> Best:
    """The k best documents of all parts."""
    ids = [id for part in parts for id in part.ids]
    scores = np.concatenate([np.zeros(0, np.float32), *(part.scores for part in parts)])
    sequence = np.concatenate([np.zeros(0, np.int64), *(part.sequence for part in parts)])
    order = np.lexsort((sequence, -scores))[:k]
    return Best([ids[i] for i in order], scores[order], sequence[order], sum(part.documents for part in parts))


def merge_reports(found: MemberAnswers, best: Best, k: int, promise: Promise | None, seconds: float) -> Report:
    """One report for all parts of a search for k documents. ``seconds`` is the time that the caller waited."""
    parts: list[Part] = found.parts
    if any(_about_all(part) != _about_all(parts[0]) for part in parts):
        raise RuntimeError("members disagree about one search: they run different versions of maxsieve")
    guarantee = to_guarantee(parts[0].guarantee if parts else "none", promise)
    stages: dict[str, float] = {}
    for part in parts:
        stages |= {name: max(took, stages.get(name, 0.0)) for name, took in part.stages.items()}
    stages["agreement"] = max(0.0, seconds - sum(stages.values()))
    origin, (added, deleted) = (None, (0, 0)) if promise is None else (promise.calibrated_on, promise.changes)
    touched: Counter[str] = Counter()
    for part in parts:
        touched.update(part.touched)
    return Report(
        guarantee="none" if found.missing else guarantee,
        coverage=parts[0].coverage if parts else 0.0,
        survivors=sum(part.survivors for part in parts),
        rescored=sum(part.rescored for part in parts),
        rounds=_rounds(parts, best, k),
        isa="+".join(sorted({part.isa for part in parts})),
        seconds=seconds,
        stages=stages,
        calibrated_on=origin,
        added=added,
        deleted=deleted,
        calibrated_for=None if promise is None else promise.where,
        touched=dict(touched),
        missing=found.missing,
        members=len(parts),
        agreements=found.agreements,
        retried=found.retried,
        hedged=found.hedged,
    )


def _rounds(parts: Sequence[Part], best: Best, k: int) -> list[Round]:
    kth = float(best.scores[k - 1]) if len(best.scores) >= k else -inf
    rounds = parts[0].rounds if parts else []
    return [Round(active, revealed, kth if tau is None else tau) for active, revealed, tau in rounds]


def _about_all(part: Part) -> tuple[object, ...]:
    return part.guarantee, part.coverage, part.rounds
