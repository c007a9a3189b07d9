"""Collections, their hits and encoders in other processes, and copies of them."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import IndexLockedError, MaxsieveError
from maxsieve.text import OnnxEncoder, ProjectedEncoder
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.encoders.pooled import PooledEncoder

from .support import Untraceable, WordEncoder

TEXTS = [
    "The cat sat on the mat.",
    "A dog barked at the moon.",
    "# Birds\n\n" + "Swallows fly south in autumn. " * 120 + "\n\n# Fish\n\n" + "Salmon swim upstream to spawn. " * 120,
    "Rain fell on the roof.",
]


def through_pickle(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


WAYS: list[Callable[[Any], Any]] = [through_pickle, copy.copy, copy.deepcopy]


def made(path: Path, encoder: Any = None, **options: Any) -> ms.Collection:
    notes = ms.Collection.create(path, WordEncoder() if encoder is None else encoder, **options)
    notes.add(TEXTS, ids=[f"t{i}" for i in range(len(TEXTS))], metadata=[{"n": i} for i in range(len(TEXTS))])
    return notes


def all_of(hits: TextHits) -> dict[str, Any]:
    """All that hits can be asked."""
    return {
        "hits": list(hits),
        "texts": hits.texts,
        "passages": hits.passages,
        "metadata": hits.metadata,
        "words": [hits.explain(rank) for rank in range(len(hits))],
        "whole": [(hit.id, hit.score, hit.text, hit.metadata, hit.passage) for hit in hits],
        "scope": (hits.query, hits.scope, hits.first_stage, hits.depth, hits.n_documents, hits.has_passages),
        "guarantee": hits.report.guarantee,
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("encoder", [WordEncoder, Untraceable])
def test_hits_arrive_with_all_that_can_be_asked(tmp_path: Path, way: Callable[[Any], Any], encoder: Any) -> None:
    notes = made(tmp_path / "it", encoder())
    for hits in (notes.search("swallows in autumn", k=3), notes.rerank("salmon", TEXTS, k=2)):
        expected = all_of(hits)
        other = way(hits)
        assert all_of(other) == expected
        assert all_of(through_pickle(other)) == expected
        assert repr(other) == repr(hits)
    assert any(expected["words"]) == (encoder is WordEncoder)


def test_hits_of_hybrid_search_arrive(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    hits = made(tmp_path / "it").search("salmon spawn", k=2, hybrid=0.3)
    other = through_pickle(hits)
    assert all_of(other) == all_of(hits)
    assert other.hybrid.fusion == 0.3
    assert np.array_equal(other.hybrid.bm25, hits.hybrid.bm25)


@pytest.mark.parametrize("way", WAYS)
def test_a_collection_arrives(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    notes = made(tmp_path / "it", dim=8, pool=2)
    other = way(notes)
    assert other.ids == notes.ids
    assert all_of(other.search("swallows", k=2)) == all_of(notes.search("swallows", k=2))
    other.add(["Snow lay on the hills."], ids=["t9"])  # with the encoder that it was made with
    notes.refresh()
    assert notes.text("t9") == "Snow lay on the hills."


def test_a_pickled_collection_arrives_at_the_newest_version(tmp_path: Path) -> None:
    notes = made(tmp_path / "it")
    sent, copied = pickle.dumps(notes), copy.copy(notes)
    notes.delete(["t0"])
    assert "t0" in copied
    assert "t0" not in pickle.loads(sent)


def test_another_collection_in_its_folder_is_not_taken_for_it(tmp_path: Path) -> None:
    sent = pickle.dumps(made(tmp_path / "it"))
    (tmp_path / "it").rename(tmp_path / "old")
    made(tmp_path / "it")
    with pytest.raises(MaxsieveError, match="another index"):
        pickle.loads(sent)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_no_second_writer(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    notes = made(tmp_path / "it")

    def texts() -> Any:
        other = way(notes)  # while `notes` is being written to
        with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
            other.delete(["t0"])
        yield "Snow lay on the hills."

    notes.add(texts(), ids=["t9"])
    assert {"t0", "t9"} <= set(notes.ids)


def test_a_built_in_encoder_is_loaded_where_it_is_needed(tmp_path: Path, minilm: OnnxEncoder) -> None:
    notes = made(tmp_path / "it", minilm)
    sent = pickle.dumps(notes)
    assert str(minilm.folder).encode() not in sent
    expected = notes.search("swallows", k=2)
    found = pickle.loads(sent).search("swallows", k=2)
    assert found.ids == expected.ids
    assert found.scores.tobytes() == expected.scores.tobytes()


def encode(encoder: Any, text: str) -> Any:
    return encoder.encode_documents([text])[0], encoder.fingerprint, encoder.name


def test_encoders_go_by_their_folder(minilm: OnnxEncoder) -> None:
    matrix = np.eye(minilm.dim, 8, dtype=np.float32)
    short = OnnxEncoder(minilm.folder, max_tokens=16, threads=1, name="short")
    for encoder in (minilm, short, ProjectedEncoder(minilm, matrix), PooledEncoder(minilm, 2)):
        assert len(pickle.dumps(encoder)) < 20_000
        for way in WAYS:
            other = way(encoder)
            rows, fingerprint, name = encode(other, TEXTS[0])
            assert rows.tobytes() == encode(encoder, TEXTS[0])[0].tobytes()
            assert (fingerprint, name) == (encoder.fingerprint, encoder.name)
            assert type(other) is type(encoder)
    assert copy.deepcopy(minilm) is minilm
    assert through_pickle(short).max_tokens == 16


def test_multiprocessing(tmp_path: Path, minilm: OnnxEncoder) -> None:
    notes = made(tmp_path / "it", minilm)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(ms.Collection.search, (notes, "swallows", 2))
    assert all_of(found) == all_of(notes.search("swallows", 2))
