"""bfloat16 in NumPy: a type if ml_dtypes is there, otherwise float32, which holds every bfloat16."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def bfloat16_type() -> np.dtype[Any] | None:
    """NumPy's bfloat16, if the package that has it is installed."""
    try:
        dtype: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None
    return dtype


def bfloat16_rows(bits: NDArray[np.uint16]) -> NDArray[Any]:
    """16-bit patterns as bfloat16 without copying, or as a float32 copy.

    >>> bfloat16_rows(np.array([[0x3F80, 0xC000]], np.uint16)).astype(float).tolist()
    [[1.0, -2.0]]
    """
    if (dtype := bfloat16_type()) is not None and bits.dtype.isnative:
        return bits.view(dtype)
    wide = np.empty(bits.shape, np.uint32)
    np.left_shift(bits, 16, out=wide, dtype=np.uint32)
    return wide.view(np.float32)
