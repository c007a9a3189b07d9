"""Codebooks of a store of residuals: they have versions, segments name theirs, and those that no segment names go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.residuals import few_tokens, ragged
from index.support import contents, run_script
from maxsieve.calibrated import is_behind
from maxsieve.errors import StoreWarning
from maxsieve.storage.manifest import read_manifest
from maxsieve.storage.storage import NewCalibrations

from .faults import WRITES, FailingDisk

D = 8
IDS = [f"d{i}" for i in range(40)]
DOCS = ragged(1, 40, D)
QUERIES = np.random.default_rng(2).standard_normal((20, 3, D)).astype(np.float32)
LIKE: Any = {"store": "residual2"}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    few_tokens(monkeypatch, 60)
    monkeypatch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture(params=["memory", "disk"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "index" if request.param == "disk" else None


def two_codebooks(path: Path | None) -> ms.Index:
    """Twenty documents of one codebook, and twenty of another."""
    index = ms.Index.build(DOCS[:20], IDS[:20], path=path, **LIKE)
    index.add(DOCS[20:], IDS[20:])
    index.reencode(DOCS[20:], IDS[20:])
    return index


def books_of(index: ms.Index) -> list[str | None]:
    return [segment.book and segment.book.digest for segment in index.storage.snapshot.here.segments]


def n_listed(index: ms.Index) -> int:
    return sum(part.documents for _, part in index.storage.snapshot.here.lists)


def test_a_codebook_lives_as_long_as_a_segment_names_it(path: Path | None) -> None:
    index = two_codebooks(path)
    first, second = dict.fromkeys(books_of(index))
    assert index.storage.snapshot.codebook.digest == second  # type: ignore[union-attr]
    before = contents(index)
    index.compact()
    assert dict.fromkeys(books_of(index)) == {first: None, second: None}
    assert contents(index) == before
    index.add(DOCS[:2], ["new", "newer"])
    assert books_of(index)[-1] == second
    index.reencode(DOCS[:20], IDS[:20])
    third = books_of(index)[-1]
    index.delete(["new", "newer"])
    index.compact()
    assert dict.fromkeys(books_of(index)) == {second: None, third: None}
    if path is not None:
        assert set(read_manifest(path).codebooks) == {second, third}
        assert len(list(path.glob("*.codebook"))) == 2
        index.verify()


def test_lists_are_of_the_newest_codebook_and_compacting_ends(path: Path | None) -> None:
    index = two_codebooks(path)
    assert n_listed(index) == 20
    index.compact()
    assert n_listed(index) == 20
    assert not is_behind(index.storage.snapshot)
    index.calibrate(QUERIES, k=5)
    assert not is_behind(index.storage.snapshot)
    for query in QUERIES:  # few documents, and those of the older codebook are all followed up
        assert set(index.search(query, 5, policy=ms.Calibrated(0.9)).ids) <= set(index.ids)
    index.add(DOCS[:1], ["new"])
    assert is_behind(index.storage.snapshot)
    index.compact()
    assert not is_behind(index.storage.snapshot)


def test_the_same_vectors_give_the_same_codebook_again(path: Path | None) -> None:
    index = ms.Index.build(DOCS[:20], IDS[:20], path=path, **LIKE)
    index.add(DOCS[20:], IDS[20:])
    (digest,) = set(books_of(index))
    index.reencode(DOCS[:20], IDS[:20])
    assert set(books_of(index)) == {digest}
    index.compact()
    assert n_listed(index) == 40
    book = index.storage.snapshot.codebook
    assert all(segment.book is book for segment in index.storage.snapshot.here.segments)
    if path is not None:
        index.verify()


def test_a_failed_codebook_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index"
    index = ms.Index.build(DOCS[:20], IDS[:20], path=path, **LIKE)
    disk = FailingDisk(monkeypatch, WRITES, 28, False)
    failed = 0
    for nth in range(1, 60, 5):
        with suppress(OSError), disk.failing(nth):
            index.reencode(DOCS[:20], IDS[:20])
        failed += bool(disk.failed)
        index.add(DOCS[20:21], [f"after {nth}"])
        index.verify()
    assert failed > 3


def test_a_codebook_that_another_writer_has_trained_stays(path: Path | None) -> None:
    """Two writers see that there are enough tokens. The second finds that it is done."""
    index = ms.Index.create(D, path=path, **LIKE)
    index.add(DOCS[:3], IDS[:3])
    index.train_codebook()
    before = index.storage.snapshot.codebook
    index.storage.replace_tiers(lambda *_: NewCalibrations(()), train=True)
    assert index.storage.snapshot.codebook is before


def test_threads_that_add_until_there_are_enough(path: Path | None) -> None:
    index = ms.Index.create(D, path=path, **LIKE)
    failures: list[BaseException] = []

    def add(some: range) -> None:
        try:
            for i in some:
                index.add(DOCS[i : i + 1], IDS[i : i + 1])
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=add, args=(range(i, 40, 4),)) for i in range(4)]
    with pytest.warns(StoreWarning):
        run_all(threads)
    assert not failures
    assert len(set(books_of(index))) == 1
    assert len(index) == 40


def run_all(threads: list[threading.Thread]) -> None:
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def test_who_is_told_that_scores_change(path: Path | None, recwarn: pytest.WarningsRecorder) -> None:
    ms.Index.build(DOCS, IDS, **LIKE)
    index = ms.Index.create(D, path=path, **LIKE)
    index.add(DOCS[:4], IDS[:4])
    assert not recwarn
    with pytest.warns(StoreWarning, match="scores change") as told:
        index.add(DOCS[4:30], IDS[4:30])
    assert told[0].filename == __file__
    index.add(DOCS[30:], IDS[30:])
    small = ms.Index.create(D, path=path and path.with_name("small"), **LIKE)
    small.add(DOCS[:4], IDS[:4])
    before = [hits.scores.tolist() for hits in small.search_many(QUERIES)]
    small.calibrate(QUERIES, k=2)
    assert [hits.scores.tolist() for hits in small.search_many(QUERIES)] == before
    assert not recwarn


def test_a_codebook_is_trained_once(path: Path | None) -> None:
    index = ms.Index.build(DOCS[:20], IDS[:20], path=path, **LIKE)
    before = contents(index)
    with pytest.raises(ValueError, match="never changes"):
        index.train_codebook()
    with pytest.raises(ValueError, match="token"):
        ms.Index.create(D, **LIKE).train_codebook()
    assert contents(index) == before


def test_nothing_to_encode_again(path: Path | None) -> None:
    index = ms.Index.build([*DOCS[:20], np.zeros((0, D))], [*IDS[:20], "empty"], path=path, **LIKE)
    before = contents(index)
    with pytest.raises(ValueError, match="token"):
        index.reencode([], [])
    with pytest.raises(ValueError, match="token"):
        index.reencode([np.zeros((0, D))], ["empty"])
    with pytest.raises(KeyError, match="reencode: no document has the id 'x'"):
        index.reencode(DOCS[:1], ["x"])
    with pytest.raises(ValueError, match="documents"):
        index.reencode(DOCS[:2])
    assert contents(index) == before
    with pytest.raises(ValueError, match="residuals"):
        ms.Index.build(DOCS[:2]).reencode(DOCS[:2])


def test_calibrations_are_made_again(path: Path | None) -> None:
    index = ms.Index.build(DOCS[:30], IDS[:30], metadata=[{"n": i % 3} for i in range(30)], path=path, **LIKE)
    index.calibrate(QUERIES, k=4)
    index.calibrate(QUERIES, k=4, where={"n": 1})
    index.calibrate(QUERIES, k=4, where={"n": 2})
    index.delete(IDS[2:30:3])  # the last filter matches nothing any more
    index.reencode([DOCS[i] for i in range(30) if i % 3 != 2])
    snapshot = index.storage.snapshot
    assert {one.where and one.where.given["n"] for one in snapshot.calibrations} == {None, 1}
    assert not any(snapshot.changes)
    assert index.metadata("d4") == {"n": 1}


TRUNCATED = """
import sys, numpy as np, maxsieve as ms
from pathlib import Path
from maxsieve.storage.manifest import read_manifest
path, query = Path(sys.argv[1]), np.ones((3, 8))
index, manifest = ms.Index.open(path), read_manifest(path)
(older,) = [one for one in manifest.codebooks.values() if one != manifest.extras["codebook"]]
with open(path / older.name, "r+b") as file:
    file.truncate(4096)
