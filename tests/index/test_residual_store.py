"""Stores of centroids and residual bits: what they hold and find is what the specification says, to the bit."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from cluster.local import LocalIndex
from maxsieve import exchange, spec
from maxsieve.errors import StoreWarning
from maxsieve.storage import codebook, segments

from .residuals import BITS, Expected, few_tokens, ragged, residual_rows, turned
from .support import Rows, answers, bits, contents

CASES = [
    ("residual1", 3, "dot"),
    ("residual2", 3, "cosine"),
    ("residual4", 20, "dot"),
    ("residual1", 20, "cosine"),
    ("residual2", 96, "dot"),
    ("residual4", 128, "cosine"),
    ("residual1", 128, "dot"),
]
LIKE: Any = {"store": "residual2", "similarity": "cosine"}
IDS = [f"d{i}" for i in range(35)]


@pytest.fixture(autouse=True)
def _few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    few_tokens(monkeypatch, 100)


@cache
def documents(d: int) -> tuple[Rows, ...]:
    return tuple(ragged(d, 35, d))


@cache
def queries(d: int) -> tuple[Rows, ...]:
    rng = np.random.default_rng(100 + d)
    return tuple(rng.standard_normal((tokens, d)).astype(np.float32) for tokens in (1, 5, 17))


_expected: dict[Any, Expected] = {}


def expected(index: ms.Index, d: int, similarity: str) -> Expected:
    """What the specification stores; every ISA trains the same codebook, so it is computed once."""
    book = index.storage.snapshot.codebook
    assert book is not None
    key = book.digest, similarity
    if key not in _expected:
        each = (residual_rows(book, rows, similarity) for rows in documents(d))
        _expected[key] = Expected(dict(zip(IDS, each, strict=True)), similarity)
    return _expected[key]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_answers_are_those_of_the_specification(isa: str, case: tuple[Any, int, Any]) -> None:
    store, d, similarity = case
    index = ms.Index.build(documents(d), IDS, store=store, similarity=similarity)
    book = index.storage.snapshot.codebook
    assert book is not None
    assert (book.bits, book.tokens) == (BITS[store], 100)
    assert book.centroids > 8
    truth = expected(index, d, similarity)
    truth.check(index, queries(d))
    query = queries(d)[1]
    for policy in (ms.Certified(), ms.Exhaustive()):
        among = index.search(query, 3, policy=policy, candidates=IDS[5:20])
        assert bits(among) == truth.best(query, 3, IDS[5:20])
        many = index.search_many(queries(d), 4, policy=policy, exclude=IDS[:5])
        assert [bits(hits) for hits in many] == [truth.best(one, 4, IDS[5:]) for one in queries(d)]
    hits = index.search(query, 3)
    cells = spec.similarities(turned(query, similarity), truth.rows[hits.ids[0]])
    found = hits.explain(0)
    assert [one.document_token for one in found] == cells.argmax(axis=1).tolist()
    assert [one.similarity for one in found] == (cells.max(axis=1) + np.float32(0)).tolist()


def test_vectors_are_close_to_those_that_were_given() -> None:
    """In the caller's space; the more bits, the closer."""
    rng = np.random.default_rng(3)
    given = (rng.standard_normal((8, 64))[rng.integers(0, 8, 600)] + 0.5 * rng.standard_normal((600, 64))) * 5
    losses = []
    for store in BITS:
        index = ms.Index.build(given, lengths=[600], store=store)
        found = index.vectors(0)
        assert (found.dtype, found.shape) == (np.float32, given.shape)
        losses.append(float(np.linalg.norm(found - given, axis=1).mean() / np.linalg.norm(given, axis=1).mean()))
    assert losses == sorted(losses, reverse=True)
    assert losses[0] < 0.35
    assert losses[2] < 0.1


