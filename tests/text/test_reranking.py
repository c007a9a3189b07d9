"""The best of some texts, without a collection."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from maxsieve import Calibrated, Collection
from maxsieve.text import rerank

from .support import ShortSighted, WordEncoder

TEXTS = ["the hare", "sour grapes", "", "a fox and some grapes"]


def test_the_same_as_in_a_collection(tmp_path: Path) -> None:
    long = " ".join(f"w{i}" for i in range(300)) + " grapes"
    hits = rerank("sour grapes", [*TEXTS, long], k=3, encoder=ShortSighted())
    theirs = Collection.create(tmp_path / "c", ShortSighted()).rerank("sour grapes", [*TEXTS, long], k=3)
    assert list(hits) == list(theirs)
    assert hits.ids[0] == 1
    assert hits.passages == theirs.passages
    assert (hits.scope, hits.n_documents, hits.query_tokens) == ("candidates", 5, 2)
    assert pickle.loads(pickle.dumps(hits)).query_tokens == 2


def test_ids_and_metadata() -> None:
    hits = rerank("grapes", iter(TEXTS), ids=[*"abcd"], metadata=[None, {"n": 1}, None, None], encoder=WordEncoder())
    assert (hits.ids[0], hits.metadata[0]) == ("b", {"n": 1})


def test_all_that_have_a_token() -> None:
    assert len(rerank("grapes", TEXTS * 5, encoder=WordEncoder())) == 10
    assert len(rerank("grapes", TEXTS * 5, None, encoder=WordEncoder())) == 15
    assert len(rerank("grapes", TEXTS, 10**15, encoder=WordEncoder())) == 3
    assert list(rerank("grapes", [], None, encoder=WordEncoder())) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"k": 0}, r"^k\b"),
        ({"texts": "grapes"}, "^texts.*single str"),
        ({"texts": ["a", None]}, "^texts: document 1 .*NoneType"),
        ({"ids": [1]}, "4 texts.*1 ids"),
        ({"ids": ["a", "b", "c", "a"]}, "^ids: 'a'"),
        ({"policy": Calibrated()}, "Calibrated"),
        ({"policy": "calibrated"}, "Calibrated"),
        ({"policy": "fast"}, "policy .*'fast'"),
        ({"query": ""}, "nothing to search for"),
        ({"encoder": b"minilm"}, "^encoder"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        rerank(**{"query": "grapes", "texts": TEXTS, "encoder": WordEncoder(), **arguments})
