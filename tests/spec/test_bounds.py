"""The radii, computed by hand; and the proven one compared with exact hypergeometric probabilities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from maxsieve.spec import KAPPA, hard_bounds, hybrid_interval, paper_factor, rho_n, serfling_factors


@pytest.mark.parametrize(
    ("n", "T", "want"),
    [
        (1, 32, 1.0),
        (2, 4, 0.75),
        (16, 32, 1 - 15 / 32),
        (17, 32, 15 / 32 * 18 / 17),
        (31, 32, 1 / 32 * 32 / 31),
        (32, 32, 0.0),
        (3, 5, 2 / 5 * 4 / 3),
        (2, 5, 0.8),
        (1, 1, 0.0),
    ],
)
def test_rho_n_by_hand(n: int, T: int, want: float) -> None:
    assert rho_n(n, T) == pytest.approx(want, rel=1e-15)


@pytest.mark.parametrize("T", [2, 5, 32, 101])
def test_rho_n_shrinks_from_one_to_nothing(T: int) -> None:
    values = [rho_n(n, T) for n in range(1, T + 1)]
    assert values[-1] == 0.0
    assert all(0 <= value <= 1 for value in values)
    assert all(later < earlier for earlier, later in itertools.pairwise(values))


def test_kappa() -> None:
    assert pytest.approx(4.454653676892976, rel=1e-15) == KAPPA


def test_paper_factor_by_hand() -> None:
    """n = 4, T = 16, N = 10: log(N T / delta) = log 16000; rho_4 = 13/16."""
    want = 0.5 * 16 * math.sqrt(2 * math.log(16000) * (13 / 16) / 4)
    assert paper_factor(4, 16, 10, 0.5, 0.01) == pytest.approx(want, rel=1e-14)
    assert paper_factor(4, 16, 10, 1.0, 0.01) == pytest.approx(2 * want, rel=1e-14)
    assert paper_factor(16, 16, 10, 1.0, 0.01) == 0.0
    assert paper_factor(1, 16, 10, 0.2, 0.01) == math.inf
    assert paper_factor(0, 16, 10, 0.2, 0.01) == math.inf


def test_serfling_factors_by_hand() -> None:
    """n = 4, T = 16, N = 10, 4 rounds: d' = delta / (2 N R), log(5/d') = log(10 * 10 * 4 / 0.01) = log 40000."""
    on_sigma, on_range = serfling_factors(4, 16, 10, 4, 0.5, 0.01)
    assert on_sigma == pytest.approx(0.5 * 16 * math.sqrt(2 * (13 / 16) * math.log(40000) / 4), rel=2.0**-19)
    assert on_range == pytest.approx(0.5 * 16 * KAPPA * math.log(40000) / 4, rel=2.0**-19)
    assert serfling_factors(1, 16, 10, 4, 1.0, 0.01) == (math.inf, math.inf)


def test_serfling_factors_are_rounded_the_safe_way() -> None:
    for n, T, N, rounds in [(2, 4, 3, 2), (1024, 2048, 5, 32), (4095, 4096, 1000, 1024)]:
        confidence = math.log(10 * N * rounds / 0.05)
        on_sigma, on_range = serfling_factors(n, T, N, rounds, 1.0, 0.05)
        assert on_sigma > T * math.sqrt(2 * rho_n(n, T) * confidence / n) * (1 + 2.0**-21)
        assert on_range > T * KAPPA * confidence / n * (1 + 2.0**-21)
        assert serfling_factors(n, T, N, rounds, 0.25, 0.05)[1] == on_range / 4


def worst_failure(T: int, delta: float, share_of_range: float) -> float:
    """Over all 0/1 populations of T and several n: the exact probability that the sample's interval misses the sum.

    The number of ones in the sample is hypergeometric. One document and one round: both sides together fail with
    probability at most delta.
    """
    worst = 0.0
    for n in {2, 3, T // 8, T // 4, T // 2, T // 2 + 1, 3 * T // 4, T - 2, T - 1, T}:
        on_sigma, on_range = serfling_factors(n, T, 1, 1, 1.0, delta)
        orders = math.comb(T, n)
        for ones in range(T + 1):
            failures = 0
            for seen in range(max(0, n - (T - ones)), min(ones, n) + 1):
                mean = seen / n
                radius = on_sigma * math.sqrt(mean * (1 - mean)) + share_of_range * on_range
                if abs(T * mean - ones) > radius:
                    failures += math.comb(ones, seen) * math.comb(T - ones, n - seen)
            worst = max(worst, failures / orders)
    return worst


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.05])
@pytest.mark.parametrize("T", [12, 60, 160])
def test_the_honest_radius_against_the_hypergeometric_distribution(T: int, delta: float) -> None:
    assert worst_failure(T, delta, 1.0) <= delta


def test_without_its_range_term_the_radius_is_wrong() -> None:
    """What `radius="paper"` leaves out: a sample with no 1 in it has sigma = 0, and is sure of a wrong sum."""
    assert worst_failure(60, 0.05, 0.0) > 0.5


def test_hard_bounds_and_hybrid_interval() -> None:
    hard = hard_bounds(np.array([3.0, -1.0]), 2.0)
    assert [end.tolist() for end in hard] == [[1.0, -3.0], [5.0, 1.0]]
    lower, upper = hybrid_interval(hard, np.array([4.0, 0.0]), np.array([0.5, 10.0]))
    assert lower.tolist() == [3.5, -3.0]
    assert upper.tolist() == [4.5, 1.0]
    lower, upper = hybrid_interval(hard, np.array([4.0, 0.0]), np.array([np.inf, np.inf]))
    assert [lower.tolist(), upper.tolist()] == [[1.0, -3.0], [5.0, 1.0]]


def shortest_useful_query(N: int, block: int, distance: float) -> int:
    """The least T (in steps of `block`) where, with sigma = 0, the honest radius is somewhere under the hard bound.

    `distance` is how far the estimate is from the far end of the support, in units of b: 1 at mean 0, 2 at mean +-b.
    """
    T = block
    while True:
        T += block
        for n in range(block, T, block):
            if n > 1 and serfling_factors(n, T, N, -(-T // block), 1.0, 0.01)[1] * 2 < (T - n) * distance:
                return T


def test_the_honest_radius_cannot_bind_for_short_queries() -> None:
    """docs/theory.md quotes these: N = 1,000, delta = 0.01, block 4."""
    assert shortest_useful_query(1000, 4, 2.0) == 328
    assert shortest_useful_query(1000, 4, 1.0) == 676
