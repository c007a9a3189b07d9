"""Int8 codes with one scale, and the norms that bound their error (for the certified policy)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32, F64, norm_up, up32

TINIEST = np.float32(2.0**-100)
"""Below this largest magnitude codes are all zero and the whole vector is residual: 127/m would leave float32."""


class DocumentCodes(NamedTuple):
    """Codes ``c_j`` of one document, scale ``s_i``, ``rho_i >= max_j |e_j - s_i c_j|`` and ``nu_i >= max_j |e_j|``."""

    codes: NDArray[np.int8]
    scale: np.float32
    rho: np.float32
    nu: np.float32


class QueryCodes(NamedTuple):
    """Codes ``y_t``, scales ``s_t``, upper bounds of ``|q_t|``, ``|s_t y_t|`` and ``eta_t = |q_t - s_t y_t|``."""

    codes: NDArray[np.int8]
    scale: F32
    norm: F64
    code_norm: F64
    eta: F64


def codes_of(x: F32) -> tuple[NDArray[np.int8], np.float32]:
    """Codes in [-127, 127] and the scale ``m/127`` of all numbers in ``x``, ``m`` their largest magnitude.

    In float32: ``c = rint(x * (127/m))``, halves to even; ``|x * (127/m)|`` is at most 127 (1 + 2^-22), so that no code
    leaves its range.

    >>> codes_of(np.array([[0.5, -1.0]], np.float32))[0].tolist()
    [[64, -127]]
    """
    m = np.float32(np.abs(x).max(initial=0))
    if m < TINIEST:
        return np.zeros(x.shape, np.int8), np.float32(0)
    return np.rint(x * (np.float32(127) / m)).astype(np.int8), m / np.float32(127)


def quantise_document(E: F32) -> DocumentCodes:
    """Quantise a document's tokens [L, d] with one scale, so that the argmax over ``j`` needs none.

    ``s_i c_j`` is exact in float64 (24 + 7 bits) and so is ``e_j - s_i c_j``: where ``c_j != 0`` both are of like
    size, and where ``c_j = 0`` it is ``e_j`` itself. Only the norms round, upwards.
    """
    codes, scale = codes_of(E)
    wide = E.astype(np.float64)
    residual = wide - np.float64(scale) * codes
    rho = up32(norm_up(residual).max(initial=0))
    nu = up32(norm_up(wide).max(initial=0))
    return DocumentCodes(codes, scale, np.float32(rho), np.float32(nu))


def quantise_query(Q: F32) -> QueryCodes:
    """Quantise each query token [d] with its own scale: ``q_t = s_t y_t + r_t``, ``eta_t = |r_t|``."""
    pairs = [codes_of(q) for q in Q]
    codes = np.array([pair[0] for pair in pairs], np.int8)
    scale = np.array([pair[1] for pair in pairs], np.float32)
    wide = Q.astype(np.float64)
    coded = scale.astype(np.float64)[:, None] * codes
    return QueryCodes(codes, scale, norm_up(wide), norm_up(coded), norm_up(wide - coded))


def integer_maxima(y: QueryCodes, c: DocumentCodes) -> NDArray[np.int64]:
    """``max_j <y_t, c_j>`` for each query token: integers, hence exact in any order (at most 127^2 * 4096 < 2^27)."""
    return np.asarray((y.codes.astype(np.int64) @ c.codes.astype(np.int64).T).max(axis=1))
