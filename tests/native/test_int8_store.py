"""Vectors stored as codes: they are exactly codes times a scale of 17 bits, and everything is computed from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import spec


def to_17_bits(x: np.float32) -> np.float32:
    """Rounds to the nearest float with 17 significant bits, ties to even, with exact integers."""
    mantissa, exponent = np.frexp(np.float64(x))
    return np.float32(np.ldexp(np.rint(mantissa * 2**17), exponent - 17))


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("d", [1, 31, 32, 100])
def test_stored_vectors_are_codes_times_scale(isa: str, d: int, similarity: str) -> None:
    rng = np.random.default_rng(d)
    documents = [
        rng.standard_normal((n, d)).astype(np.float32) * np.float32(10.0**e) for n, e in ((3, 0), (1, 9), (4, -9))
    ]
    index = ms.Index.build(documents, store="int8", similarity=similarity)
    (segment,) = index.storage.snapshot.segments
    for i, given_rows in enumerate(documents):
        E = spec.normalise(given_rows) if similarity == "cosine" else given_rows
        codes, scale = spec.codes_of(E)
        stored = codes * to_17_bits(scale)
        assert stored.dtype == np.float32
        assert index.vectors(i).tobytes() == stored.tobytes()
        assert (stored.astype(np.float64) == codes * np.float64(to_17_bits(scale))).all()  # nothing was rounded
        again = spec.quantise_document(stored)
        assert (segment.scale[i], segment.rho[i], segment.nu[i]) == (again.scale, again.rho, again.nu)
        assert segment.rho[i] == 0
        assert again.codes.tolist() == codes.tolist()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 8, 33, 64]), st.integers(1, 9))
def test_every_policy_gives_the_specification_s_answer_about_stored_vectors(seed: int, d: int, T: int) -> None:
    rng = np.random.default_rng(seed)
    documents = [rng.standard_normal((n, d)).astype(np.float32) for n in rng.integers(0, 6, 12)]
    index = ms.Index.build(documents, store="int8")
    stored = [index.vectors(i) for i in range(12)]
    Q = rng.standard_normal((T, d)).astype(np.float32)
    wanted = spec.top_k(spec.scores(Q, stored), 4)
    for policy in (ms.Certified(), ms.Exhaustive()):
        hits = index.search(Q, 4, policy=policy)
        assert hits.ids == [one for one in wanted if len(stored[one])]
        assert hits.scores.tobytes() == spec.scores(Q, stored)[hits.ids].tobytes()
    assert index.search(Q, 4).report.rescored == spec.certified(Q, stored, 4).rescored
    float32 = ms.Index.build(stored)
    bandit = ms.Bandit(alpha=0.5, seed=seed % 7)
    assert list(index.search(Q, 4, policy=bandit)) == list(float32.search(Q, 4, policy=bandit))
    if hits.ids:
        assert index.search(Q, 1).explain(0) == float32.search(Q, 1).explain(0)
