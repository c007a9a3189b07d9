"""Hybrid search finds the k best by the formula of its fusion, computed here from all scores of all documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.lexical.bm25 import BM25
from maxsieve.text.lexical.fusion import Weighted, fuse
from maxsieve.text.lexical.scores import Lexical

from .support import WordEncoder, sentences

TEXTS = [*sentences(150), "", "…", "w7 w7 w7", *sentences(40), "w1", "w1", "w1"]  # 40 of them twice, one three times


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.create(tmp_path_factory.mktemp("hybrid") / "c", WordEncoder(), dim=None) as made:
        made.add(["out of the way", *TEXTS], range(-1, len(TEXTS)))
        made.delete(-1)
        yield made


def by_formula(
    collection: Collection, query: str, hybrid: Any, depth: int, among: set[int]
) -> list[tuple[int, float, float, float]]:
    """Every document that may be a hit, best first: position, fused score, late interaction, BM25."""
    every = collection.search(query, k=1000, policy=ms.Exhaustive())
    late = {int(one): score for one, score in every if one in among}
    [words] = collection.bm25.scores([query])
    bm25 = {place: float(words.scores[place]) for place in late}
    ranked = [sorted(late, key=lambda i, own=own: (-own[i], i)) for own in (late, bm25)]
    if hybrid == "rrf":
        lexical = [i for i in ranked[1] if bm25[i] > 0]
        union = {*ranked[0][:depth], *lexical[:depth]}
        ranks = [[i for i in ranking if i in union] for ranking in (ranked[0], lexical)]
        fused = {i: sum(1 / (61 + ranking.index(i)) for ranking in ranks if i in ranking) for i in union}
    else:
        first, far = (late[ranked[0][:100][end]] if late else 0 for end in (0, -1))
        shares = {i: (late[i] - far) / (first - far) if first > far else late[i] - first for i in late}
        best = max(bm25.values(), default=0) or 1
        fused = {i: (1 - hybrid) * shares[i] + hybrid * (bm25[i] / best) for i in late}
    return [(i, fused[i], late[i], bm25[i]) for i in sorted(fused, key=lambda i: (-fused[i], i))]


def check(hits: TextHits, expected: list[tuple[int, float, float, float]]) -> None:
    assert hits.hybrid is not None
    found = [hits.ids, hits.scores.tolist(), hits.hybrid.late.tolist(), hits.hybrid.bm25.tolist()]
    columns = zip(*expected, strict=True) if expected else [()] * 4
    ids, fused, late, bm25 = ([*column] for column in columns)
    assert found[0] == ids
    assert found[1] == np.float32(fused).tolist()
    assert found[2:] == [late, bm25]


QUERY = st.lists(st.integers(0, 210), min_size=1, max_size=8).map(lambda words: " ".join(f"w{one}" for one in words))
HYBRID = st.one_of(st.just("rrf"), st.floats(0.01, 0.99))
PLACES = st.sets(st.integers(0, len(TEXTS) - 1), max_size=len(TEXTS))


@given(QUERY, HYBRID, st.integers(1, 30), st.integers(1, 250), PLACES | st.none(), PLACES)
@settings(max_examples=150, deadline=None)
def test_hits_are_the_best_by_the_formula(
    collection: Collection, query: str, hybrid: Any, k: int, depth: int, candidates: set[int] | None, exclude: set[int]
) -> None:
    hits = collection.search(query, k, hybrid=hybrid, depth=depth, candidates=candidates, exclude=exclude)
    among = set(range(len(TEXTS))) if candidates is None else candidates
    check(hits, by_formula(collection, query, hybrid, max(k, depth), among - exclude)[:k])
    assert hits.report.guarantee == "exact"
    assert hits.scope == ("all" if candidates is None else "candidates")
    assert hits.n_documents == len(among - exclude)


@given(QUERY, st.floats(0.01, 0.99), st.integers(1, 10), st.integers(1, 20), st.integers(1, 20))
@settings(max_examples=50, deadline=None)
def test_the_depth_of_a_weighted_search_changes_nothing(
    collection: Collection, query: str, weight: float, k: int, depth: int, other: int
) -> None:
    one, two = (collection.search(query, k, hybrid=weight, depth=some) for some in (depth, other))
    assert (one.ids, one.scores.tolist()) == (two.ids, two.scores.tolist())


@pytest.mark.parametrize("hybrid", ["rrf", 0.3])
def test_many_are_answered_as_each_alone(collection: Collection, hybrid: Any) -> None:
    queries = [*sentences(12, start=500), "unheard of"]
    exclude = [None, *[[place] for place in range(12)]]
    many = collection.search_many(queries, 5, hybrid=hybrid, exclude=exclude)
    for query, unwanted, hits in zip(queries, exclude, many, strict=True):
        alone = collection.search(query, 5, hybrid=hybrid, exclude=unwanted)
        assert (hits.ids, hits.scores.tolist()) == (alone.ids, alone.scores.tolist())
    assert collection.search_many([], hybrid=hybrid) == []


def test_a_query_that_shares_no_word_is_answered_by_late_interaction(collection: Collection) -> None:
    plain = collection.search("unheard of")
    for hybrid in ("rrf", 0.7):
        hits = collection.search("unheard of", hybrid=hybrid)  # type: ignore[arg-type]
        assert hits.ids == plain.ids
        assert hits.hybrid is not None
        assert hits.hybrid.late.tolist() == plain.scores.tolist()
        assert not hits.hybrid.bm25.any()


def test_scores_below_zero_have_an_order_too(tmp_path: Path) -> None:
    class Opposed(WordEncoder):
        """The vectors of documents are the opposite of their texts."""

        def encode_documents(self, texts: Any, *, progress: bool = False) -> Any:
            return [-rows for rows in self.encode_queries(texts)]

    with Collection.create(tmp_path / "c", Opposed(), dim=None) as made:
        made.add(["fox", "fox fox fox", "fox, fox"], range(3))
        assert made.search("fox").scores.max() < 0
        check(made.search("fox", hybrid=0.5), by_formula(made, "fox", 0.5, 100, {0, 1, 2}))
        check(made.search("fox fox", 1, hybrid=0.01, depth=1), by_formula(made, "fox fox", 0.01, 1, {0, 1, 2})[:1])


def test_a_document_without_a_token_is_no_measure(tmp_path: Path) -> None:
    class Deaf(WordEncoder):
        """An encoder that does not know wolves."""

        def encode_queries(self, texts: Any) -> Any:
            return super().encode_queries([text.replace("wolf", "") for text in texts])

    with Collection.create(tmp_path / "c", Deaf(), dim=None) as made:
        made.add(["wolf wolf wolf", "a wolf and a fox", "a fox", "a crow"], range(4))
        query = "wolf wolf wolf fox"
        for hybrid in ("rrf", 0.5):
            check(made.search(query, hybrid=hybrid), by_formula(made, query, hybrid, 100, {0, 1, 2, 3}))


class Named(NamedTuple):
    ids: list[Any]
    scores: Any


def test_a_document_that_equals_the_last_hit_may_come_first() -> None:
    """Late interaction ranks 9 and 1 first. 5 has the score of 1, and its words make it equal to 9."""
    words = Lexical(range(10), {i: i for i in range(10)}, np.float32([0, 0, 0, 0, 0, 7, 0, 0, 0, 0]))
    asked: list[list[list[Any]]] = []

    def find(ids: list[list[Any]]) -> list[Named]:
        asked.append(ids)
        return [Named(own, np.float32([2] * len(own))) for own in ids]

    [fused] = fuse(Weighted(0.5), [Named([9, 1], np.float32([4, 2]))], [words], find, 1, 2)
    assert asked == [[[5]]]
    assert (fused.ids, fused.scores.tolist()) == ([5], [0.5])


def test_hits_know_their_texts_and_words(collection: Collection) -> None:
    hits = collection.search(TEXTS[5], hybrid="rrf", k=3)
    assert hits.texts == [TEXTS[int(one)] for one in hits.ids]
    assert [hits[rank].score for rank in range(3)] == hits.scores.tolist()
    assert {match.query for match in hits.explain(1)} <= set(TEXTS[5].split())
    assert all(match.document in hits.texts[1].split() for match in hits.explain(1))
    assert (hits.hybrid.fusion, hits.hybrid.depth) == ("rrf", 100)  # type: ignore[union-attr]
    assert collection.search(TEXTS[5]).hybrid is None


def test_what_is_promised_follows_the_policy(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None, store="int8") as made:
        made.add(sentences(400), range(400))
        made.calibrate(sentences(120, start=1000), k=100)
        [query] = sentences(1, start=3000)
        for policy in (None, ms.Certified(), ms.Exhaustive()):
            assert made.search(query, hybrid=0.3, policy=policy).report.guarantee == "exact"
        assert made.search(query, policy=ms.Calibrated(0.9), k=5).report.guarantee == "calibrated"
        hits = made.search(query, hybrid=0.3, policy=ms.Calibrated(0.9), k=5)
        assert hits.report.guarantee == "none", "an overlap of one list says nothing of the fused one"
        assert hits.report.calibrated_on == "queries"
        assert len(made.search("w1 w2 w3 w4", hybrid=0.99, policy=ms.Calibrated(0.9), k=100)) == 100
        assert made.search(query, hybrid=0.3, policy=ms.Bandit(0.1)).report.guarantee == "none"
        sure = made.search(query, hybrid=0.3, policy=ms.Bandit(radius="serfling", alpha=1.0), k=5, depth=5)
        assert sure.report.guarantee in ("pac", "exact")


@pytest.mark.parametrize("hybrid", [0, 1, -0.1, 1.5, float("nan"), "bm25", True, False, [0.5], b"rrf"])
def test_bad_fusions(collection: Collection, hybrid: Any) -> None:
    with pytest.raises(ValueError, match=r"^hybrid must"):
        collection.search("w1", hybrid=hybrid)


def test_conflicts_and_bad_arguments(collection: Collection) -> None:
    for stage in ("bm25", lambda query, depth: [1]):
        with pytest.raises(ValueError, match="first stage"):
            collection.search("w1", hybrid="rrf", first_stage=stage)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^depth"):
        collection.search("w1", hybrid="rrf", depth=0)
    with pytest.raises(ValueError, match=r"^k\b"):
        collection.search("w1", hybrid="rrf", k=0)
    with pytest.raises(KeyError, match=r"\b999\b"):
        collection.search("w1", hybrid="rrf", candidates=[1, 999])
    with pytest.raises(KeyError, match=r"\b999\b"):
        collection.search("w1", hybrid="rrf", exclude=[999])
    with pytest.raises(ValueError, match="mask"):
        collection.search("w1", hybrid="rrf", candidates=np.ones(3, np.bool_))
    mask = np.zeros(len(TEXTS), np.bool_)
    mask[3:9] = True
    masked, named = (collection.search("w1 w2", hybrid=0.4, candidates=some) for some in (mask, range(3, 9)))
    assert (masked.ids, masked.scores.tolist()) == (named.ids, named.scores.tolist())


def test_an_empty_collection_has_no_hits(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None) as made:
        for hybrid in ("rrf", 0.5):
            assert made.search("fox", hybrid=hybrid).ids == []  # type: ignore[arg-type]
        made.add(["…"], ["dots"])
        assert made.search("fox", hybrid=0.5).ids == []


def test_a_change_meanwhile_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps read the version that was current when the search began."""
    scores = BM25.scores
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None) as made:
        made.add(["a fox", "a fox and a crow", "a hare"], ["fox", "crow", "hare"])
        changes = iter([lambda: made.delete("crow"), lambda: made.add(["the fox"], ["new"])])

        def meddle(self: BM25, *asked: Any) -> Any:
            found = scores(self, *asked)
            next(changes, lambda: None)()
            return found

        monkeypatch.setattr(BM25, "scores", meddle)
        assert set(made.search("fox crow", hybrid="rrf").ids) == {"fox", "crow", "hare"}
        assert set(made.search("fox crow", hybrid="rrf").ids) == {"fox", "hare"}
        assert set(made.search("fox crow", hybrid="rrf").ids) == {"fox", "hare", "new"}


def test_a_slice_of_fused_hits_keeps_the_scores_of_each(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None) as made:
        made.add(["a fox", "a fox and a crow", "a hare"], ["fox", "crow", "hare"])
        hits = made.search("fox crow", hybrid=0.5)
        assert hits.hybrid is not None
        last = hits[1:]
        assert last.hybrid is not None
        assert last.hybrid.late.tolist() == hits.hybrid.late[1:].tolist()
        assert last.hybrid.bm25.tolist() == hits.hybrid.bm25[1:].tolist()


def test_without_its_packages_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None) as made:
        made.add(["a fox"], ["fox"])
        monkeypatch.setitem(sys.modules, "Stemmer", None)
        with pytest.raises(ImportError, match=r"pip install 'maxsieve\[text\]'"):
            made.search("fox", hybrid=0.5)
