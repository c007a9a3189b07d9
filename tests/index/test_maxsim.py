"""`maxsim` reads documents in place, in any form."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms

rng = np.random.default_rng(0)
DOCUMENTS = [rng.standard_normal((length, 8)).astype(np.float32) for length in [3, 0, 5, 1] * 50]
QUERIES = rng.standard_normal((2, 4, 8)).astype(np.float32)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, lambda doc: doc.astype(np.float64), np.ndarray.tolist])
def test_documents_in_many_arrays(form) -> None:
    given = [form(doc) for doc in DOCUMENTS]
    wanted = [ms.maxsim(QUERIES, [doc])[:, 0] for doc in DOCUMENTS]
    assert ms.maxsim(QUERIES, given).tobytes() == np.stack(wanted, axis=1).tobytes()


@pytest.mark.parametrize("number", [0, 66, 130, 199])
def test_an_error_names_the_document(number: int) -> None:
    given = list(DOCUMENTS)
    given[number] = given[number].copy()
    given[number][-1, 3] = np.nan
    with pytest.raises(ValueError, match=f"document {number}, row {len(given[number]) - 1}, dimension 3"):
        ms.maxsim(QUERIES, given)


def test_nothing_to_score() -> None:
    assert ms.maxsim(QUERIES, []).shape == (2, 0)


def test_an_array_that_is_not_aligned() -> None:
    raw = np.zeros(8 * 4 * 3 + 1, np.uint8)
    crooked = raw[1:].view(np.float32).reshape(3, 8)
    crooked[:] = DOCUMENTS[0]
    assert not crooked.flags.aligned
    assert ms.maxsim(QUERIES, [crooked]).tobytes() == ms.maxsim(QUERIES, DOCUMENTS[:1]).tobytes()
