"""A store of a few bits a number: a token is its centroid plus the rotated residual, in 1, 2 or 4 bits.

The space is rotated once. A query is rotated, too, and everything else happens in the rotated space: there a stored
row is ``x_j = g_i (A v_j c + P u_j l_j)``, with the scale ``g_i`` of its document, its centroid ``c``, its levels
``l_j`` (odd integers), two factors of one byte each, ``v_j`` and ``u_j``, and two steps, ``A`` and ``P``. So the
proxy of a cell is a maximum of integers. docs/theory.md has the proof of its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32, F64, Draws, lane_sum, norm_up, up32
from maxsieve.spec.codebook import Codebook
from maxsieve.spec.quantiser import TINIEST, QueryCodes

BITS = (1, 2, 4)

CLIP = {1: 1.0, 2: 1.7, 4: 2.6}
"""Levels cover so many standard deviations of a residual's numbers, on either side of zero."""

LARGEST_SCALE = {1: 1.25, 2: 0.55, 4: 0.25}
"""The largest ``P u``, times sqrt(d): a token that no centroid is near to has about this one."""

LARGEST_LENGTH = 1.2
"""The largest ``A v``."""

LONGEST_CENTROID = 2.0
"""No centroid of a store is longer. Trained ones have about unit length."""


def rotate(x: F32) -> F32:
    """Rows [n, d] in the rotated space: two rounds of random signs and of Hadamard butterflies, in float32.

    Butterflies work on blocks of powers of two: 96 numbers are a block of 64 and one of 32 in the first round, and one
    of 32 and one of 64 in the second. After its butterflies a block of n is multiplied by 1/sqrt(n).

    >>> rotate(np.array([[3, 4, 0]], np.float32)).astype(np.float64).round(4).tolist()
    [[4.9497, 0.5, 0.5]]
    """
    for turn in (0, 1):
        x = x * signs(x.shape[-1], turn)
        x = _butterflies(x, turn)
    return x


def unrotate(x: F32) -> F32:
    """Rows of the rotated space in the caller's space, up to rounding: the same steps, backwards.

    >>> unrotate(rotate(np.array([[3, 4, 0]], np.float32))).round(4).tolist()
    [[3.0, 4.0, -0.0]]
    """
    for turn in (1, 0):
        x = _butterflies(x, turn)
        x = x * signs(x.shape[-1], turn)
    return x


