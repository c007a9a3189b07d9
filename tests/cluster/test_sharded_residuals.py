"""A store of residuals in shards: one codebook for all of them, which a member reads once."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.residuals import few_tokens, ragged
from maxsieve import Collection
from maxsieve.errors import DamagedIndexError, StoreWarning
from maxsieve.storage import codebook
from maxsieve.storage.storage import NewCalibrations
from text.support import ShortSighted, sentences

from .local import LocalEngine, LocalIndex
from .support import compare

D = 8
DOCS, IDS = ragged(5, 60, D), [f"d{i}" for i in range(60)]
QUERIES = np.random.default_rng(6).standard_normal((25, 3, D)).astype(np.float32)
LIKE: Any = {"store": "residual1", "similarity": "cosine"}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    few_tokens(monkeypatch, 100)
    monkeypatch.setattr("os.fsync", lambda handle: None)


def books_of(index: ms.Index) -> list[Any]:
    return [segment.book for segment in index.storage.snapshot.here.segments]


def test_all_shards_have_one_codebook(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    index, one = LocalIndex.create(D, path=path, shards=3, **LIKE), ms.Index.create(D, **LIKE)
    for each in (index, one):
        each.add(DOCS[:6], IDS[:6])
        assert set(books_of(each)) == {None}
        with pytest.warns(StoreWarning, match="scores change"):
            each.add(DOCS[6:50], IDS[6:50])
    reader = LocalIndex.open(path)
    for each in (index, one, reader):
        each.calibrate(QUERIES[:20], k=5)
    compare(one, index, QUERIES, 4, [ms.Certified(), ms.Bandit(), ms.Calibrated(0.9)])
    index.add(DOCS[50:], IDS[50:])
    reader.refresh()
    for each in (index, reader, LocalIndex.open(path)):
        (book,) = set(books_of(each))
        assert book is each.storage.snapshot.here.codebook
    one.add(DOCS[50:], IDS[50:])
    drifts = [each.storage.snapshot.codebook.drift(each.storage.snapshot.here.segments) for each in (one, index)]  # type: ignore[union-attr]
    assert drifts[0] == drifts[1]
    index.rebalance(2)
    index.compact()
    index.verify()
    assert len(set(books_of(index))) == 1
    compare(one, index, QUERIES[:3], 4, [ms.Certified(), ms.Exhaustive()])


def test_what_shards_refuse(tmp_path: Path) -> None:
    index = LocalIndex.build(DOCS, IDS, path=tmp_path / "corpus", shards=2, **LIKE)
    with pytest.raises(ValueError, match="shards can't be encoded again"):
        index.reencode(DOCS[:1], IDS[:1])
    with pytest.raises(ValueError, match="never changes"):
        index.train_codebook()
    index.storage.replace_tiers(lambda *_: NewCalibrations(()), train=True)  # another writer was faster
    index.verify()


@pytest.mark.parametrize("store", ["residual1", "residual2"])
def test_a_manifest_of_an_older_version_has_no_such_store(tmp_path: Path, store: str) -> None:
    """And no other number of bits than its shards."""
    path = tmp_path / "corpus"
    LocalIndex.build(DOCS, IDS, path=path, shards=2, **LIKE)
    content = json.loads((path / "cluster.json").read_text())
    assert content.pop("version") == 3
    del content["checksum"]
    content |= {"version": 2 if store == "residual1" else 3, "store": store}
    content["checksum"] = zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    (path / "cluster.json").write_text(json.dumps(content))
    with pytest.raises(DamagedIndexError):
        LocalIndex.open(path).verify()


@pytest.mark.parametrize("since", [{}, "", False, -1])
def test_a_number_that_is_none(tmp_path: Path, since: Any) -> None:
    path = tmp_path / "corpus"
    LocalIndex.build(DOCS, IDS, path=path, shards=2, **LIKE)
    content = json.loads((path / "cluster.json").read_text())
    del content["checksum"]
    content["since"] = since
    content["checksum"] = zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    (path / "cluster.json").write_text(json.dumps(content))
    with pytest.raises(DamagedIndexError, match=r"cluster\.json"):
        LocalIndex.open(path)


def test_a_small_corpus_awaits_its_codebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codebook, "STORE_TOKENS", 10**6)
    index = LocalIndex.create(D, path=tmp_path / "corpus", shards=3, **LIKE)
    one = ms.Index.create(D, **LIKE)
    for each in (index, one):
        each.add(DOCS, IDS)
        each.delete(IDS[::7])
        each.compact()
    index.rebalance(2)
    compare(one, index, QUERIES[:3], 4, [ms.Certified(), ms.Exhaustive(), ms.Bandit()])
    for each in (index, one):
        each.train_codebook()
    compare(one, index, QUERIES[:3], 4, [ms.Certified(), ms.Exhaustive(), ms.Bandit()])
    index.verify()


def test_a_collection_is_encoded_when_there_are_enough_tokens(tmp_path: Path) -> None:
    """Its documents are staged as byte codes, also when the shards have a codebook."""
    collection = Collection.create(tmp_path / "corpus", ShortSighted(), shards=3, store="residual2")
    collection.index.storage.engine = LocalEngine()  # type: ignore[attr-defined]
    texts = {f"t{i}": text for i, text in enumerate(sentences(160))}
    with pytest.warns(StoreWarning, match="scores change"):
        collection.add(dict(list(texts.items())[:120]), workers=0)
    collection.add(dict(list(texts.items())[120:]), workers=0)
    snapshot = collection.index.storage.snapshot
    assert snapshot.codebook is not None
    assert snapshot.codebook.tokens == 100
    one = Collection.create(tmp_path / "one", ShortSighted(), store="residual2")
    with pytest.warns(StoreWarning, match="scores change"):
        one.add(texts)
    assert one.index.storage.snapshot.codebook.digest == snapshot.codebook.digest  # type: ignore[union-attr]
    assert all(one.index.vectors(id).tobytes() == collection.index.vectors(id).tobytes() for id in one.index.ids)
    collection.verify()


def test_a_filter_that_matches_nothing_any_more_has_no_calibration(tmp_path: Path) -> None:
    """In shards, too, where it could be the only one."""
    index = LocalIndex.build(DOCS, IDS, metadata=[{"n": i % 2} for i in range(60)], path=tmp_path / "c", shards=2)
    index.calibrate(QUERIES, k=2, where={"n": 1})
    index.delete(IDS[1::2])
    index.recalibrate()
    assert index.storage.snapshot.calibrations == ()
    assert LocalIndex.open(tmp_path / "c").storage.snapshot.calibrations == ()
