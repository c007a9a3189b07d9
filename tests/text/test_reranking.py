"""The best of some texts without a collection, and copies of what encodes them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from maxsieve import Calibrated, Collection
from maxsieve.text import OnnxEncoder, rerank

from .support import ShortSighted, Untraceable, WordEncoder

TEXTS = ["the hare", "sour grapes", "", "a fox and some grapes"]


def test_the_same_as_in_a_collection(tmp_path: Path) -> None:
    long = " ".join(f"w{i}" for i in range(300)) + " grapes"
    hits = rerank("sour grapes", [*TEXTS, long], k=3, encoder=ShortSighted())
    theirs = Collection.create(tmp_path / "c", ShortSighted()).rerank("sour grapes", [*TEXTS, long], k=3)
    assert list(hits) == list(theirs)
    assert hits.ids[0] == 1
    assert hits.passages == theirs.passages
    assert (hits.scope, hits.documents, hits.query_tokens) == ("candidates", 5, 2)


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
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"texts": "grapes"}, "texts must have an entry for each document, not be a single str"),
        ({"texts": ["a", None]}, "texts: document 1 is NoneType, not str"),
        ({"ids": [1]}, "there are 4 texts but 1 ids"),
        ({"ids": ["a", "b", "c", "a"]}, "ids: 'a' occurs twice"),
        ({"policy": Calibrated()}, "rerank can't be Calibrated"),
        ({"query": ""}, "nothing to search for"),
        ({"encoder": b"minilm"}, "an encoder, or the name of one, is needed"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        rerank(**{"query": "grapes", "texts": TEXTS, "encoder": WordEncoder(), **arguments})


def test_a_collection_that_is_copied_or_sent_to_another_process(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", Pickled())
    collection.add(TEXTS, ids=[*"abcd"])
    for again in (copy.copy(collection), copy.deepcopy(collection), pickle.loads(pickle.dumps(collection))):
        assert again is not collection
        assert list(again.search("grapes")) == list(collection.search("grapes"))
        again.close()
    assert len(collection.search("grapes")) == 3


class Pickled(Untraceable):
    """An encoder of a user's own."""

    def __reduce__(self) -> Any:
        return Pickled, ()


def test_a_built_in_encoder_is_named_not_carried(tmp_path: Path, minilm: OnnxEncoder) -> None:
    collection = Collection.create(tmp_path / "c", minilm)
    collection.add(TEXTS)
    carried = pickle.dumps(collection)
    assert b"OnnxEncoder" not in carried
    assert list(pickle.loads(carried).search("grapes")) == list(collection.search("grapes"))


def test_an_encoder_that_is_copied_or_sent_to_another_process(minilm: OnnxEncoder) -> None:
    short = OnnxEncoder(minilm.folder, max_tokens=6, threads=1, name="short")
    for again in (copy.deepcopy(short), pickle.loads(pickle.dumps(short))):
        assert (again.name, again.max_tokens, again.fingerprint) == ("short", 6, short.fingerprint)
        assert again.documents(["sour grapes"])[0].tobytes() == short.documents(["sour grapes"])[0].tobytes()
