"""What a calibration promises where ranks are infinite, for the tail, and after documents came or went."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maxsieve import spec

SHARES = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)


@st.composite
def places(draw: st.DrawFn) -> np.ndarray:
    """Ranks of the true top 3 of some queries; some are infinite."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ranks = np.array([rng.choice(40, 3, replace=False) + 1 for _ in range(draw(st.integers(2, 30)))], np.int64)
    ranks[rng.random(ranks.shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = spec.INFINITE
    return ranks


def found(row: np.ndarray, n: int) -> int:
    """Hits of the top 3 that are found at the depth n; all of them by the last step, `certified` on everything."""
    return 3 if n == spec.INFINITE else int((row <= n).sum())


@settings(max_examples=300, deadline=None)
@given(places(), SHARES)
def test_the_mean_holds_with_infinite_ranks(ranks: np.ndarray, overlap: Fraction) -> None:
    assume(len(ranks) - 1 >= spec.queries_needed(overlap))
    overlaps = [Fraction(found(ranks[i], spec.depth(np.delete(ranks, i, 0), 3, overlap)), 3) for i in range(len(ranks))]
    assert sum(overlaps) / len(overlaps) >= overlap


@settings(max_examples=300, deadline=None)
@given(
    places(), SHARES, st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), Fraction(1)])
)
def test_the_tail_holds_on_average_over_who_is_left_out(ranks: np.ndarray, share: Fraction, overlap: Fraction) -> None:
    assume(len(ranks) - 1 >= spec.queries_needed(share))
    kept = 0
    for i in range(len(ranks)):
        n = spec.tail_depth(np.delete(ranks, i, 0), 3, overlap, share)
        kept += found(ranks[i], n) >= 3 * overlap
    assert Fraction(kept, len(ranks)) >= share


@settings(max_examples=300, deadline=None)
@given(places(), SHARES, st.sampled_from([Fraction(1, 3), Fraction(2, 3), Fraction(1)]))
def test_the_tail_needs_no_depth_that_its_bound_does_not(ranks: np.ndarray, share: Fraction, overlap: Fraction) -> None:
    m = len(ranks)
    assume(m >= spec.queries_needed(share))

    def bound(n: int) -> Fraction:
        losses = sum(found(row, n) < 3 * overlap for row in ranks)
        return Fraction(m, m + 1) * Fraction(losses, m) + Fraction(1, m + 1)

    n = spec.tail_depth(ranks, 3, overlap, share)
    assert bound(n) <= 1 - share
    assert n == 0 or bound(n - 1) > 1 - share


def test_too_few_queries_promise_no_tail() -> None:
    with pytest.raises(ValueError, match="needs 19 queries"):
        spec.tail_depth(np.ones((18, 10), np.int64), 10, Fraction("0.9"), Fraction("0.95"))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 12))
def test_followed_up_documents_never_raise_the_loss(seed: int, K: int, n: int) -> None:
    """Scores and proxies of any kind: after growth, no more hits are missing than before, by the old depth."""
    rng = np.random.default_rng(seed)
    old, new = int(rng.integers(K, 25)), int(rng.integers(0, 15))
    scores = rng.integers(0, 20, old + new)
    proxies = rng.integers(-1, 10, old + new)
    before = np.lexsort((np.arange(old), -scores[:old]))[:K]
    missing = set(before.tolist()) - set(spec.survivors(proxies[:old], n).tolist())
    after = np.lexsort((np.arange(old + new), -scores))[:K]
    followed = set(spec.followed(proxies, n, old, K).tolist())
    assert len(set(after.tolist()) - followed) <= len(missing)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_ranks_after_growth_are_those_among_all_documents(seed: int) -> None:
    rng = np.random.default_rng(seed)
    old, new = int(rng.integers(1, 25)), int(rng.integers(0, 15))
    proxies = rng.integers(-1, 10, old + new)
    hits = rng.permutation(old)[:6]
    ranks = spec.ranks_by_proxy(proxies[:old], hits.tolist())
    grown = spec.grown_ranks(ranks, proxies[hits], proxies[old:])
    assert grown.tolist() == spec.ranks_by_proxy(proxies, hits.tolist()).tolist()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_ranks_after_deletions_are_upper_bounds_of_the_right_hits(seed: int, K: int) -> None:
    rng = np.random.default_rng(seed)
    documents = int(rng.integers(8, 25))
    scores, proxies = rng.permutation(documents), rng.integers(-1, 10, documents)
    hits = np.argsort(-scores)[:6].tolist()
    ranks = spec.ranks_by_proxy(proxies, hits).tolist()
    gone = set(rng.permutation(documents)[: rng.integers(0, 6)].tolist())
    struck = spec.struck_ranks(hits, ranks, gone, K)
    left = np.array([i for i in range(documents) if i not in gone])
    if struck is None:
        assert len([hit for hit in hits if hit not in gone]) < K
        return
    true_hits = np.argsort(-scores[left])[:K].tolist()
    assert left[true_hits].tolist() == [hit for hit in hits if hit not in gone][:K]
    now = spec.ranks_by_proxy(proxies[left], true_hits)
    assert (np.array(struck) >= now).all()
