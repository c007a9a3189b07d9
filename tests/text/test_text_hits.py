"""Results of a search for text: texts, reasons, and what the answer guarantees."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.hits import Match
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.words import WordMatch, match_words, whole_word
from maxsieve.text.passages import Passage

from .support import WordEncoder, sentences

TEXTS = ["The fox and the grapes.", "The hare, the tortoise!", "", "The lion and the mouse"]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.create(tmp_path_factory.mktemp("hits") / "c", WordEncoder(), dim=None) as made:
        made.add(TEXTS, range(4), [None, "second", None, {"n": 4}])
        yield made


def test_hits_read_like_hits(collection: Collection) -> None:
    hits = collection.search("the mouse", k=3)
    expected = collection.index.search(collection.encoder.encode_queries(["the mouse"])[0], k=3)
    assert list(hits) == [(collection.keys.document(key), score) for key, score in expected]
    assert len(hits) == len(hits.ids) == len(hits.texts) == len(hits.metadata) == 3
    assert hits.report.guarantee == "exact"
    assert hits.scores.tobytes() == expected.scores.tobytes()
    assert [hits[rank].text for rank in range(3)] == hits.texts == [TEXTS[int(one)] for one in hits.ids]
    hit = hits[0]
    assert hit == (3, float(hits.scores[0]))
    assert (hit.id, hit.score, hit.text, hit.metadata, hit.passage) == (*hit, TEXTS[3], {"n": 4}, Passage(TEXTS[3]))
    assert hits.query == "the mouse"
    assert 0 < hits.encode_seconds < 10
    assert 0 < hits.search_seconds < 10
    assert repr(hits) == f"TextHits({list(hits)!r}, guarantee='exact', scope='all')"
    assert hits[-1].id == hits.ids[-1]
    assert [(hit.id, hit.text) for hit in hits[1:]] == list(zip(hits.ids[1:], hits.texts[1:], strict=True))
    with pytest.raises(IndexError):
        hits[3]
    for rank, error in ((3, ValueError), (-1, ValueError), ("0", TypeError)):
        with pytest.raises(error, match="rank"):
            hits.explain(rank)  # type: ignore[arg-type]


def test_a_notebook_shows_hits_with_their_texts_and_the_collection(collection: Collection) -> None:
    page = collection.search("the mouse", k=2)._repr_html_()
    assert "<td>3</td>" in page
    assert escape(TEXTS[3]) in page
    assert "guarantee: exact, scope: all" in page
    assert f"<td>documents</td><td>{len(collection)}</td>" in collection._repr_html_()


def test_a_trace_is_about_the_passages_that_the_engine_saw(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c", WordEncoder(), dim=None) as collection:
        collection.add(["The fox. " * 400, "The hare", "The tortoise"], ["long", "hare", "tortoise"])
        hits = collection.search("the fox", k=1, trace=True)
        assert collection.search("the fox", k=1).trace is None
        assert hits.trace is not None
        assert hits.trace.documents == len(collection.index) > 3
        assert hits.trace.ids[:2] == ["long", "long#p1"]
        assert [collection.keys.document(hits.trace.ids[place]) for place in hits.trace.hits] == hits.ids == ["long"]
        assert hits.trace.k > 1
        with pytest.raises(ValueError, match="hybrid or trace"):
            collection.search("the fox", hybrid="rrf", trace=True)


def test_hits_keep_their_texts_when_the_documents_go(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=None)
    collection.add(TEXTS, range(4))
    hits = collection.search("grapes", k=1)
    collection.delete([0])
    collection.compact()
    assert hits.texts == [TEXTS[0]]
    assert hits.explain(0)[0].document == "grapes"


@pytest.mark.parametrize(
    ("options", "scope", "documents"),
    [
        ({}, "all", 4),
        ({"exclude": [1, 1]}, "all", 3),
        ({"candidates": [0, 3, 0]}, "candidates", 2),
        ({"candidates": [0, 3], "exclude": [3, 1]}, "candidates", 1),
        ({"candidates": [True, False, True, True]}, "candidates", 3),
        ({"candidates": np.array([True, False, True, True]), "exclude": [0]}, "candidates", 2),
        ({"candidates": iter([1, 3])}, "candidates", 2),
        ({"candidates": []}, "candidates", 0),
    ],
)
def test_the_answer_says_what_it_holds_for(collection: Collection, options: Any, scope: str, documents: int) -> None:
    hits = collection.search("the fox", **options)
    assert (hits.scope, hits.n_documents) == (scope, documents)
    assert len(hits) <= documents


def test_many_queries_get_the_answers_of_one_each(collection: Collection) -> None:
    queries = ["the fox", "the mouse", "grapes and lion"]
    for options in ({}, {"k": 1}, {"policy": ms.Exhaustive()}, {"exclude": [0]}, {"threads": 1}):
        many = collection.search_many(queries, **options)  # type: ignore[arg-type]
        assert [list(hits) for hits in many] == [list(collection.search(query, **options)) for query in queries]  # type: ignore[arg-type]
        assert [hits.query for hits in many] == queries
    each = collection.search_many(queries, candidates=[[0], None, [1, 3]])
    assert [(hits.scope, hits.n_documents) for hits in each] == [("candidates", 1), ("all", 4), ("candidates", 2)]
    assert collection.search_many([]) == []
    assert [hits.query for hits in collection.search_many(iter(queries))] == queries


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda c: c.search(""), ValueError, "query is '', which contains nothing to search for"),
        (
            lambda c: c.search_many(["fox", "?!"]),
            ValueError,
            "query 1 is '?!', which contains nothing to search for",
        ),
        (lambda c: c.search(5), TypeError, "the query is int, not str"),
        (lambda c: c.search_many("fox"), TypeError, "search_many takes a list of texts, not 'fox'"),
        (lambda c: c.search_many(["fox", b"x"]), TypeError, "query 1 is bytes, not str"),
        (lambda c: c.search("fox", k=0), ValueError, "k must be at least 1"),
        (lambda c: c.search("fox", candidates=[9]), KeyError, "no document has the id 9"),
        (lambda c: c.rerank("fox", "fox"), TypeError, "not be a single str"),
        (lambda c: c.rerank("fox", ["a", None]), TypeError, "texts: document 1 is NoneType, not str"),
        (lambda c: c.rerank("", ["a"]), ValueError, "nothing to search for"),
    ],
)
def test_bad_questions(collection: Collection, ask: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        ask(collection)
    assert sentence in str(caught.value)


# Reranking


def test_rerank_ranks_texts_that_need_not_be_in(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=5)
    collection.add(sentences(100))
    texts = ["a cat", "", "the w5 w7", *sentences(5)]
    hits = collection.rerank("w5 w7", (text for text in texts), k=3)
    expected = ms.rerank(
        collection.encoder.encode_queries(["w5 w7"])[0], collection.encoder.encode_documents(texts), k=3
    )
    assert list(hits) == list(expected)
    assert hits.ids[0] == 2
    assert hits.texts == [texts[int(place)] for place in hits.ids]
    assert hits.metadata == [None] * 3
    assert (hits.scope, hits.n_documents) == ("candidates", 8)
    assert [match.document for match in hits.explain(0)] == ["w5", "w7"]
    assert collection.rerank("w5", []).ids == []
    assert len(collection) == 100


def test_rerank_works_in_a_collection_without_documents(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=5)
    assert collection.rerank("the mouse", TEXTS, k=1).texts == [TEXTS[3]]


# Reasons


def test_explain_names_the_words_that_matched(collection: Collection) -> None:
    hits = collection.search("Grapes, fox?", k=1)
    first, second = hits.explain(0)
    assert (first.query, first.document, TEXTS[0][first.start : first.end]) == ("Grapes", "grapes", "grapes")
    assert (second.query, second.document) == ("fox", "fox")
    assert first.similarity == pytest.approx(1, abs=1e-3)
    assert first.similarity + second.similarity == pytest.approx(float(hits.scores[0]), abs=1e-5)


def test_explain_through_a_projection(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=8)
    collection.add(sentences(200))
    hits: TextHits = collection.search(sentences(1)[0], k=1)
    assert [match.document for match in hits.explain(0)] == sentences(1)[0].split()


@pytest.mark.parametrize(
    ("text", "span", "word"),
    [
        ("overwritten text", (4, 7), "overwritten"),
        ("snake_case!", (6, 10), "snake_case"),
        ("end.", (3, 4), "."),
        ("C++ code", (0, 1), "C"),
        ("日本語の本", (1, 2), "本"),
        ("naïve café", (6, 8), "café"),
        ("x" * 60, (10, 12), "xx"),
        ("word", (0, 0), ""),
    ],
)
def test_pieces_widen_to_words(text: str, span: tuple[int, int], word: str) -> None:
    start, end = whole_word(text, span)
    assert text[start:end] == word


def test_pieces_that_found_different_words_stay_pieces() -> None:
    matches = [Match(0, 0, 0.5), Match(1, 1, 0.25)]
    assert match_words("undo", [(0, 2), (2, 4)], "un do", [(0, 2), (3, 5)], matches) == [
        WordMatch("un", "un", 0, 2, 0.5),
        WordMatch("do", "do", 3, 5, 0.25, 2),
    ]


@given(text=st.text(max_size=40), place=st.integers(0, 40), length=st.integers(0, 5))
def test_a_word_holds_its_piece(text: str, place: int, length: int) -> None:
    span = min(place, len(text)), min(place + length, len(text))
    start, end = whole_word(text, span)
    assert 0 <= start <= span[0] <= span[1] <= end <= len(text)
