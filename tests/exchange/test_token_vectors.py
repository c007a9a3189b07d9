"""`TokenVectors` and `TokenVectorChunks`: what they accept and refuse, and the index they build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.exchange import TokenVectorChunks, TokenVectors

from .support import chunked, made, same

ROWS = np.eye(3, dtype=np.float32)
REFUSED: dict[str, tuple[Any, Any, Any, type[Exception], str]] = {
    "flat rows": (np.ones(3), [3], None, ValueError, r"^rows\b.*\(3,\)"),
    "padded rows": (np.ones((1, 3, 2)), [3], None, ValueError, r"^rows\b.*\(1, 3, 2\)"),
    "no dimension": (np.ones((3, 0)), [3], None, ValueError, r"^rows\b.*\b0\b"),
    "^lengths": (np.ones((3, 2), int), [3], None, TypeError, r"^rows\b.*int64"),
    "objects": (np.array([[None]]), [1], None, TypeError, r"^rows\b.*object"),
    "too few": (ROWS, [1, 1], None, ValueError, r"^lengths\b.*\b2\b.*\b3\b"),
    "too many": (ROWS, [2, 2], None, ValueError, r"^lengths\b.*\b4\b.*\b3\b"),
    "too long": (ROWS, [0, 9], None, ValueError, r"^lengths\[1\].*\b9\b.*\b3\b"),
    "negative": (ROWS, [2, -1, 2], None, ValueError, r"^lengths\[1\].*negative"),
    "fractions": (ROWS, [1.5, 1.5], None, TypeError, "^lengths"),
    "nested lengths": (ROWS, [[3]], None, TypeError, r"^lengths\b.*\(1, 1\)"),
    "no lengths": (ROWS, None, None, TypeError, "^lengths"),
    "huge": (ROWS, np.array([2**64 - 1, 4], np.uint64), None, ValueError, r"^lengths\[0\].*\b3\b"),
    "few ids": (ROWS, [1, 2], ["a"], ValueError, r"\b1 ids\b.*\b2\b"),
    "mixed ids": (ROWS, [1, 2], ["a", 1], TypeError, r"^ids\b.*\bstr\b.*\bint\b"),
    "bool ids": (ROWS, [1, 2], [True, False], TypeError, "^ids: .*True"),
}


@pytest.mark.parametrize(("rows", "lengths", "ids", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_refused(rows: Any, lengths: Any, ids: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        TokenVectors(rows, lengths, ids)


def test_lengths_that_overflow_to_the_right_sum() -> None:
    """Rows without memory: so many that the sum of lengths, none too long, overflows 64 bits to their number."""
    tokens = 2**61
    rows = np.lib.stride_tricks.as_strided(np.zeros(1, np.float16), (tokens, 1), (0, 0))
    with pytest.raises(ValueError, match=r"^lengths\b.*\b64\b"):
        TokenVectors(rows, [tokens] * 9)
    assert TokenVectors(rows, [tokens // 2] * 2).lengths.sum() == tokens


@pytest.mark.full
def test_torch_tensors_and_lists() -> None:
    import torch

    vectors = TokenVectors(torch.eye(3), torch.tensor([1, 2]), np.array(["a", "b"]))
    assert (vectors.ids, vectors.lengths.tolist(), vectors.dim, len(vectors)) == (["a", "b"], [1, 2], 3, 2)
    assert "2 documents, 3 tokens, dim 3, float32" in repr(vectors)
    assert TokenVectors([[1, 2]], [1]).rows.tolist() == [[1, 2]]


def test_duplicates_are_left_to_the_index() -> None:
    vectors = TokenVectors(ROWS, [1, 2], ["a", "a"])
    with pytest.raises(ValueError, match="'a'"):
        vectors.build()


def test_pieces_are_the_whole() -> None:
    vectors = made()
    for cuts in ((), (1,), (0, 0, 3), (1, 2, 3, 4, 5, 6), (7,)):
        chunks = chunked(vectors, *cuts)
        same(chunks.joined(), vectors)
        same(chunks.joined(), vectors)  # it can be read again
        assert next(chunk.ids for chunk in chunks.chunks()) == (vectors.ids or [])[: (*cuts, 7)[0]]
        built = chunks.build(similarity="cosine", store="float16")
        direct = vectors.build(similarity="cosine", store="float16")
        assert built.ids == direct.ids
        assert all(np.array_equal(built.vectors(one), direct.vectors(one)) for one in built.ids)


def test_pieces_are_released() -> None:
    """A piece is opened only after the piece before it has been used."""
    opened: list[int] = []

    def source() -> Any:
        for i in range(5):
            opened.append(i)
            yield TokenVectors(ROWS, [3])

    documents = TokenVectorChunks(source, None, "numbers").documents()
    assert opened == []
    next(documents)
    assert opened == [0]
    next(documents)
    assert opened == [0, 1]


def test_pieces_of_different_types_and_dimensions() -> None:
    pieces = [TokenVectors(ROWS.astype(np.float16), [3]), TokenVectors(ROWS, [3])]
    assert TokenVectorChunks(lambda: iter(pieces), None, "both").joined().rows.dtype == np.float32
    pieces.append(TokenVectors(np.eye(2), [2]))
    for use in (TokenVectorChunks.joined, TokenVectorChunks.build):
        with pytest.raises(ValueError, match=r"^three: .*\b2\b.*document 2\b.*\b3\b"):
            use(TokenVectorChunks(lambda: iter(pieces), None, "three"))


@pytest.mark.parametrize("ids", [["a"], ["a", "b", "c"]])
def test_pieces_and_ids_of_another_number(ids: list[Any]) -> None:
    pieces = [TokenVectors(ROWS, [3]), TokenVectors(ROWS, [3])]
    for use in (TokenVectorChunks.joined, TokenVectorChunks.build):
        with pytest.raises(ValueError, match=r"^pieces: .*\bids\b"):
            use(TokenVectorChunks(lambda: iter(pieces), ids, "pieces"))


def test_no_pieces_at_all() -> None:
    with pytest.raises(ValueError, match=r"^nowhere: "):
        TokenVectorChunks(lambda: iter([]), None, "nowhere").build()


def test_pieces_without_documents_still_have_a_dimension() -> None:
    empty = TokenVectors(np.ones((0, 4)), [])
    index = TokenVectorChunks(lambda: iter([empty, empty]), [], "empty").build()
    assert isinstance(index, ms.Index)
    assert (len(index), index.dim) == (0, 4)
