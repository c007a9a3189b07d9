"""Documents of a segment that is sealed get their lists in the commit that adds them; each token is named once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.support import listed
from maxsieve.storage import codebook, disk, listing, segments
from maxsieve.storage.manifest import read_manifest
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import NewCalibrations

DIM, LIMIT = 8, 1 << 13


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment of some fifty documents is sealed."""
    monkeypatch.setattr(codebook, "FEWEST", 16)
    monkeypatch.setattr(codebook, "MOST", 64)
    monkeypatch.setattr(disk, "SMALL_BYTES", LIMIT)
    monkeypatch.setattr(segments, "BLOCK_BYTES", LIMIT)


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens of each call that names tokens."""
    tokens: list[int] = []
    original = listing.make_lists

    def counted(book: Any, some: Any, threads: int) -> Any:
        tokens.append(sum(segment.tokens for segment in some))
        return original(book, some, threads)

    monkeypatch.setattr(listing, "make_lists", counted)
    return tokens


def documents(seed: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, DIM)).astype(np.float32) for length in rng.integers(0, 6, count)]


def an_index(path: Path | None, store: Any) -> ms.Index:
    """Two segments; the second would not be sealed if it had no lists."""
    return ms.Index.build(documents(0, 120), [f"a{i}" for i in range(120)], path=path, store=store)


def made_at_once(snapshot: Snapshot) -> dict[Any, list[int]]:
    """The lists of all documents, from their tokens."""
    bare = [segment.changed(lists=None) for segment in snapshot.segments]
    return listed(replace(snapshot, segments=bare).listed(1))


def unlisted_tokens(snapshot: Snapshot) -> int:
    return sum(segment.tokens for segment in snapshot.segments if segment.lists is None)


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("store", ["float32", "residual4"])
@pytest.mark.parametrize("batch", [1, 7, 80])
def test_sealed_segments_have_lists(place: str, store: str, batch: int, tmp_path: Path, named: list[int]) -> None:
    index = an_index(tmp_path / "index" if place == "disk" else None, store)
    if store == "float32":
        index.train_codebook()
    named.clear()
    new = documents(1, 560)
    for first in range(0, 560, batch):
        index.add(new[first : first + batch], [f"b{i}" for i in range(first, first + batch)])
        snapshot = index.storage.snapshot.here
        tail = [segment for segment in snapshot.segments if segment.lists is None]
        assert all(segment.lists is None for segment in snapshot.segments[len(snapshot.segments) - len(tail) :])
        assert sum(segment.nbytes for segment in tail) <= 2 * LIMIT
        assert len(snapshot.lists) <= 8
    left = unlisted_tokens(index.storage.snapshot.here)
    assert left < sum(map(len, new)) / 2
    assert sum(named) == sum(map(len, new)) - left, "each token was named once, although parts were merged"
    whole = made_at_once(index.storage.snapshot.here)
    assert all(ids in ([], whole[one]) for one, ids in listed(index.storage.snapshot.here).items())
    named.clear()
    index.storage.replace_tiers(lambda *_: NewCalibrations(()), train=False)  # as an update does
    assert sum(named) == left
    assert listed(index.storage.snapshot.here) == whole


def test_without_a_codebook_nothing_is_named(tmp_path: Path, named: list[int]) -> None:
    for path in (None, tmp_path / "index"):
        index = an_index(path, "float32")
        index.add(documents(1, 300), [f"b{i}" for i in range(300)])
    assert named == []


def test_lists_are_committed_with_their_documents(tmp_path: Path, named: list[int]) -> None:
    index = an_index(tmp_path / "index", "float32")
    index.train_codebook()
    index.delete([f"a{i}" for i in range(0, 100, 3)])
    before = read_manifest(tmp_path / "index")
    index.add(documents(1, 300), [f"b{i}" for i in range(300)], delete=["a1"])
    after = read_manifest(tmp_path / "index")
    assert after.generation == before.generation + 1
    files = {entry.lists for entry in after.segments if entry.lists is not None}
    assert files != {entry.lists for entry in before.segments}
    assert {path.name for path in (tmp_path / "index").glob("*.lists")} == files
    with ms.Index.open(tmp_path / "index") as again:
        again.verify()
        whole = made_at_once(again.storage.snapshot.here)
        assert all(ids in ([], whole[one]) for one, ids in listed(again.storage.snapshot.here).items())


def test_what_stands_before_a_sealed_segment_is_sealed() -> None:
    small, large = (ms.Index.build(documents(2, count)).storage.snapshot.here.segments[0] for count in (5, 30))
    limit = large.nbytes * 3 // 2
    assert [listing.count_sealed(some, limit) for some in ([], [small], [large], [large, small])] == [0, 0, 0, 0]
    assert [listing.count_sealed(some, limit - 2) for some in ([small], [large, small], [small, large])] == [0, 1, 2]
    index = an_index(None, "float32")
    index.train_codebook()
    assert listing.count_sealed([*index.storage.snapshot.here.segments, small], 1 << 40) == 2