def codes_of(index: ms.Index) -> dict[Any, bytes]:
    """The codes of each document, wherever it is."""
    found = {}
    for segment in index.storage.snapshot.here.segments:
        for i, one in enumerate(segment.ids):
            some = slice(*segment.offsets[i : i + 2])
            parts = [segment.blocks[name][some] for name in ("centroids", "factors", "levels")]
            parts += [segment.scale[i : i + 1], segment.nu[i : i + 1]]
            found[one] = b"".join(part.tobytes() for part in parts)
    return found


def test_codes_do_not_depend_on_how_documents_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Batches, segments, threads, memory, disk and shards: the codebook is trained on the same first tokens."""
    docs, one_by_one = documents(20), (documents(20)[i : i + 1] for i in range(35))
    monkeypatch.setattr("os.fsync", lambda handle: None)

    def added(batches: Any, **where: Any) -> ms.Index:
        index = (LocalIndex if "shards" in where else ms.Index).create(20, **LIKE, **where)
        start = 0
        for some in batches:
            index.add(some, IDS[start : start + len(some)])
            start += len(some)
        return index

    whole = ms.Index.build(docs, IDS, threads=1, **LIKE)
    assert not [one for one in recwarn if one.category is StoreWarning]
    indexes = [
        ms.Index.build(docs, IDS, threads=2, **LIKE),
        ms.Index.build(iter(docs), IDS, path=tmp_path / "built", **LIKE),
        added(one_by_one),
        added([docs[:3], docs[3:30], docs[30:]], path=tmp_path / "added"),
        LocalIndex.build(docs, IDS, path=tmp_path / "shards", shards=3, **LIKE),
        added([docs[:20], docs[20:22], docs[22:]], path=tmp_path / "more shards", shards=2),
    ]
    monkeypatch.setattr(segments, "BLOCK_BYTES", 20 * 4 * 11)
    steps = ms.Index.build(iter(docs), IDS, path=tmp_path / "steps", **LIKE)
    assert len(steps.storage.snapshot.here.segments) > 3
    moved = LocalIndex.build(docs, IDS, path=tmp_path / "moved", shards=3, **LIKE)
    moved.rebalance(5)
    moved.rebalance(2)
    wanted = answers(whole)
    for index in (*indexes, steps, moved):
        assert index.storage.snapshot.codebook.digest == whole.storage.snapshot.codebook.digest  # type: ignore[union-attr]
        assert codes_of(index) == codes_of(whole)
        assert index.ids == IDS
        assert [one[0] for one in answers(index)] == [one[0] for one in wanted]
        index.verify()


def test_a_stepwise_build_is_encoded_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte codes of a large build do not wait on disk until its end. What was committed before an error stays."""
    monkeypatch.setattr(segments, "BLOCK_BYTES", 20 * 4 * 11)

    def half() -> Any:
        yield from documents(20)[:30]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        ms.Index.build(half(), path=tmp_path / "half", **LIKE)
    index = ms.Index.open(tmp_path / "half")
    index.verify()
    book = index.storage.snapshot.codebook
    assert book is not None
    assert book.tokens == 100
    index.add(documents(20)[len(index) :], range(len(index), 35))
    whole = ms.Index.build(documents(20), **LIKE)
    assert codes_of(index) == codes_of(whole)
    assert contents(index) == contents(whole)