asked = [lambda: index.search(query, 40), lambda: index.vectors("d0"), index.verify, index.compact]
asked.append(lambda: index.search(query, 2, candidates=["d1"], policy=ms.Exhaustive()))
for ask in asked:
    try:
        ask()
        print("answered")
    except ms.errors.DamagedIndexError as problem:
        assert older.name in str(problem), problem
        print("refused")
"""


def test_an_older_codebook_that_is_truncated_while_it_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must be noticed before it is read: reading beyond the end would end the process."""
    monkeypatch.setattr("maxsieve.storage.codebook.TOKENS_OF_CENTROID", 0.25)
    index = two_codebooks(tmp_path / "index")
    index.delete(IDS[2])
    index.close()
    done = run_script(TRUNCATED, str(tmp_path / "index"))
    assert done.stdout.split() == ["refused"] * 5, done.stderr


class MeanwhileRows:
    """The rows of some documents, during whose reading another writer changes the index."""

    def __init__(self, docs: list[Any], meanwhile: Callable[[], object]) -> None:
        self._rows, self._meanwhile = np.concatenate(docs), meanwhile

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._meanwhile()
        return self._rows


def test_documents_that_change_while_they_are_encoded_again(path: Path | None) -> None:
    """What belongs to a document is read at once, and a document that was deleted meanwhile does not come back."""
    index = ms.Index.build(DOCS[:20], IDS[:20], metadata=[{"n": i} for i in range(20)], path=path, **LIKE)

    def again(first: int, meanwhile: Callable[[], object]) -> None:
        some = DOCS[first : first + 10]
        index.reencode(MeanwhileRows(some, meanwhile), IDS[first : first + 10], lengths=list(map(len, some)))

    def compact() -> None:
        index.delete(IDS[:5])
        index.compact()

    again(10, compact)
    assert [index.metadata(one) for one in IDS[5:20]] == [{"n": i} for i in range(5, 20)]
    with pytest.raises(KeyError, match="reencode: no document has the id 'd7'"):
        again(5, lambda: index.delete("d7"))
    assert "d7" not in index
    assert len(index) == 14


def test_a_codebook_that_is_trained_while_documents_are_read() -> None:
    """They are encoded by it, and nothing is left to do."""
    index = ms.Index.create(D, **LIKE)
    index.add(DOCS[:4], IDS[:4])

    def rows() -> Iterator[Any]:
        index.train_codebook()
        yield from DOCS[:2]

    index.reencode(rows(), IDS[:2])
    assert index.ids == ["d2", "d3", "d0", "d1"]
    assert len(set(books_of(index))) == 1
