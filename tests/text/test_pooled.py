"""Collections that keep fewer vectors than tokens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.errors import DamagedIndexError
from maxsieve.pooling import clusters, merges
from maxsieve.text import Encoder, ProjectedEncoder, Traceable
from maxsieve.text.collection.collection import Collection
from maxsieve.text.encoders.pooled import PooledEncoder

from .support import Untraceable, WordEncoder, sentences, tree


def test_documents_are_pooled_and_queries_are_not() -> None:
    inner = WordEncoder()
    encoder = PooledEncoder(inner, 3)
    assert isinstance(encoder, Encoder)
    texts = [*sentences(5), "", "one", "one two"]
    for rows, whole in zip(encoder.encode_documents(texts), inner.encode_queries(texts), strict=True):
        np.testing.assert_array_equal(rows, ms.pool(whole, 3))
    for rows, whole in zip(encoder.encode_queries(texts), inner.encode_queries(texts), strict=True):
        np.testing.assert_array_equal(rows, whole)
    assert encoder.fingerprint == {**inner.fingerprint, "pool": "3"}
    assert (encoder.name, encoder.dim) == ("words", 16)


@given(st.lists(st.sampled_from("a b c d e f".split()), max_size=30), st.integers(1, 7))  # noqa: SIM905
def test_a_pooled_row_has_the_span_of_its_nearest_token(words: list[str], factor: int) -> None:
    inner, text = WordEncoder(), " ".join(words)
    encoder: Any = PooledEncoder(inner, factor)
    [pooled], [rows] = encoder.encode_documents([text]), inner.encode_queries([text])
    spans, places = encoder.document_spans(text), inner.document_spans(text)
    assert len(spans) == len(pooled)
    assert len({*spans}) == len(spans), "no token stands for two rows"
    own = clusters(len(rows), merges(rows), factor)
    for place, (row, span) in enumerate(zip(pooled, spans, strict=True)):
        token, members = places.index(span), np.flatnonzero(own == place)
        assert token in members
        assert rows[token] @ row >= (rows[members] @ row).max() - 1e-6
    assert encoder.query_spans(text) == places


def test_it_is_traceable_if_the_inner_encoder_is() -> None:
    assert isinstance(PooledEncoder(WordEncoder(), 2), Traceable)
    assert isinstance(PooledEncoder(ProjectedEncoder(WordEncoder(), np.eye(16, 4)), 2), Traceable)
    assert not isinstance(PooledEncoder(Untraceable(), 2), Traceable)


@pytest.mark.parametrize("dim", [None, 6])
def test_a_collection_pools_whatever_is_added(tmp_path: Path, dim: int | None) -> None:
    texts = sentences(60)
    with Collection.create(tmp_path / "c", WordEncoder(), dim, store="int8", pool=2) as collection:
        assert collection.info()["pool"] == 2
        collection.add(texts[:40], range(40))
    with Collection.open(tmp_path / "c", WordEncoder()) as again:
        again.add(texts[40:], range(40, 60))
        again.add(["n1 w5 w6 w7"], [1], replace=True)
        inner = again.encoder.encoder  # type: ignore[attr-defined]
        for one in (0, 1, 41, 59):
            pooled = ms.pool(inner.encode_documents([again.text(one)])[0], 2)
            stored = ms.Index.build([pooled], store="int8").vectors(0)
            np.testing.assert_array_equal(again.index.vectors(again.keys.key(one)), stored)
        assert again.info()["pool"] == 2
        again.verify()
        query = again.encoder.encode_queries(["n41 w7"])
        assert len(query[0]) == 2


def test_words_are_still_explained(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), pool=2)
    collection.add(["fox fox grapes grapes owl owl", "river river tea tea"], ["fox", "river"])
    hits = collection.search("grapes owl", k=2)
    assert hits.ids[0] == "fox"
    assert [(one.query, one.document) for one in hits.explain(0)] == [("grapes", "grapes"), ("owl", "owl")]
    assert sum(one.similarity for one in hits.explain(0)) == pytest.approx(float(hits.scores[0]), abs=1e-5)
    reranked = collection.rerank("grapes", ["tea tea", "grapes grapes"])
    assert reranked.ids[0] == 1
    assert reranked.explain(0)[0].document == "grapes"


def test_without_pooling_the_description_is_as_it_was(tmp_path: Path) -> None:
    Collection.create(tmp_path / "plain", WordEncoder()).close()
    Collection.create(tmp_path / "pooled", WordEncoder(), pool=3).close()
    described = [json.loads((tmp_path / name / "collection.json").read_text()) for name in ("plain", "pooled")]
    assert "pool" not in described[0]
    assert described[1]["pool"] == 3


@pytest.mark.parametrize("wrong", [0, -1, 65, True, 1.5, "2", None, 10**30])
def test_a_description_that_no_writer_writes(tmp_path: Path, wrong: Any) -> None:
    Collection.create(tmp_path / "c", WordEncoder()).close()
    path = tmp_path / "c" / "collection.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pool": wrong}))
    with pytest.raises(DamagedIndexError, match=r"collection\.json\b.*pooled"):
        Collection.open(tmp_path / "c", WordEncoder())


@pytest.mark.parametrize(("wrong", "error"), [(0, ValueError), (65, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_bad_factors(tmp_path: Path, wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^pool"):
        Collection.create(tmp_path / "c", WordEncoder(), pool=wrong)
    assert not (tmp_path / "c").exists()


def test_what_is_missing_is_said_before_a_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ModuleNotFoundError, match=r"maxsieve\[pool\]"):
        Collection.create(tmp_path / "c", WordEncoder(), pool=2)
    assert not (tmp_path / "c").exists()
    Collection.create(tmp_path / "c", WordEncoder()).close()
    assert tree(tmp_path / "c")
