"""Another library may have set the thread to flush denormal numbers to zero: no bit of ours depends on that."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator

import numpy as np
import pytest

import child
import maxsieve as ms

TINY = 2.0**-140
FLUSH_TO_ZERO, DENORMALS_ARE_ZERO = 0x8000, 0x0040
MXCSR = 28  # where glibc's fenv_t for x86-64 has it

pytestmark = pytest.mark.skipif(
    child.glibc() is None or platform.machine() != "x86_64", reason="the state is set as glibc has it on x86-64"
)


@pytest.fixture
def flushing() -> Iterator[None]:
    libm = child.glibc()
    assert libm is not None
    before, flushed = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
    libm.fegetenv(before)
    libm.fegetenv(flushed)
    state = ctypes.c_uint32.from_buffer(flushed, MXCSR)
    state.value |= FLUSH_TO_ZERO | DENORMALS_ARE_ZERO
    libm.fesetenv(flushed)
    yield
    libm.fesetenv(before)


# Made before anything is flushed.
def tokens(x: float) -> list[object]:
    return [[[x, 0.0]], np.array([[x, 0.0]]), np.array([[x, 0.0]], np.float32), np.array([[x, 0.0]], ">f8")]


@pytest.mark.parametrize("tiny", tokens(TINY), ids=["list", "float64", "float32", "big-endian"])
@pytest.mark.usefixtures("flushing")
def test_small_numbers_stay(tiny: object) -> None:
    large = np.array([[2.0**40, 0.0]])
    score = np.uint32((127 + 40 - 140) << 23)  # the bits of 2^(40 - 140)
    denormal = np.uint32(1 << 9)  # of 2^-140, in units of 2^-149
    assert ms.Index.build([large]).search(tiny, 1).scores.view(np.uint32).item() == score
    assert ms.maxsim([tiny], [large]).view(np.uint32).item() == score
    for documents in ([tiny], (one for one in [tiny])):
        index = ms.Index.build(documents)
        assert index.vectors(0).view(np.uint32)[0, 0] == denormal
        assert index.search(large, 1).scores.view(np.uint32).item() == score


@pytest.mark.usefixtures("flushing")
def test_the_thread_keeps_its_state() -> None:
    ms.Index.build([np.array([[TINY]])]).search(np.array([[TINY]]))
    smallest = np.array([2.0**-126], np.float32)
    assert not (smallest * np.float32(0.5)).view(np.uint32).any()