def signs(d: int, turn: int) -> F32:
    """The signs of a round: number ``k`` has bit ``k % 64`` of word ``k // 64`` of SplitMix64, seeded by the round."""
    draws = Draws(turn)
    words = [draws.word() for _ in range(-(-d // 64))]
    return np.array([1 - 2 * (words[k // 64] >> (k % 64) & 1) for k in range(d)], np.float32)


def _butterflies(x: F32, turn: int) -> F32:
    blocks = [1 << bit for bit in range(12, -1, -1) if x.shape[-1] >> bit & 1]
    out, start = np.empty_like(x), 0
    for n in blocks if turn == 0 else reversed(blocks):
        block, half = x[..., start : start + n], 1
        while half < n:
            pairs = block.reshape(*x.shape[:-1], n // (2 * half), 2, half)
            a, b = pairs[..., 0, :], pairs[..., 1, :]
            block = np.stack([a + b, a - b], axis=-2).reshape(*x.shape[:-1], n)
            half *= 2
        out[..., start : start + n] = block * np.float32(1.0 / sqrt(n))
        start += n
    return out


class Steps(NamedTuple):
    """The steps ``A`` and ``P`` of the two factors, and how far entries of the table are shifted."""

    length: np.float32
    scale: np.float32
    shift: int


def steps_of(d: int, bits: int) -> Steps:
    """The steps for d numbers a row.

    An entry of the table, before the shift, is at most ``127 sqrt(d) LONGEST_CENTROID A/P`` in magnitude; the shift
    brings it into int16.

    >>> [steps_of(128, bits).shift for bits in BITS]
    [0, 2, 3]
    """
    length, scale = np.float32(LARGEST_LENGTH / 255.0), np.float32(LARGEST_SCALE[bits] / sqrt(d) / 255.0)
    largest, shift = 127.0 * sqrt(d) * LONGEST_CENTROID * float(length) / float(scale), 0
    while largest > 32760.0 * 2**shift:
        shift += 1
    return Steps(length, scale, shift)


class ResidualCodes(NamedTuple):
    """A document: centroids, levels [L, d], factors [L, 2] (``v_j`` and ``u_j``), ``g_i``, ``nu_i >= max_j |x_j|``."""

    bits: int
    centroids: NDArray[np.int64]
    levels: NDArray[np.int8]
    factors: NDArray[np.uint8]
    scale: np.float32
    nu: np.float32


def encode(book: Codebook, E: F32, centroids: NDArray[np.int64], bits: int) -> ResidualCodes:
    """A document's rows [L, d] of the rotated space, as codes. Everything is float64, each operation rounded.

    With ``e`` brought to unit length and ``r = e - c``: levels are odd, ``2 floor(r / step) + 1`` within the range;
    ``w = |r|^2 / <r, l>`` makes the part of ``w l`` along ``r`` as long as ``r``; and ``a = 1 / <e, c + w l>`` makes
    the part of the row along ``e`` as long as ``e``: a token that is stored well does not gain over one that is stored
    badly, as it would with rows of unit length. The factors are ``a`` and ``a w``, times the row's share of the
    largest norm in the document; ``a`` is cut to its largest value, so that both fit into a byte.
    """
    steps, half = steps_of(E.shape[1], bits), 2 ** (bits - 1)
    wide = E.astype(np.float64)
    norms = np.sqrt(lane_sum(wide * wide))
    scale = np.float32(norms.max(initial=0.0))
    levels, factors = np.full(E.shape, 1, np.int8), np.zeros((len(E), 2), np.uint8)
    if scale < TINIEST:
        return ResidualCodes(bits, centroids, levels, factors, np.float32(0), np.float32(0))
    for j in np.flatnonzero(norms):
        c = np.float64(book.scale) * book.codes[centroids[j]].astype(np.float64)
        e = wide[j] * (1.0 / norms[j])
        r = e - c
        square = lane_sum(r * r)
        step = CLIP[bits] * np.sqrt(square * (1.0 / E.shape[1])) * (1.0 / half)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor(r * (1.0 / step)) if step > 0 else np.zeros(len(r))
        level = 2.0 * np.clip(k, -half, half - 1) + 1.0
        along = lane_sum(r * level)
        w = square / along if along > 0 else 0.0
        row = c + w * level
        toward = lane_sum(e * row)
        a = min(norms[j] / np.float64(scale) / toward, 255.0 * float(steps.length)) if toward > 0 else 0.0
        levels[j] = level
        whole = np.array([a / float(steps.length), a * w / float(steps.scale)], np.float64)
        factors[j] = np.minimum(np.rint(whole), 255.0)
    codes = ResidualCodes(bits, centroids, levels, factors, scale, np.float32(0))
    nu = up32(norm_up(decode(book, codes).astype(np.float64)).max(initial=0))
    return codes._replace(nu=np.float32(nu))


def decode(book: Codebook, codes: ResidualCodes) -> F32:
    """The stored rows ``x_j`` of the rotated space, in float32, each operation rounded."""
    steps = steps_of(codes.levels.shape[1], codes.bits)
    v, u = codes.factors.astype(np.float32).T
    on_centroid = (codes.scale * (steps.length * v)) * book.scale
    on_levels = codes.scale * (steps.scale * u)
    centroid = book.codes[codes.centroids].astype(np.float32)
    rows: F32 = on_centroid[:, None] * centroid + on_levels[:, None] * codes.levels.astype(np.float32)
    return rows


class SignSums(NamedTuple):
    """Sums of four of a query token's codes, for each pattern of their signs, in steps of ``step`` (float32).

    ``entries[t, g, pattern]`` is the sum over ``i`` of ``+-y_t[4 g + i]``, where bit ``i`` of the pattern is the sign.
    ``error[t]`` bounds the sum over ``g`` of what rounding to whole steps changes, whatever the patterns are.
    """

    entries: NDArray[np.int64]
    step: F32
    error: F64


LARGEST_SUM = 125.0
"""The magnitudes of 16 numbers have at most this sum, in steps. Rounded, four entries then sum to at most 127."""


def sign_sums(y: QueryCodes, bits: int) -> SignSums:
    """The sums for 1 or 2 bits, so that those of 16 numbers fit into a byte. Every operation is exact but ``rint``.

    With 4 bits there are none: products of the codes are exact, and the step is 1.
    """
    T, d = y.codes.shape
    if bits == 4:
        return SignSums(np.zeros((T, 0, 16), np.int64), np.ones(T, np.float32), np.zeros(T))
    padded = np.zeros((T, -(-d // 16) * 16))
    padded[:, :d] = y.codes
    largest = np.abs(padded).reshape(T, -1, 16).sum(axis=2).max(axis=1)
    step = np.maximum(largest / LARGEST_SUM, 1.0).astype(np.float32)
    wide = step.astype(np.float64)[:, None, None]
    signs_of = 2.0 * (np.arange(16)[:, None] >> np.arange(4) & 1) - 1.0
    sums = padded.reshape(T, -1, 4) @ signs_of.T
    entries = np.rint(sums * (1.0 / wide))
    error = np.abs(sums - entries * wide).max(axis=2).sum(axis=1)
    return SignSums(entries.astype(np.int64), step, error)


def level_sums(y: QueryCodes, levels: NDArray[np.int8], bits: int) -> NDArray[np.int64]:
    """``R[j, t]``: about ``<y_t, l_j>`` in steps of the sums. Levels of 2 bits are twice one sign plus another."""
    if bits == 4:
        return np.asarray(levels.astype(np.int64) @ y.codes.astype(np.int64).T)
    sums = sign_sums(y, bits)
    groups = sums.entries.shape[1]
    total = np.zeros((len(levels), len(y.codes)), np.int64)
    number = (levels.astype(np.int64) + 2**bits - 1) >> 1
    for plane in range(bits):
        signs = np.zeros((len(levels), 4 * groups), np.int64)
        signs[:, : levels.shape[1]] = number >> plane & 1
        patterns = signs.reshape(len(levels), groups, 4) @ (1 << np.arange(4))
        total += sums.entries[:, np.arange(groups), patterns].sum(axis=2).T << plane
    return total


def table(book: Codebook, y: QueryCodes, bits: int) -> NDArray[np.int64]:
    """Entries [C, T]: ``<y_t, g_c>`` times ``F_t = scale A / (P 2^shift step_t)``, in float32, rounded to integers."""
    steps = steps_of(y.codes.shape[1], bits)
    shifted = float(book.scale) * float(steps.length) / float(steps.scale) * 2.0**-steps.shift
    factors = (shifted / sign_sums(y, bits).step.astype(np.float64)).astype(np.float32)
    dots = book.codes.astype(np.int64) @ y.codes.astype(np.int64).T
    return np.asarray(np.rint(dots.astype(np.float32) * factors), np.int64)


def integer_maxima(book: Codebook, y: QueryCodes, codes: ResidualCodes) -> NDArray[np.int64]:
    """``max_j (v_j 2^shift S[c_j, t] + u_j R[j, t])`` for each query token."""
    steps = steps_of(codes.levels.shape[1], codes.bits)
    v, u = codes.factors.astype(np.int64).T
    near = table(book, y, codes.bits)[codes.centroids]
    along = level_sums(y, codes.levels, codes.bits)
    return np.asarray(((v[:, None] << steps.shift) * near + u[:, None] * along).max(axis=0))


def weights(y: QueryCodes, bits: int) -> F64:
    """What one step of the integers is worth: ``s_t step_t P``, rounded once to float64."""
    steps = y.scale.astype(np.float64) * sign_sums(y, bits).step.astype(np.float64)
    return np.asarray(steps * float(steps_of(y.codes.shape[1], bits).scale))


def proxy(book: Codebook, y: QueryCodes, codes: ResidualCodes) -> float:
    """``P_i = g_i * sum_t (s_t step_t P * maximum)`` in float64, the sum in lane order."""
    return float(np.float64(codes.scale) * lane_sum(weights(y, codes.bits) * integer_maxima(book, y, codes)))


class ResidualTerms(NamedTuple):
    """``eps_i = (g_i * (on_scale + u_i * on_factor) + nu_i * on_nu + constant) * (1 + 2^-38)``, ``u_i = max_j u_j``."""

    on_scale: float
    on_factor: float
    on_nu: float
    constant: float


def error_terms(y: QueryCodes, bits: int) -> ResidualTerms:
    """The query's part of ``eps_i`` (docs/theory.md derives each term).

    - ``nu_i sum eta_t``: the error of the query's codes;
    - ``128 2^shift g_i sum s_t step_t P``: entries of the table are rounded to integers;
    - ``u_i g_i (2^bits - 1) P sum s_t error_t``: so are the sums for patterns of signs;
    - ``50 2^-24 g_i`` and ``8 2^-24 nu_i``, times ``sum |s_t y_t|``: float32 in the table and in the stored rows;
    - ``(d + 6) 2^-24 nu_i sum |q_t|``: canonical against real scores;
    - ``(T + 9) 2^-52``: evaluating ``P_i``; the constant: underflow in the chains and in the stored rows.
    """
    T, d = y.codes.shape
    code_norms, norms, etas = float(lane_sum(y.code_norm)), float(lane_sum(y.norm)), float(lane_sum(y.eta))
    rounded = float(lane_sum(weights(y, bits))) * float(128 << steps_of(d, bits).shift)
    lost = float(lane_sum(y.scale.astype(np.float64) * sign_sums(y, bits).error))
    evaluation = (T + 9) * 2.0**-52
    return ResidualTerms(
        on_scale=rounded * (1.0 + evaluation) + 50.0 * 2.0**-24 * code_norms,
        on_factor=lost * (float(2**bits - 1) * float(steps_of(d, bits).scale)) * (1.0 + evaluation),
        on_nu=etas + (d + 6) * 2.0**-24 * norms + (8.0 * 2.0**-24 + evaluation) * code_norms,
        constant=T * (d + 1) * 2.0**-149 + (norms + code_norms) * (d * 2.0**-146),
    )


def epsilon(terms: ResidualTerms, codes: ResidualCodes) -> float:
    """``eps_i``, in the order in which `ResidualTerms` has it."""
    largest = float(codes.factors[:, 1].max(initial=0))
    on_scale = terms.on_scale + largest * terms.on_factor
    return (float(codes.scale) * on_scale + float(codes.nu) * terms.on_nu + terms.constant) * (1.0 + 2.0**-38)


def proxies_and_errors(book: Codebook, y: QueryCodes, documents: Sequence[ResidualCodes], bits: int) -> tuple[F64, F64]:
    """``P_i`` and ``eps_i`` of every document: ``|S_i - P_i| <= eps_i`` always. Empty documents get ``-inf`` and 0."""
    terms = error_terms(y, bits)
    P, eps = np.full(len(documents), -np.inf), np.zeros(len(documents))
    for i, codes in enumerate(documents):
        if len(codes.levels):
            P[i], eps[i] = proxy(book, y, codes), epsilon(terms, codes)
    return P, eps
