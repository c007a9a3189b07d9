"""Truncated texts are counted among all encoded ones, over any number of batches, and the first are named."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve.text import TruncationWarning
from maxsieve.text.encoders.truncation_warning import counting_truncations, naming_texts, report_truncation
from text.support import WordEncoder

LIMIT = 5


class CuttingEncoder(WordEncoder):
    """Reads five words of a text."""

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        rows = super().encode_documents(texts)
        report_truncation(texts, [(len(some), True) for some in rows], LIMIT)
        return [some[:LIMIT] for some in rows]


def texts(*lengths: int) -> dict[str, str]:
    """Texts with so many words, by id."""
    return {f"d{i}": " ".join(f"w{i}x{j}" for j in range(length)) for i, length in enumerate(lengths)}


def said_by(act: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        act()
    assert all(warning.category is TruncationWarning for warning in said)
    assert {warning.filename for warning in said} <= {__file__}
    return [str(warning.message) for warning in said]


@pytest.mark.parametrize("dim", [None, 4])
def test_all_texts_count_and_the_first_that_were_cut_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dim: int | None
) -> None:
    monkeypatch.setattr("maxsieve.text.collection.additions.BATCH_DOCUMENTS", 2)
    documents = texts(3, 3, 9, 3, 4, 6, 3, 5, 7, 8, 2)
    with ms.Collection.create(tmp_path / "it", CuttingEncoder(), dim) as collection:
        said = said_by(lambda: collection.add(documents.values(), documents.keys()))
    assert len(said) == 2
    assert "'d2'" in said[0] or dim is not None  # a projection is fitted before ids are read
    assert said[-1] == ("in total, 4 of 11 texts were cut at 5 tokens: 'd2', 'd5', 'd8' and 1 more; the longest has 9")


def test_one_batch_is_said_once(tmp_path: Path) -> None:
    documents = texts(3, 9)
    with ms.Collection.create(tmp_path / "it", CuttingEncoder(), None) as collection:
        said = said_by(lambda: collection.add(documents.values(), [7, 8]))
        assert said == ["1 of 2 texts were cut at 5 tokens: 8; the longest has 9"]
        assert said_by(lambda: collection.add(["one two"], [9])) == []


def test_what_is_inside_another_gathering_is_said_with_it(tmp_path: Path) -> None:
    def several() -> None:
        with counting_truncations():
            for i in range(3):
                collection.add(texts(3, 6 + i).values(), [f"a{i}", f"b{i}"], replace=True)

    with ms.Collection.create(tmp_path / "it", CuttingEncoder(), None) as collection:
        assert said_by(several) == [
            "1 of 2 texts were cut at 5 tokens: 'b0'; the longest has 6",
            "in total, 3 of 6 texts were cut at 5 tokens: 'b0', 'b1', 'b2'; the longest has 8",
        ]


def test_an_encoder_by_itself_says_it_each_time() -> None:
    encoder = CuttingEncoder()
    for _ in range(2):
        assert said_by(lambda: encoder.encode_documents([*texts(3, 6).values()])) == [
            "1 of 2 texts were cut at 5 tokens; the longest has 6"
        ]


def test_a_failure_is_not_followed_by_a_sum() -> None:
    def fail() -> None:
        with suppress(ZeroDivisionError), counting_truncations():
            report_truncation(["a b"], [(9, False)], LIMIT)
            report_truncation(["c d"], [(8, True)], LIMIT)
            raise ZeroDivisionError

    assert said_by(fail) == ["1 of 1 texts were cut at 5 tokens; the longest has at least 9"]


def test_a_long_name_is_shortened() -> None:
    def work() -> None:
        with counting_truncations(), naming_texts({"a b": "x" * 1000}):
            report_truncation(["a b"], [(9, True)], LIMIT)

    assert len(said_by(work)[0]) < 200
