"""Scores of a caller's arrays: the bits of the specification, on each ISA, from every type and layout."""

from __future__ import annotations

import numpy as np
import pytest

from maxsieve import _core, spec

rng = np.random.default_rng(7)
ROWS = rng.standard_normal((400, 24)).astype(np.float32)
OFFSETS = np.array([0, 3, 3, 200, 201, 400])
QUERIES = [rng.standard_normal((tokens, 24)).astype(np.float32) for tokens in (1, 17, 32)]


def bfloat16_bits(rows: np.ndarray) -> np.ndarray:
    return (rows.view(np.uint32) >> 16).astype(np.uint16)


FORMS = {
    "float32": lambda rows: rows,
    "float64": lambda rows: rows.astype(np.float64),
    "float16": lambda rows: rows.astype(np.float16),
    "bfloat16": bfloat16_bits,
    "by columns": np.asfortranarray,
    "every second": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "backwards": lambda rows: rows[::-1].copy()[::-1],
}
READ = {
    "float16": lambda rows: rows.astype(np.float16).astype(np.float32),
    "bfloat16": lambda rows: (rows.view(np.uint32) >> 16 << 16).view(np.float32),
}


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cuts", [[], [3, 200, 201], [100, 150, 150, 390]])  # a document may continue in the next array
def test_every_form_has_the_bits_of_the_specification(form: str, cuts: list[int]) -> None:
    numbers = READ.get(form, np.asarray)(ROWS)
    arrays = [FORMS[form](part) for part in np.split(ROWS, cuts)]
    scores, refused = _core.score_arrays(arrays, 24, OFFSETS, QUERIES, 2)
    assert refused == -1
    documents = np.split(numbers, OFFSETS[1:-1])
    assert scores.tobytes() == np.stack([spec.scores(query, documents) for query in QUERIES]).tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**51])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_document_that_is_refused(value: float, threads: int) -> None:
    rows = ROWS.copy()
    rows[399, 23] = rows[150, 0] = value
    assert _core.score_arrays([rows], 24, OFFSETS, QUERIES, threads)[1] == 2
    assert _core.score_arrays([rows[150:]], 24, np.array([0, 0, 1, 250]), QUERIES, threads)[1] == 1


@pytest.mark.parametrize(
    ("arrays", "dim", "offsets", "queries", "place"),
    [
        ([ROWS], 24, [0, 399], QUERIES, "arrays"),
        ([ROWS], 24, [0, 500, 400], QUERIES, "offsets"),
        ([ROWS], 24, [1, 400], QUERIES, "offsets"),
        ([ROWS], 24, [], QUERIES, "offsets"),
        ([ROWS], 23, [0, 400], QUERIES, "every array"),
        ([ROWS], 24, [0, 400], [ROWS[:0]], "query"),
        ([ROWS], 24, [0, 400], [ROWS[:, :23].copy()], "query"),
        ([ROWS.astype(np.int32)], 24, [0, 400], QUERIES, "every array"),
        ([ROWS[0]], 24, [0, 1], QUERIES, "every array"),
    ],
)
def test_what_does_not_fit_is_refused(arrays: list, dim: int, offsets: list[int], queries: list, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        _core.score_arrays(arrays, dim, np.array(offsets, np.int64), queries, 1)
