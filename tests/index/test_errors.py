"""Everything that is refused: a clear error for each, and afterwards the index answers as before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import ClosedIndexError, MaxsieveError
from maxsieve.storage import segments

from .support import Rows, check_sentence, contents, eighths, refused

DOCUMENTS = eighths(7, 8)
GOOD = np.ones((2, 5), np.float32)
BAD_NUMBERS = {
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "just over 2^50": 2.0**50 + 2.0**27,
    "just under -2^50": -(2.0**50) - 2.0**27,
    "largest float32": float(np.finfo(np.float32).max),
    "float64 beyond float32": 1e300,
}


@pytest.fixture
def index() -> ms.Index:
    return ms.Index.build(DOCUMENTS, [f"d{i}" for i in range(8)])


def with_number(number: float, tokens: int = 3, row: int = 1, column: int = 4) -> Any:
    rows = np.ones((tokens, 5), np.float64)
    rows[row, column] = number
    return rows if number == 1e300 else rows.astype(np.float32)


# Numbers


@pytest.mark.parametrize("number", BAD_NUMBERS.values(), ids=BAD_NUMBERS)
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("store", ["float32", "float16"])
def test_bad_numbers_name_document_and_row(number: float, similarity: Any, store: Any) -> None:
    index = ms.Index.build(DOCUMENTS, [f"d{i}" for i in range(8)], similarity=similarity, store=store)
    bad = with_number(number)
    where = "document 'bad', row 1, dimension 4", "2**50"
    with refused(index, ValueError, *where):
        index.add([GOOD, bad, GOOD], ["fine", "bad", "also fine"])
    with refused(index, ValueError, *where):
        index.add(np.concatenate([GOOD, bad]), ["fine", "bad"], lengths=[2, 3])
    with refused(index, ValueError, *where):
        index.add(np.stack([np.ones((3, 5)), bad]), ["fine", "bad"])
    with refused(index, ValueError, "document 'd3', row 1"):
        index.add(iter([GOOD, bad]), ["fine", "d3"], replace=True)
    with refused(index, ValueError, "query, row 1, dimension 4"):
        index.search(bad)
    with refused(index, ValueError, "query 1, row 1, dimension 4"):
        index.search_many([GOOD, bad])
    with pytest.raises(ValueError, match=r"^document 2, row 1, dimension 4") as caught:
        ms.Index.build([GOOD, GOOD[:0], bad], similarity=similarity, store=store)
    check_sentence(caught.value)


@pytest.mark.parametrize("number", BAD_NUMBERS.values(), ids=BAD_NUMBERS)
def test_bad_numbers_in_one_shot_scoring(number: float) -> None:
    bad = with_number(number)
    with pytest.raises(ValueError, match=r"^document 1, row 1, dimension 4"):
        ms.maxsim(GOOD, [GOOD, bad])
    with pytest.raises(ValueError, match=r"^query 1, row 1, dimension 4"):
        ms.maxsim([GOOD, bad], [GOOD])
    with pytest.raises(ValueError, match=r"^document 1, row 1, dimension 4"):
        ms.rerank(GOOD, [GOOD, bad])
    with pytest.raises(ValueError, match=r"^query, row 1, dimension 4"):
        ms.rerank(bad, [GOOD])


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_nan_of_every_type_is_refused(index: ms.Index, kind: Any) -> None:
    for number in (np.nan, np.inf):
        with refused(index, ValueError, "document 'bad', row 1, dimension 4"):
            index.add([with_number(number).astype(kind)], ["bad"])
    signalling = np.array([0x7FF4_0000_0000_0001], np.uint64).view(np.float64)
    with refused(index, ValueError, "row 0, dimension 0"):
        index.add([np.repeat(signalling[None], 5, axis=1)], ["bad"])


@pytest.mark.parametrize("number", [2.0**50, -(2.0**50), 2.0**-149, 0.0, -0.0])
def test_numbers_at_the_edge_are_fine(number: float) -> None:
    rows = np.full((2, 5), number, np.float32)
    index = ms.Index.build([rows])
    assert index.vectors(0).tobytes() == rows.tobytes()
    assert np.isfinite(index.search(rows).scores).all()
    assert np.isfinite(ms.maxsim(rows, [rows])).all()


def test_what_is_too_large_for_float16(index: ms.Index) -> None:
    half = ms.Index.build(DOCUMENTS, store="float16")
    with refused(half, ValueError, "document 9, row 1", "65504", "float32"):
        half.add([with_number(65520.0)], [9])
    with refused(half, ValueError, "document 9, row 1", "65504"):
        half.add([with_number(-(2.0**50))], [9])
    half.add([with_number(65519.0)], [9])
    assert half.vectors(9)[1, 4] == 65504
    with pytest.raises(ValueError, match=r"^document 0, row 1"):
        ms.Index.build([with_number(1e6)], store="float16")
    index.add([with_number(65520.0)], ["x"])
    normalised = ms.Index.build([with_number(1e6)], store="float16", similarity="cosine")
    assert len(normalised) == 1


def test_the_row_is_that_of_the_document_in_later_blocks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", 4 * 5 * 4)
    documents = [np.ones((length, 5)) for length in (3, 0, 4, 1, 9, 0, 2)]
    for i, rows in enumerate(documents):
        for row in range(len(rows)):
            bad = [doc.copy() for doc in documents]
            bad[i][row, 2] = np.nan
            for how in ({}, {"similarity": "cosine"}, {"store": "float16"}):
                with pytest.raises(ValueError, match=f"^document {i}, row {row}, dimension 2"):
                    ms.Index.build(bad, **how)  # type: ignore[arg-type]


# Shapes and types

FORMS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "wrong dimension": (lambda: [np.ones((2, 4))], ValueError, "document 'new0'"),
    "wrong dimension of an empty document": (lambda: [np.ones((0, 4))], ValueError, "document 'new0'"),
    "wrong dimension, later": (lambda: [GOOD, np.ones((2, 6))], ValueError, "document 'new1'"),
    "no dimension": (lambda: [np.ones((2, 0))], ValueError, "0 dimensions"),
    "a vector": (lambda: [np.ones(5)], ValueError, "(5,)"),
    "rank 3 in a list": (lambda: [np.ones((1, 2, 5))], ValueError, "(1, 2, 5)"),
    "a number": (lambda: [1.0], TypeError, "document 'new0'"),
    "a number as an array": (lambda: [np.float32(1)], ValueError, "shape ()"),
    "rank 4": (lambda: np.ones((1, 1, 2, 5)), ValueError, "(1, 1, 2, 5)"),
    "rank 0": (lambda: np.float32(1), ValueError, "shape ()"),
    "flat without lengths": (lambda: GOOD, ValueError, "lengths="),
    "integers": (lambda: [np.ones((2, 5), np.int64)], TypeError, "int64"),
    "int8": (lambda: np.ones((1, 2, 5), np.int8), TypeError, "int8"),
    "booleans": (lambda: [np.ones((2, 5), np.bool_)], TypeError, "bool"),
    "complex": (lambda: [np.ones((2, 5), np.complex64)], TypeError, "complex64"),
    "long double": (lambda: [np.ones((2, 5), np.longdouble)], TypeError, "float128"),
    "float8": (lambda: [np.ones((2, 5)).astype(ml_dtypes.float8_e4m3fn)], TypeError, "float8"),
    "objects": (lambda: [np.full((2, 5), None)], TypeError, "object"),
    "masked": (lambda: [np.ma.array(GOOD, mask=GOOD > 0)], TypeError, "mask"),
    "text": (lambda: "hello", TypeError, "docs"),
    "bytes": (lambda: b"hello", TypeError, "docs"),
    "texts": (lambda: ["hello", "world"], TypeError, "document 'new0'"),
    "lists of texts": (lambda: [["hello", "world"]], TypeError, "document 'new0'"),
    "numbers as text": (lambda: [[["1", "2", "3", "4", "5"]]], TypeError, "document 'new0'"),
    "ragged rows": (lambda: [[[1.0] * 5, [1.0] * 4]], ValueError, "document 'new0'"),
    "None": (lambda: None, TypeError, "docs"),
    "a document is None": (lambda: [GOOD, None], TypeError, "document 'new1'"),
    "a row is None": (lambda: [[None]], (TypeError), "document 'new0'"),
    "a dict": (lambda: {"new0": GOOD}, TypeError, "dict"),
    "a set of numbers": (lambda: {1, 2}, TypeError, "document 'new0'"),
}


@pytest.mark.parametrize("form", FORMS)
def test_documents_of_the_wrong_form(form: str, index: ms.Index) -> None:
    make, error, words = FORMS[form]
    with refused(index, error, words):
        index.add(make(), ["new0", "new1"])
    with pytest.raises(error):
        ms.rerank(GOOD, make())


QUERIES: dict[str, tuple[Any, type[Exception], str]] = {
    "no tokens": (np.ones((0, 5)), ValueError, "0 tokens"),
    "empty list": ([], ValueError, "query"),
    "wrong dimension": (np.ones((2, 4)), ValueError, "4 dimensions"),
    "a vector": (np.ones(5), ValueError, "(5,)"),
    "rank 3": (np.ones((1, 2, 5)), ValueError, "(1, 2, 5)"),
    "too many tokens": (np.ones((4097, 5), np.float32), ValueError, "4096"),
    "integers": (np.ones((2, 5), np.int32), TypeError, "int32"),
    "text": ("what?", TypeError, "str"),
    "None": (None, TypeError, "None"),
    "a generator": (iter([[1.0] * 5]), TypeError, "query"),
}


@pytest.mark.parametrize("form", QUERIES)
def test_queries_of_the_wrong_form(form: str, index: ms.Index) -> None:
    query, error, words = QUERIES[form]
    with refused(index, error, words):
        index.search(query)
    with refused(index, error, words, "query 1"):
        index.search_many([GOOD, query])
    if form != "wrong dimension":
        with pytest.raises(error):
            ms.rerank(query, [GOOD])
    with pytest.raises(error):
        ms.maxsim([query], [GOOD])


def test_dimensions_beyond_the_range() -> None:
    wide = np.ones((1, 4097), np.float32)
    for attempt in (
        lambda: ms.Index.build([wide]),
        lambda: ms.Index.build(wide, lengths=[1]),
        lambda: ms.Index.build(wide[None]),
        lambda: ms.Index.create(4097),
        lambda: ms.rerank(wide, [wide]),
        lambda: ms.maxsim(wide, [wide]),
        lambda: ms.maxsim(wide[None], wide[None]),
    ):
        with pytest.raises(ValueError, match="4096") as caught:
            attempt()
        check_sentence(caught.value)
    for dim in (0, -1):
        with pytest.raises(ValueError, match=rf"^dim\b.*{dim}$"):
            ms.Index.create(dim)
    for wrong in (1.0, True, "5", None):
        with pytest.raises(TypeError, match=r"^dim"):
            ms.Index.create(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("empty", [[], (), iter([]), np.empty(0, object)])
def test_a_build_without_documents(empty: Any) -> None:
    with pytest.raises(ValueError, match="documents"):
        ms.Index.build(empty)


PADDED = np.ones((2, 3, 5), np.float32)
LENGTHS: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "too few": (PADDED, {"lengths": [3]}, ValueError, "1 entries for 2"),
    "too many": (PADDED, {"lengths": [3, 3, 3]}, ValueError, "3 entries for 2"),
    "negative": (PADDED, {"lengths": [3, -1]}, ValueError, "lengths[1]"),
    "floats": (PADDED, {"lengths": [3.0, 1.0]}, TypeError, "float64"),
    "booleans": (PADDED, {"lengths": [True, True]}, TypeError, "bool"),
    "texts": (PADDED, {"lengths": ["3", "1"]}, TypeError, "lengths"),
    "a number": (PADDED, {"lengths": 3}, TypeError, "lengths"),
    "nested": (PADDED, {"lengths": [[3, 3]]}, TypeError, "shape (1, 2)"),
    "ragged": (PADDED, {"lengths": [[3], [3, 3]]}, (ValueError, TypeError), "lengths"),
    "too long": (PADDED, {"lengths": [1, 4]}, ValueError, "lengths[1]"),
    "unsigned wrap": (PADDED, {"lengths": np.array([1, 2**64 - 1], np.uint64)}, ValueError, "lengths[1]"),
    "both": (PADDED, {"lengths": [3, 3], "mask": np.ones((2, 3), np.bool_)}, ValueError, "not both"),
    "mask too short": (PADDED, {"mask": np.ones((2, 2), np.bool_)}, ValueError, "(2, 2)"),
    "mask of documents": (PADDED, {"mask": [True, False]}, ValueError, "(2,)"),
    "mask too deep": (PADDED, {"mask": np.ones((2, 3, 5))}, ValueError, "(2, 3, 5)"),
    "mask of other numbers": (PADDED, {"mask": np.full((2, 3), 2)}, ValueError, "true and false"),
    "mask of NaN": (PADDED, {"mask": np.full((2, 3), np.nan)}, ValueError, "true and false"),
    "mask on flat": (PADDED[0], {"mask": [True] * 3}, ValueError, "lengths="),
    "flat, sum too small": (PADDED[0], {"lengths": [1, 1]}, ValueError, "add up to 2"),
    "flat, sum too large": (PADDED[0], {"lengths": [3, 3]}, ValueError, "add up to 6"),
    "flat, negative": (PADDED[0], {"lengths": [-1, 4]}, ValueError, "lengths[0]"),
    "flat, overflow": (PADDED[0], {"lengths": [2**62, 2**62, 2**62, 2**62, 3]}, ValueError, "lengths[0]"),
    "flat, unsigned wrap": (PADDED[0], {"lengths": np.array([2**64 - 1, 4], np.uint64)}, ValueError, "lengths[0]"),
    "lengths with a list": ([GOOD, GOOD], {"lengths": [2, 2]}, ValueError, "not for a list"),
    "mask with a list": ([GOOD, GOOD], {"mask": np.ones((2, 2))}, ValueError, "not for a list"),
}


@pytest.mark.parametrize("form", LENGTHS)
def test_lengths_and_masks_that_do_not_fit(form: str, index: ms.Index) -> None:
    docs, how, error, words = LENGTHS[form]
    with refused(index, error, words):
        index.add(docs, ["new0", "new1"], **how)
    with pytest.raises(error):
        ms.Index.build(docs, **how)


def test_masks_of_one_shot_scoring_that_do_not_fit() -> None:
    for how in (
        {"query_mask": np.ones((2, 2))},
        {"document_mask": np.ones((3, 3))},
        {"document_mask": np.full((2, 3), 7)},
        {"query_mask": np.zeros((2, 3))},
    ):
        with pytest.raises(ValueError, match=r"mask|^query 0\b"):
            ms.maxsim(PADDED, PADDED, **how)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="query_mask"):
        ms.maxsim(GOOD, PADDED, query_mask=[1, 1])
    with pytest.raises(ValueError, match="query"):
        ms.maxsim([], PADDED)
    with pytest.raises(ValueError, match=r"^document 0\b.*\b4\b.*\b5\b"):
        ms.maxsim(GOOD, [np.ones((2, 4))])


# Ids

IDS: dict[str, tuple[Any, type[Exception], str]] = {
    "twice": (["a", "a"], ValueError, "'a'"),
    "known": (["a", "d3"], ValueError, "'d3'"),
    "mixed": (["a", 1], TypeError, "mixture"),
    "of the other type": ([1, 2], TypeError, "int"),
    "booleans": ([True, False], TypeError, "True"),
    "NumPy booleans": (np.array([True, False]), TypeError, "True"),
    "floats": ([1.0, 2.0], TypeError, "1.0"),
    "bytes": ([b"a", b"b"], TypeError, "b'a'"),
    "None inside": (["a", None], TypeError, "None"),
    "None": (None, TypeError, "ids"),
    "one text": ("ab", TypeError, "list of ids"),
    "one number": (7, TypeError, "list of ids"),
    "an array without dimensions": (np.array(7), TypeError, "list of ids"),
    "nested": ([["a"], ["b"]], TypeError, "['a']"),
    "two-dimensional": (np.array([["a"], ["b"]]), TypeError, "['a']"),
    "tuples": ([("a", 1), ("b", 2)], TypeError, "('a', 1)"),
    "too few": (["a"], ValueError, "1 ids"),
    "none at all": ([], ValueError, "0 ids"),
    "too many": (["a", "b", "c"], ValueError, "3 ids"),
}


@pytest.mark.parametrize("form", IDS)
@pytest.mark.parametrize("docs", ["list", "generator", "padded", "flat"])
def test_ids_that_do_not_fit(form: str, docs: str, index: ms.Index) -> None:
    ids, error, words = IDS[form]
    how: dict[str, Any] = {"lengths": [2, 2]} if docs == "flat" else {}
    make: dict[str, Callable[[], Any]] = {
        "list": lambda: [GOOD, GOOD],
        "generator": lambda: iter([GOOD, GOOD]),
        "padded": lambda: np.stack([GOOD, GOOD]),
        "flat": lambda: np.concatenate([GOOD, GOOD]),
    }
    with refused(index, error, words):
        index.add(make[docs](), ids, **how)
    if form not in ("known", "of the other type", "None"):
        with pytest.raises(error) as caught:
            ms.Index.build(make[docs](), ids, **how)
        check_sentence(caught.value, words)


def test_a_duplicate_within_one_replacement(index: ms.Index) -> None:
    with refused(index, ValueError, "'d1'"):
        index.add([GOOD, GOOD], ["d1", "d1"], replace=True)
    with refused(index, TypeError, "int"):
        index.add([GOOD], [1], replace=True)


def test_whole_numbers_beyond_64_bits() -> None:
    whole = ms.Index.build(DOCUMENTS)
    for one in (2**63, -(2**63) - 1, 10**30):
        with refused(whole, ValueError, "64 bits"):
            whole.add([GOOD], [one])
        assert one not in whole
    whole.add([GOOD, GOOD], [2**63 - 1, -(2**63)])
    assert whole.ids[-2:] == [2**63 - 1, -(2**63)]


UNKNOWN: dict[str, tuple[Any, type[Exception], str]] = {
    "unknown": (["d1", "nowhere"], KeyError, "'nowhere'"),
    "of the other type": ([1], KeyError, "1"),
    "mixed": (["d1", 1], TypeError, "mixture"),
    "booleans and numbers": ([True, 3], TypeError, "True"),
    "floats": ([1.0], TypeError, "1.0"),
    "None inside": (["d1", None], TypeError, "None"),
    "bytes": ([b"d1"], TypeError, "b'd1'"),
    "an array without dimensions": (np.array("d1"), TypeError, "list of ids"),
    "nested": ([["d1"]], TypeError, "['d1']"),
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_unknown_ids(form: str, index: ms.Index) -> None:
    ids, error, words = UNKNOWN[form]
    with refused(index, error, words, "candidates"):
        index.search(GOOD, candidates=ids)
    with refused(index, error, words, "exclude"):
        index.search(GOOD, exclude=ids)
    with refused(index, error, words, "delete"):
        index.delete(ids)
    if form not in ("nested", "None inside"):  # those are entries for each query
        with refused(index, error, words, "candidates"):
            index.search_many([GOOD, GOOD], candidates=ids)
    with refused(index, error, words, "exclude"):
        index.search_many([GOOD, GOOD], exclude=[None, ids])
    index.delete("d0")
    with refused(index, KeyError, "'d0'"):
        index.search(GOOD, candidates=["d0"])
    with refused(index, KeyError, "'d0'"):
        index.delete(["d1", "d0"])
    with refused(index, KeyError, "'d0'"):
        index.vectors("d0")


@pytest.mark.parametrize(
    ("form", "error"),
    [("d1", TypeError), (3, TypeError), (True, TypeError), (b"d1", TypeError), (1.5, TypeError), (object(), TypeError)],
)
def test_candidates_that_are_no_list(form: Any, error: type[Exception], index: ms.Index) -> None:
    for search in (index.search, lambda *a, **how: index.search_many([GOOD], **how)):
        with refused(index, error, "candidates"):
            search(GOOD, candidates=form)
        with refused(index, error, "exclude"):
            search(GOOD, exclude=form)


@pytest.mark.parametrize("mask", [[True] * 7, [False] * 9, np.ones(7, np.bool_), np.ones((8, 1), np.bool_)])
def test_a_candidate_mask_of_the_wrong_length(mask: Any, index: ms.Index) -> None:
    with refused(index, ValueError, "mask", "8 documents"):
        index.search(GOOD, candidates=mask)


def test_a_mask_is_of_the_documents_there_are(index: ms.Index) -> None:
    index.delete("d2")
    with refused(index, ValueError, "mask", "7 documents"):
        index.search(GOOD, candidates=[True] * 8)


def test_exclude_takes_no_mask(index: ms.Index) -> None:
    with refused(index, TypeError, "exclude"):
        index.search(GOOD, exclude=[True] * 8)
    with refused(index, TypeError, "exclude"):
        index.search(GOOD, exclude=np.ones(8, np.bool_))


@pytest.mark.parametrize("entries", [[["d1"]], [None], [["d1"], None, ["d2"]], [["d1"], ["d2"], ["d3"]]])
def test_entries_for_another_number_of_queries(entries: Any, index: ms.Index) -> None:
    with refused(index, ValueError, f"{len(entries)} entries", "candidates"):
        index.search_many([GOOD, GOOD], candidates=entries)
    with refused(index, ValueError, f"{len(entries)} entries", "exclude"):
        index.search_many([GOOD, GOOD], exclude=entries)


# Knobs

NUMBERS: tuple[Any, ...] = ("1", None, 1j, [1], True, np.bool_(True))


@pytest.mark.parametrize("k", [0, -1, -(10**30), np.int64(0)])
def test_k_below_one(k: Any, index: ms.Index) -> None:
    with refused(index, ValueError, "k must"):
        index.search(GOOD, k)
    with refused(index, ValueError, "k must"):
        index.search_many([GOOD], k=k)
    with pytest.raises(ValueError, match=r"^k\b"):
        ms.rerank(GOOD, [GOOD], k)


@pytest.mark.parametrize("k", [*NUMBERS, 1.0, np.float32(3), np.nan])
def test_k_of_the_wrong_type(k: Any, index: ms.Index) -> None:
    with refused(index, TypeError, "k must"):
        index.search(GOOD, k)


@pytest.mark.parametrize("k", [2**31, sys.maxsize, 2**64, 10**30, np.uint64(2**64 - 1)])
@pytest.mark.parametrize(
    "policy", [ms.Certified(), ms.Exhaustive(), ms.Bandit(), ms.Bandit(margin=10**30, block=10**30)]
)
def test_k_is_as_large_as_you_like(k: Any, policy: Any, index: ms.Index) -> None:
    all_of_them = index.search(GOOD, 8, policy=ms.Exhaustive())
    hits = index.search(GOOD, k, policy=policy)
    assert hits.ids == all_of_them.ids
    assert len(hits) == sum(len(doc) > 0 for doc in DOCUMENTS)
    assert ms.rerank(GOOD, DOCUMENTS, k, policy=policy).scores.tobytes() == all_of_them.scores.tobytes()


OUT_OF_RANGE = {
    "alpha": [0, 0.0, -0.5, 1.0000001, 2, np.nan, np.inf, -np.inf, 10**400, -(10**400), -0.0],
    "delta": [0, 0.0, 1, 1.0, -0.1, 1.5, np.nan, np.inf, 10**400],
    "margin": [-1, -(10**30)],
    "block": [0, -4],
    "seed": [-1, 2**64, 10**30],
    "radius": ["", "Paper", "hoeffding", None, 1, b"paper"],
}


@pytest.mark.parametrize(("knob", "value"), [(knob, value) for knob, some in OUT_OF_RANGE.items() for value in some])
def test_knobs_out_of_range(knob: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{knob}\b") as caught:
        ms.Bandit(**{knob: value})
    check_sentence(caught.value)


@pytest.mark.parametrize("knob", ["alpha", "delta", "margin", "block", "seed"])
@pytest.mark.parametrize("value", NUMBERS)
def test_knobs_of_the_wrong_type(knob: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{knob}\b") as caught:
        ms.Bandit(**{knob: value})
    check_sentence(caught.value)


@pytest.mark.parametrize("knob", ["margin", "block", "seed"])
def test_whole_knobs_take_no_floats(knob: str) -> None:
    for value in (1.0, np.float64(2), np.nan):
        with pytest.raises(TypeError, match=rf"^{knob}\b"):
            ms.Bandit(**{knob: value})


def test_knobs_at_the_edge_are_fine(index: ms.Index) -> None:
    for knobs in (
        {"alpha": 1},
        {"alpha": np.float32(0.5), "delta": np.float16(0.5)},
        {"alpha": 5e-324, "delta": 5e-324},
        {"delta": np.nextafter(1, 0)},
        {"margin": 0, "block": 1, "seed": 2**64 - 1},
        {"margin": np.int8(3), "block": np.uint64(2**64 - 1), "seed": np.uint64(2**64 - 1)},
        {"radius": "serfling", "alpha": 1.0},
    ):
        policy = ms.Bandit(**knobs)  # type: ignore[arg-type]
        assert type(policy.alpha) is type(policy.delta) is float
        assert type(policy.margin) is type(policy.block) is type(policy.seed) is int
        assert len(index.search(GOOD, 2, policy=policy)) == 2


@pytest.mark.parametrize("policy", [ms.Certified, 1, True, {}, object()])
def test_a_policy_of_the_wrong_type(policy: Any, index: ms.Index) -> None:
    with refused(index, TypeError, "policy"):
        index.search(GOOD, policy=policy)
    with pytest.raises(TypeError, match=r"^policy"):
        ms.rerank(GOOD, [GOOD], policy=policy)


def test_a_policy_that_no_name_has(index: ms.Index) -> None:
    with refused(index, ValueError, "policy", "'exact'", "'sloppy'"):
        index.search(GOOD, policy="sloppy")
    with pytest.raises(ValueError, match="policy"):
        ms.rerank(GOOD, [GOOD], policy="sloppy")


@pytest.mark.parametrize(
    ("threads", "error"),
    [(0, ValueError), (-1, ValueError), (10**30, ValueError), (True, TypeError), (1.0, TypeError), ("2", TypeError)],
)
def test_threads(threads: Any, error: type[Exception], index: ms.Index) -> None:
    with refused(index, error, "threads"):
        index.search(GOOD, threads=threads)
    with refused(index, error, "threads"):
        index.search_many([GOOD], threads=threads)
    with pytest.raises(error, match=r"^threads"):
        ms.Index.build([GOOD], threads=threads)
    with pytest.raises(error, match=r"^threads"):
        ms.maxsim(GOOD, [GOOD], threads=threads)


@pytest.mark.parametrize(("rank", "error"), [(-1, ValueError), (3, ValueError), (10**30, ValueError), (0.0, TypeError)])
def test_explaining_a_rank_that_is_not_there(rank: Any, error: type[Exception], index: ms.Index) -> None:
    hits = index.search(GOOD, 3)
    with pytest.raises(error, match=r"^rank") as caught:
        hits.explain(rank)
    check_sentence(caught.value)
    assert len(hits.explain(2)) == 2


@pytest.mark.parametrize("how", [{"store": "int4"}, {"store": None}, {"similarity": "l2"}, {"similarity": 1}])
def test_unknown_choices(how: dict[str, Any]) -> None:
    for attempt in (lambda: ms.Index.create(5, **how), lambda: ms.Index.build([GOOD], **how)):
        with pytest.raises(ValueError, match=r"^(store|similarity)\b"):
            attempt()


# States


def test_a_closed_index(index: ms.Index) -> None:
    hits = index.search(GOOD)
    before = hits.explain(0)
    attempts: dict[str, Callable[[], Any]] = {
        "search": lambda: index.search(GOOD),
        "search_many": lambda: index.search_many([GOOD]),
        "search_many of nothing": lambda: index.search_many([]),
        "add": lambda: index.add([GOOD], ["x"]),
        "add nothing": lambda: index.add([], []),
        "delete": lambda: index.delete(["d7"]),
        "delete nothing": lambda: index.delete([]),
        "compact": index.compact,
        "refresh": index.refresh,
        "verify": index.verify,
        "len": lambda: len(index),
        "contains": lambda: "d1" in index,
        "contains nonsense": lambda: None in index,
        "ids": lambda: index.ids,
        "dim": lambda: index.dim,
        "tokens": lambda: index.tokens,
        "nbytes": lambda: index.nbytes,
        "vectors": lambda: index.vectors("d1"),
        "with": index.__enter__,
    }
    for attempt in attempts.values():
        attempt()
    index.add([GOOD], ["d1"], replace=True)
    index.close()
    index.close()
    for name, attempt in attempts.items():
        with pytest.raises(ClosedIndexError) as caught:
            attempt()
        check_sentence(caught.value)
        assert isinstance(caught.value, MaxsieveError), name
    assert "closed" in repr(index)
    assert hits.explain(0) == before, "hits outlive the index"


def test_a_context_closes() -> None:
    with ms.Index.create(3) as index:
        assert len(index) == 0
    with pytest.raises(ClosedIndexError):
        len(index)


def test_a_generator_that_closes_the_index(index: ms.Index) -> None:
    def docs() -> Iterator[Rows]:
        yield GOOD
        index.close()

    with pytest.raises(ClosedIndexError):
        index.add(docs(), ["x"])


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, StopAsyncIteration, GeneratorExit])
@pytest.mark.parametrize("block", [64 << 20, 1])
def test_a_generator_that_fails_half_way(
    error: type[BaseException], block: int, index: ms.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", block)

    def docs() -> Iterator[Rows]:
        yield GOOD
        yield GOOD
        raise error("half way")

    before = contents(index)
    for ids, how in ((["x", "y", "z"], {}), (["d0", "d1", "d2"], {"replace": True})):
        with pytest.raises(error, match="half way"):
            index.add(docs(), ids, **how)  # type: ignore[arg-type]
        assert contents(index) == before
    with pytest.raises(error, match="half way"):
        ms.Index.build(docs())
    index.add([GOOD], ["x"])
    assert index.ids[-1] == "x"


def test_ids_that_fail_half_way(index: ms.Index) -> None:
    def ids() -> Iterator[str]:
        yield "x"
        raise RuntimeError("half way")

    for attempt in (
        lambda: index.add([GOOD, GOOD], ids()),
        lambda: index.delete(ids()),
        lambda: index.search(GOOD, candidates=ids()),
        lambda: index.search_many([GOOD], exclude=ids()),
    ):
        with refused(index, RuntimeError, "half way"):
            attempt()


class InterruptedDict(dict[Any, Any]):
    """A Ctrl-C that comes right after the change of this dict."""

    def update(self, *changes: Any) -> None:
        super().update(*changes)
        raise KeyboardInterrupt

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.add([GOOD, GOOD], ["x", "y"]),
        lambda index: index.add([GOOD, GOOD], ["d2", "y"], replace=True),
        lambda index: index.delete(["d1", "d4"]),
    ],
)
def test_an_interrupt_during_a_change_changes_nothing(change: Any, index: ms.Index) -> None:
    before = contents(index)
    positions = index.storage._positions
    assert positions._table
    positions._table = InterruptedDict(positions._table)
    with pytest.raises(KeyboardInterrupt):
        change(index)
    assert contents(index) == before
    assert "d1" in index
    assert "x" not in index
    index.add([GOOD], ["another"])
    assert index.ids == [*before[0], "another"]
    change(index)
    assert contents(index) != before
    again = ms.Index.build([index.vectors(one) for one in index.ids], index.ids)
    assert contents(index) == contents(again)
