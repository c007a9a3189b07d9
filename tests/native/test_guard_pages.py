"""Segments that end where memory ends: a kernel that reads one byte too many crashes.

Codes are of every value, also of those that no index writes. All kernels give the same bits.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

import numpy as np
import pytest

import child
import maxsieve as ms
from maxsieve import _core
from maxsieve.policies import to_native

DIMS = (1, 5, 16, 31, 33, 64, 67, 130)
LENGTHS = [3, 1, 0, 17, 64, 2, 5, 1]
POLICIES = [ms.Certified(), ms.Exhaustive(), ms.Bandit(margin=0), ms.Bandit(margin=0, alpha=1, radius="serfling")]
NAMES = ("rows", "offsets", "codes", "scale", "rho", "nu")


def before_a_guard_page(array: np.ndarray) -> np.ndarray:
    """A copy whose last byte is the last one before a page that can't be read."""
    pages = -(-max(array.nbytes, 1) // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    guard = ctypes.c_void_p(start + pages * mmap.PAGESIZE)
    if ctypes.CDLL(None, use_errno=True).mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError(ctypes.get_errno(), "mprotect failed")
    copy = np.frombuffer(memory, array.dtype, array.size, pages * mmap.PAGESIZE - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy


def answers(d: int) -> list[tuple[list[int], bytes]]:
    """What all policies answer, for segments with honest codes and with forged ones."""
    rng = np.random.default_rng(d)
    rows = rng.standard_normal((sum(LENGTHS), d)).astype(np.float32)
    (segment,) = ms.Index.build(rows, lengths=LENGTHS).storage.snapshot.segments
    arrays = {name: np.ascontiguousarray(getattr(segment, name)) for name in NAMES}
    forged = rng.integers(-128, 128, arrays["codes"].shape).astype(np.int8)
    found = []
    for codes in (arrays["codes"], forged, np.full_like(forged, -128), np.full_like(forged, 127)):
        guarded = {name: before_a_guard_page(array) for name, array in {**arrays, "codes": codes}.items()}
        corpus = _core.Corpus(d, (_core.Segment(d, **guarded),))
        for tokens in (1, 3, 33):
            query = before_a_guard_page(rng.standard_normal((tokens, d)).astype(np.float32))
            for policy in POLICIES:
                candidates = np.array([i for i, length in enumerate(LENGTHS) if length])
                (answer,) = _core.search(corpus, [query], [candidates], 3, to_native(policy), 2, False)
                found.append((answer.positions, answer.scores.tobytes()))
    return found


def residual_answers(d: int) -> list[tuple[list[int], bytes]]:
    """The same for segments of residual bits, with any bytes, and with ids of centroids that do not exist."""
    rng = np.random.default_rng(d)
    tokens, stride = sum(LENGTHS), _core.code_stride(d)
    codes = np.zeros((4, stride), np.int8)
    codes[:, :d] = rng.integers(-127, 128, (4, d))
    arrays = [codes[:1], np.array([0, 4]), codes, np.ones(4, np.float32)]
    heads, starts, centroids, length = map(before_a_guard_page, arrays)
    book = _core.Codebook(d, heads, starts, centroids, 1 / (127 * d**0.5), length)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    candidates = np.array([i for i, length in enumerate(LENGTHS) if length])
    found = []
    for bits in (1, 2, 4):
        blocks = {
            "levels": rng.integers(0, 256, (tokens, _core.level_bytes(d, bits))).astype(np.uint8),
            "factors": rng.integers(0, 256, (tokens, 2)).astype(np.uint8),
            "centroids": rng.integers(0, 65536, tokens).astype(np.uint16),
            "scale": np.ones(len(LENGTHS), np.float32),
            "nu": np.full(len(LENGTHS), 9, np.float32),
        }
        guarded = {name: before_a_guard_page(array) for name, array in blocks.items()}
        segment = _core.Segment(d, before_a_guard_page(offsets), **guarded, bits=bits, codebook=book)
        corpus = _core.Corpus(d, (segment,))
        for count in (1, 17, 33):
            query = before_a_guard_page(rng.standard_normal((count, d)).astype(np.float32))
            for policy in POLICIES:
                (answer,) = _core.search(corpus, [query], [candidates], 3, to_native(policy), 2, False)
                found.append((answer.positions, answer.scores.tobytes()))
        made = _core.make_lists(book, (segment,), 65536, 1, 2)  # centroids that do not exist are cut, as in a search
        found.append(([], b"".join(block.tobytes() for block in made)))
        found.append(([], b"".join(_core.decode_residual(segment, i).tobytes() for i in range(len(LENGTHS)))))
    return found


PROLOGUE = """
sys.path.insert(0, {folder!r})
import test_guard_pages as tests
"""


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is of POSIX")
def test_nothing_is_read_beyond_the_end() -> None:
    """In a process of its own, for each kernel: a crash is a failure, and does not end the tests."""
    code = (
        PROLOGUE.format(folder=os.path.dirname(__file__))
        + "for d in tests.DIMS: print(tests.answers(d), tests.residual_answers(d))"
    )
    first, *others = [child.run(code, MAXSIEVE_ISA=isa).splitlines() for isa in ms.isas()]
    assert len(first) == len(DIMS)
    assert all(one == first for one in others)


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is of POSIX")
def test_the_guard_page_guards() -> None:
    code = (
        PROLOGUE.format(folder=os.path.dirname(__file__)) + "guarded = tests.before_a_guard_page(np.ones(5, np.int8))\n"
    )
    child.run(code + "tests.ctypes.string_at(guarded.ctypes.data, 5)")
    with pytest.raises(AssertionError, match="exit code -"):
        child.run(code + "tests.ctypes.string_at(guarded.ctypes.data, 6)")
