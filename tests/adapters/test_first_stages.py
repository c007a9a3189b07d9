"""The first stages of benchmarks/runs/first_stages.py: the candidates that each names, and what is lost by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from benchmarks.runs import first_stages

RNG = np.random.default_rng(3)
DOCUMENTS = [RNG.standard_normal((4 + i % 6, 32)).astype(np.float32) for i in range(60)]
QUERIES = [rows[:3] for rows in DOCUMENTS[:5]]
CORPUS = first_stages.Corpus(
    DOCUMENTS, [f"text {i} about w{i}" for i in range(60)], QUERIES, [f"w{i}" for i in range(5)], []
)
STAGES = [first_stages.muvera_of_fastembed, first_stages.muvera_python, first_stages.bm25]


@pytest.mark.parametrize("make", STAGES)
def test_it_names_the_best_and_nothing_twice(make: Any) -> None:
    stage = make(CORPUS)
    for place in range(len(QUERIES)):
        named = stage.name(place, 20)
        assert len(set(named)) == 20
        assert named[0] == place


@pytest.mark.parametrize("make", STAGES)
def test_nothing_is_lost_among_all(make: Any) -> None:
    index = ms.Index.build(DOCUMENTS)
    truth = [set(index.search(query, 10).ids) for query in QUERIES]
    *_, few, every = first_stages.measured(make(CORPUS), CORPUS, index, truth, [10, 60])
    assert float(few) < 1
    assert every == "1.000"
