"""`Calibrated` through the index, in memory and on disk: what it promises, stores, refuses and forgets."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve import _core, spec
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.errors import ClosedIndexError, DamagedIndexError, MaxsieveError
from maxsieve.storage.blocks import BlockFile

from .support import small_codebooks

DIM = 16
Make = Callable[..., ms.Index]


def vectors(seed: int, documents: int, tokens: int = 6) -> list[np.ndarray]:
    """Unit tokens around a few centres, so that a proxy is good but not perfect."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((40, DIM))
    made = []
    for length in rng.integers(1, 2 * tokens, documents):
        rows = centres[rng.integers(0, 40, length)] + 0.5 * rng.standard_normal((length, DIM))
        made.append((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))
    return made


def queries(seed: int, count: int) -> list[np.ndarray]:
    return [rows[:4] for rows in vectors(seed + 1000, count, 8)]


@pytest.fixture(params=["memory", "disk", "disk int8"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    def build(documents: list[np.ndarray], ids: list[str] | None = None) -> ms.Index:
        store = "int8" if "int8" in request.param else "float32"
        path = None if request.param == "memory" else tmp_path / "index"
        return ms.Index.build(documents, ids, path=path, store=store)

    return build


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_codebooks(monkeypatch)


def test_the_answer_is_that_of_the_specification(make: Make) -> None:
    documents = vectors(0, 300)
    index = make(documents)
    index.calibrate(queries(0, 40), k=20)
    state = index.storage.snapshot
    book, calibration = state.codebook, state.calibration
    assert book is not None
    assert calibration is not None
    as_spec = spec.Codebook(book.heads[:, :DIM], book.starts, book.codes[:, :DIM], np.float32(book.scale), book.length)
    stored = [index.vectors(i).astype(np.float32) for i in range(len(documents))]
    for query in queries(7, 3):
        for k, overlap in ((1, 0.9), (5, 0.95), (20, 0.5)):
            walk = calibration.walk(k, Fraction(str(overlap)))
            n = spec.depth(calibration.hits["documents"].ranks[walk], k, Fraction(str(overlap)))
            near, opened = calibration.walks[walk] or (0, 0)
            shape = spec.Walk(near, opened, book.probes or 0)
            expected = spec.first_by_lists(query, stored, as_spec, k, max(k, n), shape)
            hits = index.search(query, k, policy=ms.Calibrated(overlap))
            assert hits.report.survivors == expected.survivors
            assert hits.ids == expected.positions
            assert hits.scores.tobytes() == expected.scores.tobytes()
            assert hits.report.guarantee == "calibrated"
            assert hits.report.coverage == expected.survivors / len(documents)
            assert hits.report.touched["tokens"] == sum(len(stored[i]) for i in expected.followed)
    for walk, of_walk in zip(calibration.walks, calibration.hits["documents"].ranks, strict=True):
        for query, ranks in zip(queries(0, 40)[:4], of_walk, strict=False):
            proxies = spec.walked_proxies(query, stored, as_spec, spec.Walk(*(walk or (0, 0)), book.probes or 0))
            best = spec.certified(query, stored, 30).positions
            assert ranks.tolist() == spec.ranks_by_proxy(proxies, best).tolist()


def test_the_promise_is_kept_on_average(make: Make) -> None:
    index = make(vectors(1, 800))
    everything = queries(3, 400)
    index.calibrate(everything[::2], k=10)
    asked = everything[1::2]
    exact = index.search_many(asked, k=10)
    for overlap in (0.8, 0.9, 0.95):
        found = index.search_many(asked, k=10, policy=ms.Calibrated(overlap))
        kept = np.mean([len({*a.ids} & {*b.ids}) / 10 for a, b in zip(found, exact, strict=True)])
        # 200 queries estimate a mean of shares to within 0.02 or so; the promise itself is proven in tests/spec.
        assert kept >= overlap - 0.03
        assert np.mean([hits.report.survivors for hits in found]) < 600


def test_many_at_once_and_threads_give_the_same(make: Make) -> None:
    index = make(vectors(2, 500))
    index.calibrate(queries(2, 30), k=10)
    asked = queries(8, 7)
    many = index.search_many(asked, k=4, policy=ms.Calibrated(0.9))
    for query, hits in zip(asked, many, strict=True):
        for threads in (1, 3):
            alone = index.search(query, k=4, policy=ms.Calibrated(0.9), threads=threads)
            assert list(alone) == list(hits)
            assert alone.report.survivors == hits.report.survivors


def test_it_is_kept_on_disk_and_found_again(tmp_path: Path) -> None:
    index = ms.Index.build(vectors(3, 400), path=tmp_path / "index", store="int8")
    index.calibrate(queries(3, 25), k=10, calibrated_on="own sentences")
    query = queries(11, 1)[0]
    before = index.search(query, k=5, policy=ms.Calibrated(0.9))
    assert before.report.calibrated_on == "own sentences"
    index.verify()
    index.close()
    with ms.Index.open(tmp_path / "index") as again:
        after = again.search(query, k=5, policy=ms.Calibrated(0.9))
        assert list(after) == list(before)
        assert after.report.calibrated_on == "own sentences"
        again.recalibrate()
        assert list(again.search(query, k=5, policy=ms.Calibrated(0.9))) == list(before)
        again.verify()


def test_changes_are_counted_until_the_calibration_is_brought_up_to_date(make: Make) -> None:
    documents = vectors(4, 200)
    index = make(documents, [f"d{i}" for i in range(200)])
    index.calibrate(queries(4, 25), k=10)
    policy, query = ms.Calibrated(0.9), queries(12, 1)[0]
    index.add(vectors(5, 9), [f"new{i}" for i in range(9)])
    index.delete(["d0", "d1"])
    report = index.search(query, k=5, policy=policy).report
    assert (report.guarantee, report.added, report.deleted) == ("calibrated", 9, 2)
    index.add(vectors(6, 5), [f"d{i}" for i in range(10, 15)], replace=True)
    report = index.search(query, k=5, policy=policy).report
    assert (report.guarantee, report.added, report.deleted) == ("calibrated", 14, 7)
    index.recalibrate()
    report = index.search(query, k=5, policy=policy).report
    assert (report.guarantee, report.added, report.deleted) == ("calibrated", 0, 0)
    index.delete(["d20"])
    index.compact()
    report = index.search(query, k=5, policy=policy).report
    assert (report.guarantee, report.added, report.deleted) == ("calibrated", 0, 0)
    assert index.storage.snapshot.calibration is not None
    assert index.storage.snapshot.calibration.documents == len(index)


def test_new_documents_can_be_hits(make: Make) -> None:
    index = make(vectors(6, 300), [f"d{i}" for i in range(300)])
    index.calibrate(queries(6, 25), k=10)
    new = np.concatenate(vectors(77, 4))
    index.add([new], ["new"])
    assert "new" in index.search(new, k=10, policy=ms.Calibrated(0.9)).ids
    index.delete("new")
    assert "new" not in index.search(new, k=10, policy=ms.Calibrated(0.9)).ids


def test_excluded_documents_keep_the_promise_at_a_higher_price(make: Make) -> None:
    index = make(vectors(7, 400))
    index.calibrate(queries(7, 100), k=20)
    query = queries(13, 1)[0]
    plain = index.search(query, k=10, policy=ms.Calibrated(0.9))
    without = index.search(query, k=10, policy=ms.Calibrated(0.9), exclude=plain.ids[:2])
    assert without.report.guarantee == "calibrated"
    assert without.report.survivors >= plain.report.survivors
    assert not set(without.ids) & set(plain.ids[:2])
    calibration = index.storage.snapshot.calibration
    assert calibration is not None
    assert without.report.survivors == calibration.depth(12, 1 - Fraction(1, 10) * Fraction(10, 12))
    too_many = index.search(query, k=15, policy=ms.Calibrated(0.9), exclude=list(range(9)))
    assert too_many.report.guarantee == "exact"


def test_candidates_are_searched_exactly(make: Make) -> None:
    index = make(vectors(8, 400))
    index.calibrate(queries(8, 30), k=10)
    query = queries(14, 1)[0]
    mask = np.arange(400) % 2 == 0
    some = index.search(query, k=5, policy=ms.Calibrated(0.9), candidates=mask)
    assert some.report.guarantee == "exact"
    assert list(some) == list(index.search(query, k=5, candidates=mask))
    few = index.search(query, k=5, policy=ms.Calibrated(0.9), candidates=list(range(12)))
    assert few.report.guarantee == "exact"
    assert list(few) == list(index.search(query, k=5, candidates=list(range(12))))


def test_empty_and_deleted_documents_are_no_hits(make: Make) -> None:
    documents = vectors(9, 200)
    documents[3] = np.zeros((0, DIM), np.float32)
    index = make(documents)
    index.delete([5])
    index.calibrate(queries(9, 20), k=50)
    for query in queries(15, 3):
        found = index.search(query, k=198, policy=ms.Calibrated(0.9))
        assert found.report.guarantee == "exact"
        assert not {3, 5} & set(found.ids)
        assert not {3, 5} & set(index.search(query, k=50, policy=ms.Calibrated(0.5)).ids)


def test_compact_makes_a_codebook_again_that_the_index_has_outgrown(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxsieve.storage.codebook.MOST", 65536)
    index = make(vectors(10, 20), [f"d{i}" for i in range(20)])
    index.calibrate(queries(10, 20), k=10)
    first = index.storage.snapshot.codebook
    index.add(vectors(11, 40), [f"e{i}" for i in range(40)])
    index.compact()
    assert index.storage.snapshot.codebook is not None
    assert first is not None
    assert index.storage.snapshot.codebook.tokens == first.tokens  # three times the tokens: not yet
    index.add(vectors(12, 60), [f"f{i}" for i in range(60)])
    index.compact()
    second = index.storage.snapshot.codebook
    assert second is not None
    assert second.tokens == index.tokens
    assert second.centroids > first.centroids
    report = index.search(queries(16, 1)[0], k=5, policy=ms.Calibrated(0.9)).report
    assert (report.added, report.deleted) == (0, 0)


BAD = {
    "queries is empty": lambda index: index.calibrate([]),
    "query 1 .* 7 dimensions": lambda index: index.calibrate([np.ones((2, DIM)), np.ones((2, 7))]),
    "query 0, row 0": lambda index: index.calibrate([np.full((2, DIM), np.nan)]),
    "query 1": lambda index: index.calibrate([np.ones((2, DIM)), np.ones((0, DIM))]),
    "^k ": lambda index: index.calibrate([np.ones((2, DIM))], k=0),
    "^calibrated_on": lambda index: index.calibrate([np.ones((2, DIM))], calibrated_on="hope"),
    "not calibrated": lambda index: index.recalibrate(),
    "this index is not calibrated": lambda index: index.search(np.ones((2, DIM)), policy=ms.Calibrated()),
}


@pytest.mark.parametrize("problem", BAD)
def test_bad_input_is_refused_and_changes_nothing(make: Make, problem: str) -> None:
    index = make(vectors(13, 50))
    state = index.storage.snapshot
    with pytest.raises(ValueError, match=problem):
        BAD[problem](index)
    assert index.storage.snapshot is state
    assert index.storage.snapshot.codebook is None


def test_targets_that_can_not_be_met_are_refused(make: Make) -> None:
    index = make(vectors(14, 300))
    index.calibrate(queries(14, 20), k=10)
    with pytest.raises(ValueError, match=r"0\.99\D+99\D+20\b"):
        index.search(queries(17, 1)[0], policy=ms.Calibrated())
    with pytest.raises(ValueError, match=r"^k\D+11\D+10\b"):
        index.search(queries(17, 1)[0], k=11, policy=ms.Calibrated(0.9))


@pytest.mark.parametrize("overlap", [0, 1, -0.5, 1.5, float("nan"), float("inf")])
def test_overlaps_outside_the_interval_are_refused(overlap: float) -> None:
    with pytest.raises(ValueError, match=r"^overlap"):
        ms.Calibrated(overlap)


@pytest.mark.parametrize("overlap", ["0.9", None, True, 0.9j])
def test_overlaps_that_are_no_numbers_are_refused(overlap: object) -> None:
    with pytest.raises(TypeError, match=r"^overlap"):
        ms.Calibrated(overlap)  # type: ignore[arg-type]


def test_an_empty_index_has_nothing_to_learn_from(make: Make) -> None:
    index = make([np.zeros((0, DIM), np.float32)])
    for call in (index.train_codebook, lambda: index.calibrate([np.ones((1, DIM))])):
        with pytest.raises(ValueError, match="token"):
            call()


def test_an_interrupted_calibration_leaves_the_index_as_it_was(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make(vectors(15, 100))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "ranks", stop)
    with pytest.raises(KeyboardInterrupt):
        index.calibrate(queries(15, 20), k=5)
    assert index.storage.snapshot.codebook is None
    index.add(vectors(16, 1), [1000])


def test_a_closed_index_is_closed(make: Make) -> None:
    index = make(vectors(16, 20))
    index.close()
    with pytest.raises(ClosedIndexError):
        index.calibrate(queries(0, 2))


def test_files_of_another_index_are_refused(tmp_path: Path) -> None:
    for name, dim in (("a", DIM), ("b", DIM)):
        rng = np.random.default_rng(ord(name))
        index = ms.Index.build(rng.standard_normal((300, dim)), lengths=[3] * 100, path=tmp_path / name)
        index.calibrate(rng.standard_normal((20, 2, dim)), k=5)
        index.close()
    for kind in ("codebook", "calibration", "lists"):
        (theirs,), (ours,) = ((tmp_path / name).glob(f"*.{kind}") for name in "ba")
        kept = ours.read_bytes()
        ours.write_bytes(theirs.read_bytes())
        with pytest.raises(DamagedIndexError, match=kind):
            ms.Index.open(tmp_path / "a")
        ours.write_bytes(kept)
    ms.Index.open(tmp_path / "a").verify()


@pytest.mark.parametrize("kind", ["codebook", "calibration", "lists"])
def test_flipped_bytes_are_found(tmp_path: Path, kind: str) -> None:
    index = ms.Index.build(vectors(17, 100), path=tmp_path / "index")
    index.calibrate(queries(17, 20), k=5)
    index.close()
    (path,) = (tmp_path / "index").glob(f"*.{kind}")
    whole, blocks = path.read_bytes(), [*BlockFile(path).blocks.values()]
    rng = np.random.default_rng(0)
    for _ in range(25):
        place = int(rng.integers(2048, len(whole)))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        try:
            with ms.Index.open(tmp_path / "index") as opened:
                opened.search(queries(18, 1)[0], k=3, policy=ms.Calibrated(0.9))
                opened.verify()
            inside = [block for block in blocks if block.offset <= place < block.offset + block.nbytes]
            assert not inside, "only padding between blocks is not covered by a checksum"
        except MaxsieveError:
            pass
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MaxsieveError):
        ms.Index.open(tmp_path / "index")


def test_versions_before_this_one_are_told_so(tmp_path: Path) -> None:
    index = ms.Index.build(vectors(18, 30), path=tmp_path / "index")
    manifest = tmp_path / "index" / "manifest.json"
    assert '"version": 1' in manifest.read_text()
    index.train_codebook()
    assert '"version": 3' in manifest.read_text()


def test_int8_takes_a_byte_for_each_number(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "index"
    ms.Index.build(rng.standard_normal((64_000, 128)).astype(np.float32), lengths=[64] * 1000, path=path, store="int8")
    assert sum(file.stat().st_size for file in path.iterdir()) <= 130 * 64_000


def test_the_document_an_own_sentence_comes_from_counts_for_nothing(make: Make) -> None:
    documents = vectors(19, 200)
    index = make(documents)
    sentences = [rows[:3] for rows in documents[:30]]
    index.calibrate(sentences, k=11)
    whole = index.storage.snapshot.calibration
    index.calibrate(sentences, k=10, calibrated_on="own sentences")
    without = index.storage.snapshot.calibration
    assert whole is not None
    assert without is not None
    of_all, of_others = whole.hits["documents"], without.hits["documents"]
    counted = of_others.counted(of_others.ranks, without.origin)
    for each, others in zip(of_all.ranks.reshape(-1, 21).tolist(), counted.reshape(-1, 20).tolist(), strict=True):
        first, *rest = each
        assert others == [place - (place > first and place != spec.INFINITE) for place in rest]
    assert without.k == 10
    index.recalibrate()
    again = index.storage.snapshot.calibration
    assert again is not None
    assert again.hits["documents"].ranks.tolist() == of_others.ranks.tolist()


@pytest.mark.skipif(LOCK_STAYS, reason="Windows takes no advice")
def test_vectors_of_few_documents_are_not_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = ms.Index.build(vectors(20, 300), path=tmp_path / "index")
    index.calibrate(queries(20, 20), k=5)
    asked: list[tuple[int, int]] = []

    class Spy:
        def madvise(self, advice: int, start: int, size: int) -> None:
            assert start % mmap.PAGESIZE == 0
            asked.append((advice, size))

    for segment in index.storage.snapshot.segments:
        spy = Spy()
        monkeypatch.setattr(spy, "size", segment.file._map.size, raising=False)
        monkeypatch.setattr(segment.file, "_map", spy)
    query = queries(21, 1)[0]
    index.search(query)
    assert not asked
    index.search(query, k=3, policy=ms.Calibrated(0.9))
    index.search(query, k=3, policy=ms.Calibrated(0.9))
    assert [advice for advice, _ in asked] == [mmap.MADV_RANDOM] * 2  # once for codes, once for rows
    index.search(query)
    assert [advice for advice, _ in asked[2:]] == [mmap.MADV_NORMAL] * 2
