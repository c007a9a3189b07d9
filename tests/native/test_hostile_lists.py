"""Lists from a damaged or hostile file: an error, or wrong documents; never memory that is not theirs."""

from __future__ import annotations

import numpy as np
import pytest

from maxsieve import _core

GOOD = {
    "documents": 5,
    "block": 2,
    "centroids": 70,
    "present": np.array([0b101, 1 << 5], np.uint64),  # of centroids 0, 2 and 69
    "starts": np.array([0, 1, 2, 3, 3, 4, 4, 4, 4, 5], np.uint32),  # three lists in three blocks
    "members": np.array([0, 1, 0, 1, 0], np.uint16),
}
BAD = {
    "lists need a document": {"documents": 0},
    "a block has": {"block": 0},
    "a block has 1 to 65,536": {"block": 65537},
    "a bit for each centroid": {"centroids": 64},
    "1 to 1,048,576|a bit for each": {"centroids": 1 << 40},
    "a bit for each": {"centroids": -1},
    "of centroids that there are": {"present": np.array([0b101, 1 << 6], np.uint64)},
    "a start for each list and block": {"present": np.array([0b111, 1 << 5], np.uint64)},
    "a start for each list": {"documents": 2**62},
    "lists need a start": {"starts": np.array([], np.uint32)},
    "must run from 0": {"starts": np.array([1, 1, 2, 3, 3, 4, 4, 4, 4, 5], np.uint32)},
    "to the number of members": {"starts": np.array([0, 1, 2, 3, 3, 4, 4, 4, 4, 6], np.uint32)},
    "must not fall": {"starts": np.array([0, 1, 2**32 - 1, 3, 3, 4, 4, 4, 4, 5], np.uint32)},
}


@pytest.mark.parametrize("problem", BAD)
def test_lists_that_make_no_sense_are_refused(problem: str) -> None:
    assert _core.ListPart(**GOOD).has_sane_members()
    with pytest.raises(ValueError, match=problem):
        _core.ListPart(**(GOOD | BAD[problem]))


@pytest.mark.parametrize(
    "members",
    [[2, 1, 0, 1, 0], [0, 65535, 0, 1, 0], [0, 1, 1, 1, 0]],
    ids=["another block's", "beyond all blocks", "beyond the last block"],
)
def test_members_that_no_document_has_are_found(members: list[int]) -> None:
    assert not _core.ListPart(**(GOOD | {"members": np.array(members, np.uint16)})).has_sane_members()


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("members", [[2, 1, 0, 1, 0], [0, 65535, 0, 1, 0], [0, 1, 1, 1, 0]])
def test_members_that_no_document_has_are_not_merged(members: list[int], place: int) -> None:
    good, bad = _core.ListPart(**GOOD), _core.ListPart(**(GOOD | {"members": np.array(members, np.uint16)}))
    assert len(_core.merge_lists((good, good))[2]) == 10
    with pytest.raises(ValueError, match="can't have"):
        _core.merge_lists((good, bad) if place else (bad, good))


def test_lists_that_do_not_belong_together_are_not_merged() -> None:
    good = _core.ListPart(**GOOD)
    none = {"present": np.zeros(2, np.uint64), "starts": np.zeros(1, np.uint32), "members": np.zeros(0, np.uint16)}
    for other in ({"block": 3}, {"centroids": 71}):
        with pytest.raises(ValueError, match="the same centroids and blocks"):
            _core.merge_lists((good, _core.ListPart(**(GOOD | none | other))))
    with pytest.raises(ValueError, match="must be lists to merge"):
        _core.merge_lists(())
    with pytest.raises(ValueError, match="too many documents"):
        _core.merge_lists((good, _core.ListPart(**(GOOD | none | {"documents": 2**63 - 1}))))


def test_members_that_do_not_ascend_are_found() -> None:
    one = {
        "documents": 3,
        "block": 3,
        "centroids": 1,
        "present": np.array([1], np.uint64),
        "starts": np.array([0, 2], np.uint32),
    }
    assert _core.ListPart(**one, members=np.array([0, 2], np.uint16)).has_sane_members()
    for members in ([2, 0], [1, 1]):
        assert not _core.ListPart(**one, members=np.array(members, np.uint16)).has_sane_members()


