"""Ready-made embeddings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve.lab.corpora import CorpusWarning, read_vectors


def arrays(**changed: Any) -> dict[str, Any]:
    """Three documents, the second without tokens, and two queries, of two dimensions; None takes an array out."""
    given = {
        "doc_tokens": np.arange(8.0).reshape(4, 2),
        "doc_lengths": [1, 0, 3],
        "doc_ids": ["7", "007", "c"],
        "query_tokens": np.ones((3, 2), np.float32),
        "query_lengths": [1, 2],
        "query_ids": [7, 8],
        **changed,
    }
    return {name: array for name, array in given.items() if array is not None}


def written(folder: Path, qrels: Any = None, exclusions: Any = None, **changed: Any) -> Path:
    np.savez(folder / "it.npz", **arrays(**changed))
    for name, content in (("qrels", qrels), ("exclusions", exclusions)):
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / f"it.{name}.json").write_text(text)
    return folder / "it.npz"


def test_vectors_are_read(tmp_path: Path) -> None:
    vectors = read_vectors(written(tmp_path))
    assert (vectors.name, vectors.doc_ids, list(vectors.queries)) == ("it", ["7", "007", "c"], ["7", "8"])
    assert [rows.tolist() for rows in vectors.documents] == [[[0, 1]], [], [[2, 3], [4, 5], [6, 7]]]
    assert [rows.shape for rows in vectors.queries.values()] == [(1, 2), (2, 2)]
    assert {rows.dtype for rows in [*vectors.documents, *vectors.queries.values()]} == {np.dtype(np.float32)}
    assert (vectors.judgements, vectors.exclusions) == ({}, {})


def test_files_beside(tmp_path: Path) -> None:
    alone = read_vectors(written(tmp_path)).digest
    judgements = {"7": {"7": 1, "007": 0}, "8": {"c": 2}}
    vectors = read_vectors(str(written(tmp_path, judgements, {"7": ["7"]})))
    assert (vectors.judgements, vectors.exclusions) == (judgements, {"7": ["7"]})
    assert vectors.digest not in (alone, read_vectors(written(tmp_path, {**judgements, "8": {"c": 1}})).digest)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, {"7": {"c": 1, "gone": 1}, "9": {"c": 1}})
    with pytest.warns(CorpusWarning) as caught:
        assert read_vectors(path).judgements == {"7": {"c": 1}}
    source = tmp_path / "it.qrels.json"
    assert sorted(str(one.message) for one in caught) == [
        f"{source}: 1 of 2 queries have no judgement; the first: '8'",
        f"{source}: 1 of 3 judgements have an unknown document and are left out; the first: 'gone'",
        f"{source}: 1 of 3 judgements have an unknown query and are left out; the first: '9'",
    ]
    assert {one.filename for one in caught} == {__file__}


def not_a_number(row: int) -> Any:
    tokens = np.zeros((4, 2), np.float32)
    tokens[row, 1] = np.nan
    return tokens


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        *(({name: None}, f"no array '{name}'") for name in arrays()),
        (
            {"doc_lengths": [1, 0, 2]},
            r"lengths\b.*\b3\b.*\b4\b.*doc_tokens",
        ),
        ({"query_lengths": [1, 1]}, r"lengths\b.*\b2\b.*\b3\b.*query_tokens"),
        ({"doc_lengths": [2, -1, 3]}, r"lengths\[1\]"),
        ({"doc_ids": ["a", "b"]}, r"\b2 ids\b.*\b3\b"),
        ({"query_ids": ["a", "b", "c"]}, r"\b3 ids\b.*\b2\b.*query_tokens"),
        ({"doc_ids": ["a", "b", "a"]}, "'a'.*doc_ids"),
        ({"query_ids": [8, 8]}, "'8'.*query_ids"),
        ({"doc_tokens": not_a_number(0)}, "document '7', row 0, dimension 1"),
        ({"doc_tokens": not_a_number(1)}, "document 'c', row 0, dimension 1"),
        ({"doc_tokens": not_a_number(3)}, "document 'c', row 2, dimension 1"),
        ({"query_tokens": np.full((3, 2), 1e39)}, "query '7', row 0, dimension 0"),
        ({"query_tokens": np.ones((3, 4))}, r"queries\b.*\b4\b.*documents\b.*\b2\b"),
        ({"query_lengths": [0, 3]}, "query '7'.*tokens"),
        ({"doc_tokens": np.zeros((0, 2)), "doc_lengths": [], "doc_ids": []}, "no document"),
        ({"query_tokens": np.zeros((0, 2)), "query_lengths": [], "query_ids": []}, "no query"),
        ({"qrels": "{"}, r"it\.qrels\.json\b.*JSON"),
        ({"qrels": [1]}, r"it\.qrels\.json\b.*\blist\b"),
        ({"qrels": {"7": ["c"]}}, r"query '7'.*\['c'\]"),
        ({"qrels": {"7": {"c": True}}}, "query '7', document 'c': .*True"),
        ({"qrels": {"7": {"c": "1"}}}, "query '7', document 'c': .*'1'"),
        ({"qrels": {}}, r"it\.qrels\.json: .*judgement"),
        ({"qrels": {"7": {"d": 1}}}, r"it\.qrels\.json: .*\b1 judgements\b"),
        ({"exclusions": {"9": ["c"]}}, r"it\.exclusions\.json: .*query '9'"),
        ({"exclusions": {"7": "c"}}, "query '7'.*list.*'c'"),
        ({"exclusions": {"7": ["c", 7]}}, r"query '7': .*\b7\b"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as failure:
        read_vectors(written(tmp_path, **changed))
    assert str(failure.value).startswith(str(tmp_path))


def test_numbers_that_are_not_vectors(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"it\.npz: .*\bint64\b"):
        read_vectors(written(tmp_path, doc_tokens=np.ones((4, 2), np.int64)))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_vectors(tmp_path / "it.npz")
    (tmp_path / "it.npz").write_bytes(b"not a zip archive")
    with pytest.raises(ValueError, match=r"it\.npz"):
        read_vectors(tmp_path / "it.npz")


@pytest.mark.full
def test_real_embeddings() -> None:
    folder = os.environ.get("MAXSIEVE_CORPORA")
    path = Path(folder or "").parent / "embeddings" / "colbertv2_nanofiqa.npz"
    if not folder or not path.is_file():
        pytest.skip("MAXSIEVE_CORPORA is not set, or has no embeddings beside it")
    vectors = read_vectors(path)
    assert (len(vectors.documents), len(vectors.queries)) == (35, 5)
    assert vectors.judgements.keys() == vectors.queries.keys()
    assert sum(map(len, vectors.documents)) == 4430
