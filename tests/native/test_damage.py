"""Numbers that can't come from checked vectors give an error, never a crash or an answer."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.policies import to_native


def damaged_corpus(block: str, value: float) -> tuple[_core.Corpus, np.ndarray]:
    """300 documents, of which every third has a bad number in one array."""
    rng = np.random.default_rng(0)
    (segment,) = ms.Index.build(rng.standard_normal((900, 16)), lengths=[3] * 300).storage.snapshot.segments
    arrays = {name: getattr(segment, name).copy() for name in ("rows", "offsets", "codes", "scale", "rho", "nu")}
    arrays[block].reshape(300, -1)[::3, 0] = value
    return _core.Corpus(16, (_core.Segment(16, **arrays),)), rng.standard_normal((8, 16)).astype(np.float32)


POLICIES = {
    "certified": ms.Certified(),
    "bandit": ms.Bandit(margin=0),
    "serfling": ms.Bandit(margin=0, radius="serfling"),
    "exhaustive": ms.Exhaustive(),
}


def search(corpus: _core.Corpus, query: np.ndarray, k: int, policy: str, threads: int) -> np.ndarray:
    (answer,) = _core.search(corpus, [query], [np.arange(300)], k, to_native(POLICIES[policy]), threads, False)
    return answer.scores


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("block", ["rows", "scale", "rho", "nu"])
def test_bad_numbers(block: str, value: float, policy: str, isa: str) -> None:
    corpus, query = damaged_corpus(block, value)
    try:
        scores = search(corpus, query, 200, policy, 2)
    except DamagedIndexError:
        return
    assert np.isfinite(scores).all()
    assert (np.diff(scores) <= 0).all()


def test_nan_is_reported_by_every_policy(isa: str) -> None:
    for policy, block in (("certified", "scale"), ("certified", "rho"), ("bandit", "scale"), ("bandit", "nu")):
        corpus, query = damaged_corpus(block, np.nan)
        with pytest.raises(DamagedIndexError):
            search(corpus, query, 10, policy, 1)