def hostile_corpus(members: np.ndarray) -> _core.Corpus:
    """Five documents, in blocks of two, and a codebook whose every centroid is near."""
    rng = np.random.default_rng(0)
    book = _core.Codebook(
        8,
        rng.integers(-127, 128, (4, 32), np.int8),
        np.array([0, 16, 32, 48, 64]),
        rng.integers(-127, 128, (64, 32), np.int8),
        0.01,
        np.ones(64, np.float32),
    )
    part = _core.ListPart(5, 2, 64, np.array([2**64 - 1], np.uint64), np.arange(0, 193, dtype=np.uint32), members)
    codes = rng.integers(-127, 128, (5, 32), np.int8)
    codes[:, 8:] = 0
    segment = _core.Segment(8, np.arange(6), None, codes, *[np.ones(5, np.float32)] * 3)
    return _core.Corpus(8, (segment,), None, _core.Lists(book, (part,), [0]))


def test_foreign_members_reach_no_foreign_memory(isa: str) -> None:
    rng = np.random.default_rng(1)
    for members in (rng.integers(0, 65536, 192), np.full(192, 65535), np.zeros(192)):
        corpus = hostile_corpus(members.astype(np.uint16))
        Q = rng.standard_normal((9, 8)).astype(np.float32)
        for threads in (1, 3):
            proxies = _core.tier0(corpus, Q, np.arange(5), threads, (64, 4))
            assert ((proxies >= -1) & (proxies <= 65535)).all()
        (answer,) = _core.search(corpus, [Q], [np.arange(5)], 2, _core.Calibrated(1, 1e9, (64, 4)), 1, False)
        assert len(answer.positions) == 2
        assert set(answer.positions) <= set(range(5))


def book_of(centroids: int) -> _core.Codebook:
    codes, length = np.zeros((centroids, 32), np.int8), np.ones(centroids, np.float32)
    return _core.Codebook(8, np.zeros((1, 32), np.int8), np.array([0, centroids]), codes, 1.0, length)


def test_lists_must_fit_their_corpus_and_codebook() -> None:
    book = book_of(2)
    part = _core.ListPart(2, 2, 2, np.array([1], np.uint64), np.array([0, 1], np.uint32), np.array([0], np.uint16))
    other = _core.ListPart(2, 2, 4, np.array([1], np.uint64), np.array([0, 1], np.uint32), np.array([0], np.uint16))
    segment = _core.Segment(8, np.arange(2), np.ones((1, 8), np.float32))
    with pytest.raises(ValueError, match="more documents"):
        _core.Corpus(8, (segment,), None, _core.Lists(book, (part,), [0]))
    with pytest.raises(ValueError, match="the codebook's centroids"):
        _core.Lists(book, (other,), [0])
    wide = _core.Segment(40, np.arange(3), np.ones((2, 40), np.float32))
    with pytest.raises(ValueError, match="the corpus's dimension"):
        _core.Corpus(40, (wide,), None, _core.Lists(book, (part,), [0]))


def test_a_walk_needs_lists_and_sane_numbers() -> None:
    segment = _core.Segment(8, np.arange(2), np.ones((1, 8), np.float32))
    corpus = _core.Corpus(8, (segment,))
    query, one = np.ones((1, 8), np.float32), np.arange(1)
    with pytest.raises(ValueError, match="needs codes"):
        _core.search(corpus, [query], [one], 1, _core.Calibrated(1, 1.0, (1, 1)), 1, False)
    with pytest.raises(ValueError, match="proxies need"):
        _core.ranks(corpus, query, one, one, 1, (1, 1))
    for walk in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="walk needs"):
            _core.Calibrated(1, 1.0, walk)
    with pytest.raises(ValueError, match="first document"):
        _core.Lists(book_of(2), (), [0])
    part = _core.ListPart(2, 2, 2, np.array([1], np.uint64), np.array([0, 1], np.uint32), np.array([0], np.uint16))
    for firsts in ([-1, 5], [0, 1], [3, 0], [2**63 - 1, 2**63 - 1]):
        with pytest.raises(ValueError, match="parts must ascend"):
            _core.Lists(book_of(2), (part, part), firsts)
    walked = hostile_corpus(np.zeros(192, np.uint16))
    with pytest.raises(ValueError, match="65,535 query tokens"):
        _core.tier0(walked, np.ones((65536, 8), np.float32), np.arange(5), 1, (1, 1))
    for bad, problem in (([1, 1], "ascend"), ([-1, 0], "begin with 0"), ([2, 1], "ascend")):
        with pytest.raises(ValueError, match=problem):
            _core.Candidates(np.array(bad))
    with pytest.raises(ValueError, match="at this position"):
        _core.search(walked, [query], [_core.Candidates(np.array([5]))], 1, _core.Certified(), 1, False)
