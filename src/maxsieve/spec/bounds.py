"""Decision bounds of the paper's section 4 and appendix A, and the proven radius of Bardenet and Maillard.

Sample sizes are called ``n``, the population (query tokens) ``T``, candidates ``N``, as in the paper.
"""

from __future__ import annotations

import math

import numpy as np

from maxsieve.spec.arithmetic import F64, log

KAPPA = 7.0 / 3.0 + 3.0 / math.sqrt(2.0)
"""The constant of the empirical Bernstein-Serfling inequality (Bardenet and Maillard 2015, Theorem 4.3)."""


def rho_n(n: int, T: int) -> float:
    """The finite-population correction (appendix A), piecewise: 1 at n = 1, 0 at n = T.

    >>> rho_n(1, 32), rho_n(16, 32), rho_n(32, 32)
    (1.0, 0.53125, 0.0)
    """
    if 2 * n <= T:
        return 1.0 - (n - 1) / T
    return (1.0 - n / T) * (1.0 + 1.0 / n)


def paper_factor(n: int, T: int, N: int, alpha: float, delta: float) -> float:
    """The factor of the unbiased ``sigma_i`` in ``r_eff`` (eq. effective_radius, c = 1): infinite for n <= 1.

    ``r_eff = alpha T sigma_i sqrt(2 log(N T / delta) rho_n / n)``. It drops the theorem's O(1/n) term, so that at
    alpha = 1 it is not a proven bound: a row whose first cells happen to be equal gets radius 0.
    """
    if n <= 1:
        return math.inf
    return alpha * T * math.sqrt(2.0 * (log(float(N * T)) - log(delta)) * rho_n(n, T) / n)


def serfling_factors(n: int, T: int, N: int, rounds: int, alpha: float, delta: float) -> tuple[float, float]:
    """The factors of ``sigma_i`` (as in the theorem, with 1/n) and of the range ``b - a`` in the proven radius.

    The theorem is one-sided: with probability at least ``1 - d'`` the mean of a sample of n exceeds the population's
    by no more than ``sigma sqrt(2 rho_n log(5/d') / n) + kappa (b - a) log(5/d') / n``. Both sides of N intervals in
    each of ``rounds`` rounds make ``d' = delta / (2 N rounds)``, hence ``log(10 N rounds / delta)``. The factor ``1 +
    2^-20`` covers the evaluation of sigma, whose relative error stays below ``n (n + 5) 2^-52``.
    """
    if n <= 1:
        return math.inf, math.inf
    confidence = log(float(10 * N * rounds)) - log(delta)
    slack = alpha * T * (1.0 + 2.0**-20)
    return slack * math.sqrt(2.0 * rho_n(n, T) * confidence / n), slack * KAPPA * confidence / n


def hard_bounds(revealed_sum: F64, unrevealed_support: float) -> tuple[F64, F64]:
    """``LB_hard`` and ``UB_hard``: revealed cells plus the support ``[-b_t, b_t]`` of those not yet revealed, summed.

    >>> hard_bounds(np.array([3.0]), 2.0)
    (array([1.]), array([5.]))
    """
    return revealed_sum - unrevealed_support, revealed_sum + unrevealed_support


def hybrid_interval(hard: tuple[F64, F64], estimate: F64, radius: F64) -> tuple[F64, F64]:
    """``[LCB_i, UCB_i]`` (eq. LCB_UCB): the hard bounds intersected with ``S_hat_i +- r_i``."""
    return np.maximum(hard[0], estimate - radius), np.minimum(hard[1], estimate + radius)