@pytest.fixture(params=["memory", "disk", "shards"])
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ms.Index:
    """Six hundred documents, with metadata."""
    few_tokens(monkeypatch, 2000)
    monkeypatch.setattr(codebook, "TOKENS_OF_CENTROID", 32)
    rng = np.random.default_rng(9)
    docs = (rng.standard_normal((30, 8))[rng.integers(0, 30, 1800)] + 0.3 * rng.standard_normal((1800, 8))).reshape(
        600, 3, 8
    )
    where: Any = {"memory": {}, "disk": {"path": tmp_path / "it"}, "shards": {"path": tmp_path / "it", "shards": 2}}
    make = LocalIndex if request.param == "shards" else ms.Index
    metadata = [{"n": i % 10} for i in range(600)]
    return make.build(docs, metadata=metadata, **LIKE, **where[request.param], group_by=lambda id: id // 2)


def test_a_calibration_keeps_its_promise(index: ms.Index) -> None:
    """It is about the mean over calibrations, too: with one of them, up to three standard errors are chance."""
    rng = np.random.default_rng(10)
    asked = rng.standard_normal((200, 3, 8)).astype(np.float32)
    index.calibrate(asked[:30], k=10)
    index.calibrate(asked[:30], k=10, where={"n": {"lt": 5}})
    policy = ms.Calibrated(0.9)
    for options in ({}, {"where": {"n": {"lt": 5}}}, {"by": "passage"}):
        overlaps = []
        for exact, found in zip(
            index.search_many(asked[30:], 5, **options),  # type: ignore[arg-type]
            index.search_many(asked[30:], 5, policy=policy, **options),  # type: ignore[arg-type]
            strict=True,
        ):
            assert exact.report.guarantee == "exact"
            assert found.report.guarantee == "calibrated"
            overlaps.append(len({*exact.ids} & {*found.ids}) / 5)
            assert dict(zip(exact.ids, exact.scores, strict=True)).items() >= {
                (one, score) for one, score in zip(found.ids, found.scores, strict=True) if one in exact.ids
            }
        assert np.mean(overlaps) >= 0.9 - 3 * np.std(overlaps) * (1 / 30 + 1 / 170) ** 0.5
    index.add(asked[0][None], [600])
    index.delete([3, 4])
    index.recalibrate()
    index.compact()
    assert index.search(asked[40], 5, policy=policy).report.guarantee == "calibrated"
    index.verify()


@pytest.mark.parametrize("kind", ["memory", "disk", "shards"])
def test_hits_of_a_calibration_are_found_again_when_documents_are_encoded(tmp_path: Path, kind: str) -> None:
    """Scores change, so the best documents of byte codes need not be those of residuals."""
    where: Any = {"memory": {}, "disk": {"path": tmp_path / "it"}, "shards": {"path": tmp_path / "it", "shards": 2}}
    made = (LocalIndex if kind == "shards" else ms.Index).create(20, store="residual1", **where[kind])
    made.add(documents(20)[:10], IDS[:10])
    asked = [np.random.default_rng(i).standard_normal((3, 20)).astype(np.float32) for i in range(25)]
    made.calibrate(asked, k=3)
    made.calibrate(asked, k=3, where={"not": {"n": 1}})
    with pytest.warns(StoreWarning):
        made.add(documents(20)[10:], IDS[10:])
    calibrations = made.storage.snapshot.calibrations
    assert len(calibrations) == 2
    for one in calibrations:
        (best,) = one.hits.values()
        for query, ids, scores in zip(asked, best.ids or (), best.scores, strict=True):
            exact = made.search(query, len(ids), policy=ms.Exhaustive())
            assert (ids, scores.tobytes()) == (exact.ids, exact.scores.tobytes())


def test_groups_and_filters(index: ms.Index) -> None:
    query = np.random.default_rng(11).standard_normal((4, 8)).astype(np.float32)
    everything = index.search(query, 600, by="passage")
    scores = dict(zip(everything.ids, everything.scores.tolist(), strict=True))
    best = index.search(query, 20)
    assert len({one // 2 for one in best.ids}) == 20
    assert all(scores[one] >= scores[one ^ 1] for one in best.ids)
    some = index.search(query, 7, where={"n": {"in": [2, 3]}}, by="passage")
    assert some.ids == [one for one in everything.ids if one % 10 in (2, 3)][:7]
    assert some.report.guarantee == "exact"
    pac = index.search(query, 5, policy=ms.Bandit(alpha=1.0, radius="serfling"), by="passage")
    assert pac.report.guarantee in ("pac", "exact")
    assert pac.ids == everything.ids[:5]


def test_copies_and_other_handles(tmp_path: Path) -> None:
    for path in (None, tmp_path / "it"):
        index = ms.Index.build(documents(20)[:20], IDS[:20], path=path, **LIKE)
        index.calibrate(queries(20) * 7, k=3)
        for other in (pickle.loads(pickle.dumps(index)), copy.copy(index)):
            assert contents(other) == contents(index)
            asked = ms.Calibrated(0.9)
            ours, theirs = (one.search(queries(20)[1], 3, policy=asked) for one in (index, other))
            assert bits(ours) == bits(theirs)
            other.verify()
    reader = ms.Index.open(tmp_path / "it")
    before = contents(reader)
    index.add(documents(20)[20:], IDS[20:])
    index.reencode(documents(20)[:5], IDS[:5])
    index.compact()
    assert contents(reader) == before
    reader.refresh()
    assert contents(reader) == contents(index)
    reader.verify()


def test_readers_follow_a_conversion(tmp_path: Path) -> None:
    """A reader that opened byte codes keeps its answers until it is refreshed."""
    index = ms.Index.create(20, path=tmp_path / "it", **LIKE)
    index.add(documents(20)[:5], IDS[:5])
    reader = ms.Index.open(tmp_path / "it")
    before = contents(reader)
    with pytest.warns(StoreWarning):
        index.add(documents(20)[5:], IDS[5:])
    assert contents(reader) == before
    reader.refresh()
    assert contents(reader) == contents(index) == contents(ms.Index.build(documents(20), IDS, **LIKE))


def test_exchange_and_pooling(tmp_path: Path) -> None:
    """Decoded rows are written, in the caller's space. What is read from them need not have the same codes."""
    index = ms.Index.build(documents(20), IDS, store="residual4")
    exchange.write(index, tmp_path / "vectors.npz")
    again = exchange.read(tmp_path / "vectors.npz").build(store="float32")
    assert again.ids == index.ids
    assert all(again.vectors(one).tobytes() == index.vectors(one).tobytes() for one in IDS)
    once_more = exchange.read(tmp_path / "vectors.npz").build(store="residual1", path=tmp_path / "it")
    assert once_more.ids == IDS
    once_more.verify()
    pooled = [ms.pool(rows, 2) for rows in documents(20)]
    small = ms.Index.build(pooled, store="residual1")
    assert small.tokens == sum(map(len, pooled))
    assert len(small.search(queries(20)[0], 3)) == 3


def test_limits() -> None:
    with pytest.raises(ValueError, match="2048"):
        ms.Index.create(2049, store="residual4")
    assert ms.Index.create(2048, store="residual4").dim == 2048
    assert ms.Index.create(4096, store="residual1").dim == 4096
    with pytest.raises(ValueError, match="store"):
        ms.Index.create(8, store="residual3")  # type: ignore[arg-type]
    longest = np.eye(64)[None] * 2.0**50
    index = ms.Index.build(longest, store="residual1")
    assert np.isfinite(index.search(longest[0]).scores).all()
    with pytest.raises(ValueError, match="document 0, row 0 is too long"):
        ms.Index.build(np.full((1, 4, 64), 2.0**50), store="residual1")
    with pytest.raises(ValueError, match="query, row 1 is too long"):
        index.search(np.array([[1.0] * 64, [2.0**50] * 64]))


@pytest.mark.parametrize("store", BITS)
def test_an_index_without_tokens(store: Any, tmp_path: Path) -> None:
    for path in (None, tmp_path / "it"):
        index = ms.Index.build([np.zeros((0, 7))] * 2, store=store, path=path)
        assert index.storage.snapshot.codebook is None
        assert len(index.search(np.ones((1, 7)))) == 0
        index.compact()
        index.add([np.ones((1, 7))], [2])
        index.train_codebook()
        assert index.search(np.ones((1, 7))).ids == [2]
        assert np.allclose(index.vectors(2), 1, atol=0.1)
        index.verify()
