"""`SearchOptions`: made and checked once, the same as keywords."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.policies import ALIASES, POLICIES

from .support import answer, eighths, query_of

DOCUMENTS = eighths(3, 30, longest=4)
INDEX = ms.Index.build(DOCUMENTS, metadata=[{"n": i % 4} for i in range(30)])
SOME_IDS = st.none() | st.lists(st.integers(0, 29), max_size=20)
CHOICES = st.sampled_from([None, ms.Certified(), ms.Exhaustive(), ms.Bandit(alpha=0.5), "exact", "bandit"])
KEYWORDS: Any = {
    "policy": CHOICES,
    "candidates": SOME_IDS | st.lists(st.booleans(), min_size=30, max_size=30).map(np.array),
    "exclude": SOME_IDS,
    "where": st.sampled_from([None, {"n": 1}, {"n": {"gte": 2}}]),
    "threads": st.none() | st.integers(1, 3),
}


@given(
    k=st.integers(1, 40),
    keywords=st.fixed_dictionaries({}, optional=KEYWORDS),
    seeds=st.lists(st.integers(0, 9), min_size=1, max_size=3),
)
def test_keywords_and_options_are_the_same(k: int, keywords: dict[str, Any], seeds: list[int]) -> None:
    queries = [query_of(seed, 3) for seed in seeds]
    options = ms.SearchOptions(k, **keywords)
    want = [answer(hits) for hits in INDEX.answer(queries, options)]
    assert [answer(INDEX.search(query, k, **keywords)) for query in queries] == want
    assert [answer(hits) for hits in INDEX.search_many(queries, k, **keywords)] == want
    assert [answer(hits) for hits in INDEX.answer(queries, pickle.loads(pickle.dumps(options)))] == want


@pytest.mark.parametrize("name", [*POLICIES, *ALIASES])
def test_a_policy_by_name(name: str) -> None:
    index = ms.Index.build(DOCUMENTS)
    index.calibrate([query_of(seed, 3) for seed in range(99)], k=10)
    policy = POLICIES[ALIASES.get(name, name)].policy()
    assert ms.SearchOptions(policy=name).policy == policy  # type: ignore[arg-type]
    query = query_of(5, 4)
    assert answer(index.search(query, 5, policy=name)) == answer(index.search(query, 5, policy=policy))
    assert answer(index.search_many([query], 5, policy=name)[0]) == answer(index.search(query, 5, policy=policy))
    if name != "calibrated":
        assert answer(ms.rerank(query, DOCUMENTS, 5, policy=name)) == answer(
            ms.rerank(query, DOCUMENTS, 5, policy=policy)
        )


def test_an_unknown_keyword() -> None:
    query = query_of(0, 2)
    for attempt in (
        lambda: INDEX.search(query, 3, polcy="exact"),  # type: ignore[call-arg]
        lambda: INDEX.search_many([query], 3, polcy="exact"),  # type: ignore[call-arg]
        lambda: ms.SearchOptions(3, polcy="exact"),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match="polcy"):
            attempt()


def test_options_do_not_change() -> None:
    options = ms.SearchOptions(candidates=(mask := np.ones(30, np.bool_)))
    mask[:] = False
    assert len(INDEX.answer([query_of(0, 2)], options)[0]) == 10
    with pytest.raises(AttributeError):
        options.k = 3  # type: ignore[misc]


def test_one_entry_for_each_query_is_not_cut_or_repeated() -> None:
    """Options that were made for two queries do not fit three."""
    queries = [query_of(seed, 2) for seed in range(3)]
    with pytest.raises(ValueError, match="candidates has 2"):
        INDEX.search_many(queries, candidates=[[1], [2]])
