"""Snippets: they fit, they show the matches, they are harmless."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from maxsieve.cli.answers import STYLES, snippet
from maxsieve.text.collection.snippets import GRADES, Mark, marks_of
from maxsieve.text.collection.words import WordMatch

STRONG = GRADES[-1]
texts = st.lists(st.sampled_from(["fox", "a", "endless" * 30, "日本語", "é\u0301", "\x1b[31m", ".", "\n\n", "  "])).map(
    " ".join
)


@given(texts, st.integers(12, 60), st.integers(1, 4), st.data())
def test_it_fits_and_shows_a_strong_match(text: str, width: int, lines: int, data: st.DataObject) -> None:
    places = [place for place in range(len(text)) if text.startswith("fox", place)]
    marks = [Mark(place, place + 3, STRONG) for place in places if data.draw(st.booleans())][:1]
    shown = snippet(text, marks, width, lines)
    rows = shown.plain.split("\n")
    assert len(rows) <= lines
    assert max(map(cell_len, rows)) <= width
    assert all(letter.isprintable() or letter == "\n" for letter in shown.plain)
    styled = [shown.plain[span.start : span.end] for span in shown.spans if span.style == STYLES[-1]]
    assert styled == ["fox"] * len(marks)


def test_a_match_behind_an_endless_word_is_shown() -> None:
    text = "endless" * 30 + " fox"
    shown = snippet(text, [Mark(len(text) - 3, len(text), STRONG)], 12, 3)
    assert shown.plain.split()[-1] == "fox"


def test_it_starts_where_the_matches_are_densest() -> None:
    text = "Nothing here. " * 30 + "The red fox sleeps. " + "Nothing there. " * 30
    start = text.index("red")
    shown = snippet(text, [Mark(0, 7, 0.4), Mark(start, start + 3, 1.0), Mark(start + 4, start + 7, 1.2)], 40, 1)
    assert shown.plain == "… Nothing here. The red fox sleeps. …"


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("A red\n fox.", [], 40, 2).plain == "A red fox."
    assert snippet(" \n", [], 40, 2).plain == ""
    assert snippet("The fox\nA red fox.", [], 40, 2, skip=8).plain == "A red fox."


def test_a_word_gathers_what_it_contributes() -> None:
    matches = [WordMatch("path", "pathname", 8, 16, 0.9), WordMatch("name", "pathname", 8, 16, 0.6)]
    [pathname, other] = marks_of([*matches, WordMatch("of", "a", 0, 1, 0.3)])[::-1]
    assert pathname.grade == 3
    assert other.grade == 0
    assert marks_of([WordMatch("of", "", 0, 0, 0.3), WordMatch("x", "y", 0, 1, -0.2)]) == []
    assert marks_of([WordMatch("how", ":", 4, 5, 0.9)]) == []
    assert [mark.grade for mark in marks_of([WordMatch("+=", "+=", 4, 6, 0.9)])] == [2]
