"""The arithmetic that every engine shares: one rounding order for each quantity, written down once.

Everything here uses only operations that IEEE 754 rounds correctly (+, -, *, /, sqrt), so that NumPy, a C compiler and
any CPU agree to the last bit. No transcendental function of a C library is called: those differ between libraries.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

LANES = 8


def fma32(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> F32:
    """Fused multiply-add: ``a*b + c`` for float32 operands, rounded once to float32.

    The product of two float32 numbers has at most 48 significant bits and is exact in float64. Adding ``c`` there
    would round once and the cast to float32 a second time; to make the pair as good as one rounding, the float64 sum
    is rounded *to odd*: where the sum is inexact (its error comes from the TwoSum algorithm) and its last bit is
    even, it is moved to the neighbour on the side of the error. 53 bits >= 24 + 2 then make the final cast correct,
    denormals included.

    >>> x = np.float32(1 + 2**-12)
    >>> float(fma32(x, x, np.float32(-1 - 2**-11))) == 2.0**-24
    True
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    addend = np.asarray(c, np.float64)
    total = np.asarray(product + addend)
    virtual = total - product
    error = (product - (total - virtual)) + (addend - virtual)
    bits = total.view(np.int64)
    away_from_zero = (error > 0) == (total > 0)
    to_odd = (error != 0) & (bits & 1 == 0)
    bits = bits + np.where(to_odd, np.where(away_from_zero, 1, -1), 0)
    return np.asarray(bits.view(np.float64).astype(np.float32))


def lane_sum(x: F64) -> F64:
    """Sum over the last axis in the order of eight SIMD lanes.

    Lane ``l`` adds ``x[l], x[l + 8], ...`` in turn; then the lanes are folded in halves: four sums ``l + (l + 4)``, two
    sums of those at distance 2, and the sum of the two.

    >>> float(lane_sum(np.arange(20.0)))
    190.0
    """
    short = -x.shape[-1] % LANES
    if short:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], short))], axis=-1)
    lanes = np.zeros((*x.shape[:-1], LANES))
    for start in range(0, x.shape[-1], LANES):
        lanes = lanes + x[..., start : start + LANES]
    half = lanes[..., :4] + lanes[..., 4:]
    quarter = half[..., :2] + half[..., 2:]
    return np.asarray(quarter[..., 0] + quarter[..., 1])


def norm_up(x: F64) -> F64:
    """An upper bound of the Euclidean norm over the last axis (length d).

    The lane sum of d squares is off by a factor within ``1 +- (d/8 + 4) 2^-53``; the factor ``1 + (d + 16) 2^-52``
    under the square root more than covers that, its own product and the rounding of the root.

    >>> bool(norm_up(np.array([3.0, 4.0])) >= 5.0)
    True
    """
    slack = 1.0 + (x.shape[-1] + 16) * 2.0**-52
    return np.asarray(np.sqrt(lane_sum(x * x) * slack))


def up32(x: ArrayLike) -> F32:
    """The smallest float32 that is not below ``x``.

    >>> float(up32(0.1)) >= 0.1
    True
    """
    x = np.asarray(x, np.float64)
    nearest = x.astype(np.float32)
    above = np.nextafter(nearest, np.float32(np.inf))
    return np.where(nearest.astype(np.float64) < x, above, nearest).astype(np.float32)


def normalise(rows: F32) -> F32:
    """Rows divided by their Euclidean norm, computed in float64 and rounded to float32; a zero row stays as it is.

    >>> normalise(np.array([[3, 4], [0, 0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = rows.astype(np.float64)
    norm = np.sqrt(lane_sum(wide * wide))[..., None]
    return np.asarray(np.divide(wide, norm, out=wide.copy(), where=norm > 0), np.float32)


def log(x: float) -> float:
    """Natural logarithm of a positive number, from correctly rounded operations alone.

    ``x = m 2^e`` with m in [1/sqrt 2, sqrt 2); with ``z = (m - 1)/(m + 1)``, ``log m = 2 (z + z^3/3 + z^5/5 + ...)``.
    As ``z^2 <= 0.0295``, twelve terms leave less than 1e-18. The error is below 1e-14 relative to ``1 + |log x|``.

    >>> abs(log(12345.678) - math.log(12345.678)) < 1e-14
    True
    """
    m, e = math.frexp(x)
    if m < 0.7071067811865476:
        m, e = m * 2.0, e - 1
    z = (m - 1.0) / (m + 1.0)
    square = z * z
    series = 0.0
    for term in range(11, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return e * 0.6931471805599453 + 2.0 * z * series


class Draws:
    """Uniform random numbers from a seed, implemented here so that they do not change with NumPy's version.

    SplitMix64 gives 64-bit words. Words below ``2^64 mod n`` are rejected, so that all numbers below ``n`` are equally
    likely (given the generator).
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        while (word := self.word()) < (1 << 64) % n:
            pass
        return word % n

    def word(self) -> int:
        """The next 64-bit word."""
        self._state = word = (self._state + 0x9E3779B97F4A7C15) & _MASK
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
        return word ^ (word >> 31)


_MASK = (1 << 64) - 1


def permutation(T: int, seed: int) -> NDArray[np.int64]:
    """The reveal order ``pi`` of Algorithm 1: a uniform permutation of ``0..T-1`` drawn from ``seed``.

    The Fisher-Yates shuffle goes from the last place to the first and swaps with a random place: all ``T!`` orders are
    equally likely.

    >>> permutation(8, 0).tolist()
    [2, 5, 0, 3, 4, 6, 1, 7]
    """
    draws, order = Draws(seed), list(range(T))
    for last in range(T - 1, 0, -1):
        partner = draws.below(last + 1)
        order[last], order[partner] = order[partner], order[last]
    return np.array(order, np.int64)


def sample(count: int, wanted: int, seed: int) -> NDArray[np.int64]:
    """``wanted`` of the numbers below ``count``, ascending: the documents that a trace shows if it can't show all.

    Each number in turn is taken with probability "still wanted over still to come": all choices are equally likely.

    >>> sample(10, 4, 0).tolist()
    [1, 4, 5, 9]
    """
    draws, chosen = Draws(seed), list[int]()
    for i in range(count):
        if len(chosen) == wanted:
            break
        if draws.below(count - i) < wanted - len(chosen):
            chosen.append(i)
    return np.array(chosen, np.int64)
