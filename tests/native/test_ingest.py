"""From any array to a segment: every type, layout and rounding gives the specification's bits, with any threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import _core, spec
from maxsieve.storage import segments


def unaligned(rows: Any) -> Any:
    return np.frombuffer(b"?" + rows.tobytes(), np.uint8)[1:].view(rows.dtype).reshape(rows.shape)


def every_other(rows: Any) -> Any:
    wide = np.full((2 * len(rows), 3 * rows.shape[1]), 99, rows.dtype)
    wide[::2, 1::3] = rows
    return wide[::2, 1::3]


TYPES = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ">f2", ">f4", ">f8"]
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "backwards": lambda rows: np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1],
    "rows apart": lambda rows: np.concatenate([rows, rows], axis=1)[:, : rows.shape[1]],
    "numbers apart": every_other,
    "unaligned": unaligned,
    "one row again and again": lambda rows: np.broadcast_to(rows[:1], rows.shape),
}


def stored(rows: Any, store: str, similarity: str) -> Any:
    """What the index should store of a document."""
    exact = spec.normalise(rows.astype(np.float32)) if similarity == "cosine" else rows.astype(np.float32)
    return exact.astype(store)


def check(documents: list[Any], store: Any, similarity: Any, threads: int) -> None:
    index = ms.Index.build(documents, store=store, similarity=similarity, threads=threads)
    at = 0
    for segment in index.storage.snapshot.segments:
        for i in range(segment.documents):
            rows = slice(segment.offsets[i], segment.offsets[i + 1])
            expected = stored(documents[at], store, similarity)
            codes = spec.quantise_document(expected.astype(np.float32))
            assert segment.rows[rows].tobytes() == expected.tobytes()
            assert np.array_equal(segment.codes[rows, : index.dim], codes.codes)
            assert not segment.codes[rows, index.dim :].any()
            for name in ("scale", "rho", "nu"):
                assert getattr(segment, name)[i].tobytes() == getattr(codes, name).tobytes(), name
            at += 1
    assert at == len(documents)


@given(data=st.data())
def test_types_and_layouts_mixed_in_one_list(data: st.DataObject) -> None:
    d = data.draw(st.sampled_from([1, 5, 31, 32, 33, 64, 100]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    documents = []
    for _ in range(data.draw(st.integers(1, 12))):
        rows = rng.standard_normal((data.draw(st.sampled_from([0, 1, 2, 3, 9])), d))
        layout = LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)))]
        documents.append(layout(rows.astype(data.draw(st.sampled_from(TYPES)))))
    store, similarity = (
        data.draw(st.sampled_from(["float32", "float16"])),
        data.draw(st.sampled_from(["dot", "cosine"])),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "BLOCK_BYTES", 4 * d * data.draw(st.sampled_from([1, 7, 10**6])))
        check(documents, store, similarity, data.draw(st.sampled_from([1, 2, 5])))


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_type_in_every_layout(layout: str, kind: Any, isa: str) -> None:
    rng = np.random.default_rng(1)
    documents = [LAYOUTS[layout](rng.standard_normal((n, 37)).astype(kind)) for n in (3, 0, 1, 20)]
    for store in ("float32", "float16"):
        check(documents, store, "dot", 1)


def test_many_documents_on_many_threads(isa: str) -> None:
    """More than one task for each thread, with short documents next to long ones and to many empty ones."""
    rng = np.random.default_rng(2)
    lengths = [*rng.integers(0, 40, 300), 9000, *[0] * 5000, *rng.integers(0, 40, 300)]
    documents = [rng.standard_normal((n, 32), np.float32) for n in lengths]
    for store, similarity in (("float32", "dot"), ("float16", "cosine")):
        check(documents, store, similarity, 3)


def test_every_rounding_to_float16() -> None:
    """All finite halves, the points midway between neighbours, and the floats beside those."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    midway = (halves[1:] + halves[:-1]) / 2
    beside = [np.nextafter(midway, np.float32(toward)) for toward in (0, np.inf)]
    tiny = np.array([2.0**-149, 2.0**-126, 2.0**-26, 65519.996], np.float32)
    numbers = np.concatenate([halves, midway, *beside, tiny])
    numbers = np.concatenate([numbers, -numbers])
    numbers = numbers[: len(numbers) // 31 * 31].reshape(-1, 31)
    index = ms.Index.build([numbers], store="float16")
    assert index.vectors(0).tobytes() == numbers.astype(np.float16).tobytes()


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("store", ["float32", "float16"])
def test_the_first_bad_document_is_named_by_any_thread(store: Any, similarity: Any) -> None:
    rng = np.random.default_rng(3)
    documents = [rng.standard_normal((20, 64), np.float32) for _ in range(2000)]
    for i in (700, 703, 1300, 1999):
        documents[i] = documents[i].copy()
        documents[i][3, 7] = np.nan
    for threads in (1, 8):
        with pytest.raises(ValueError, match=r"^document 700, row 3, dimension 7"):
            ms.Index.build(documents, store=store, similarity=similarity, threads=threads)


class OneBuffer:
    """Has `__array__`, and all objects of this class return the same memory."""

    memory = np.zeros((2, 3), np.float32)

    def __init__(self, number: float) -> None:
        self.number = number

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self.memory[:] = self.number
        return self.memory


class LazyList(list[Any]):
    """A list that makes its documents while it is read, all in the same memory."""

    def __iter__(self) -> Iterator[Any]:
        memory = np.zeros((2, 3), np.float32)
        for number in range(len(self)):
            memory[:] = number
            yield memory


@pytest.mark.parametrize("docs", [LazyList([0] * 5), [OneBuffer(i) for i in range(5)]], ids=["list", "documents"])
def test_memory_that_is_used_again_is_copied_in_time(docs: Any) -> None:
    index = ms.Index.build(docs)
    assert [index.vectors(i)[0, 0] for i in range(5)] == [0, 1, 2, 3, 4]


def arguments(**changed: Any) -> tuple[Any, ...]:
    """The arguments of `_core.ingest`, for two documents of two and one token."""
    given: dict[str, Any] = {
        "arrays": [np.ones((2, 3), np.float32), np.ones((1, 3))],
        "dim": 3,
        "offsets": np.array([0, 2, 3]),
        "rows": np.zeros((3, 3), np.float32),
        "codes": np.zeros((3, 32), np.int8),
        **{name: np.zeros(2, np.float32) for name in ("scale", "rho", "nu")},
        "cosine": False,
        "threads": 1,
    }
    return tuple((given | changed).values())


WRONG: dict[str, dict[str, Any]] = {
    "fewer rows": {"arrays": [np.ones((2, 3))]},
    "more rows": {"arrays": [np.ones((4, 3))]},
    "another dimension": {"arrays": [np.ones((3, 2))]},
    "a vector": {"arrays": [np.ones(9)]},
    "integers": {"arrays": [np.ones((3, 3), np.int32)]},
    "big-endian": {"arrays": [np.ones((3, 3), ">f4")]},
    "no buffer": {"arrays": [[[1.0] * 3] * 3]},
    "no list": {"arrays": np.ones((3, 3))},
    "offsets beyond the rows": {"offsets": np.array([0, 2, 4])},
    "falling offsets": {"offsets": np.array([0, 4, 3])},
    "codes too narrow": {"codes": np.zeros((3, 31), np.int8)},
    "too few bounds": {"rho": np.zeros(1, np.float32)},
    "float64 rows": {"rows": np.zeros((3, 3))},
    "read-only rows": {"rows": np.broadcast_to(np.float32(0), (3, 3))},
    "no thread": {"threads": 0},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_core_checks_shapes_itself(wrong: str) -> None:
    assert _core.ingest(*arguments()) == -1
    with pytest.raises((ValueError, TypeError, BufferError)):
        _core.ingest(*arguments(**WRONG[wrong]))
