"""maxsieve's policies as tasks to be timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import maxsieve as ms
import readlimit
from maxsieve import _core
from maxsieve.policies import Policy
from measure import Found, Setting, Task
from shapes import Shape

POLICIES: dict[str, Policy] = {
    "certified": ms.Certified(),
    "bandit-0.1": ms.Bandit(alpha=0.1),
    "bandit-0.2": ms.Bandit(alpha=0.2),
    "bandit-0.3": ms.Bandit(alpha=0.3),
    "bandit-1": ms.Bandit(alpha=1),
    "exhaustive": ms.Exhaustive(),
}


def build(shape: Shape, threads: int) -> ms.Index:
    """An index in memory; ids are positions."""
    return ms.Index.build(shape.rows, lengths=shape.lengths, threads=threads)


def tasks(
    index: ms.Index,
    shape: Shape,
    methods: Sequence[str],
    *,
    ks: Sequence[int],
    isas: Sequence[str],
    threads: Sequence[int],
    batches: Sequence[int],
) -> Iterator[Task]:
    """Every policy among `methods` under each setting; batches at the first `k` only. Then the read limit."""
    for isa in isas:
        for method in methods:
            for count in threads:
                policies = [_seeded(POLICIES[method], number) for number in range(len(shape.queries))]
                for k in ks:
                    for batch in batches if k == ks[0] else [b for b in batches if b == 1]:
                        run = partial(_one, index, shape, k, policies, count)
                        if batch > 1:
                            run = partial(_many, index, shape, batch, k, policies, count)
                        yield Task(Setting(method, k, isa, count, batch), run, _read, partial(_core.use_isa, isa))
    name, read = readlimit.reader()
    yield Task(Setting(name, 0), partial(_read_codes, readlimit.codes(index), read), lambda _: [])


def _seeded(policy: Policy, number: int) -> Policy:
    """Each query draws its tokens in an order of its own: else the overlap of all would hang on a single order."""
    return replace(policy, seed=number) if isinstance(policy, ms.Bandit) else policy


def _one(index: ms.Index, shape: Shape, k: int, policies: Sequence[Policy], threads: int, number: int) -> list[ms.Hits]:
    return [index.search(shape.queries[number], k, policy=policies[number], threads=threads)]


def _many(
    index: ms.Index, shape: Shape, batch: int, k: int, policies: Sequence[Policy], threads: int, _: int
) -> list[ms.Hits]:
    return index.search_many(shape.queries[:batch], k, policy=policies[0], threads=threads)


def _read(answer: list[ms.Hits]) -> list[Found]:
    return [Found(np.array(hits.ids, np.int64), hits.scores.astype(np.float64), hits.report) for hits in answer]


def _read_codes(codes: list[Any], read: readlimit.Read, _: int) -> None:
    for array in codes:
        read(array)
