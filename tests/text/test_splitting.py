"""Where long texts are cut, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.text.splitter import Sizes, Slice, split

PIECES = ["word", " ", ". ", "\n", "\n\n", "# Top\n", "## Part\n", "```\n", "\f", "x" * 500, "ßü。", "! ", "\t", "\r\n"]


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def cut(text: str, sizes: Sizes, title: str = "") -> list[str]:
    return [text[one.start : one.end] for one in split(text, sizes, words, title)]


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=300),
    passage=st.integers(2, 30),
    overlap=st.integers(0, 10),
    whole=st.integers(1, 60),
)
def test_the_passages_are_the_text(pieces: list[str], passage: int, overlap: int, whole: int) -> None:
    text = "".join(pieces)
    sizes = Sizes(whole, passage, min(overlap, passage - 1))
    found = split(text, sizes, words)
    assert found[0].start == 0
    assert found[-1].end == len(text)
    for before, after in pairwise(found):
        assert before.start < after.start <= before.end < after.end
    if len(found) == 1:
        return
    for one in found:
        (count,) = words([text[one.start : one.end]])
        assert count <= passage + sizes.overlap + 1  # an atom may have two tokens if it is cut within a word
    if not sizes.overlap:
        assert "".join(text[one.start : one.end] for one in found) == text


def test_a_text_that_fits_stays_whole() -> None:
    text = "# One\n" + "word " * 20 + "\n\n# Two\n" + "word " * 20
    assert split(text, Sizes(50, 10, 0), words) == [Slice(0, len(text), sections=((0, "One"), (108, "Two")))]


def test_sections_stay_together_and_short_ones_too() -> None:
    parts = ["# Guide\nHello there.\n\n", "## One\nA b c d e f.\n\n", "## Two\nA b c d e f.\n\n", "## Three\nA b c.\n"]
    assert cut("".join(parts), Sizes(16, 16, 0)) == ["".join(parts[:2]), "".join(parts[2:])]
    assert cut("".join(parts), Sizes(9, 9, 0)) == parts


def test_paragraphs_before_lines_before_sentences_before_words() -> None:
    text = "One two three. Four five.\nSix seven eight.\n\nNine ten. Eleven twelve."
    assert cut(text, Sizes(8, 8, 0)) == ["One two three. Four five.\nSix seven eight.\n\n", "Nine ten. Eleven twelve."]
    assert cut(text[:42], Sizes(5, 5, 0)) == ["One two three. Four five.\n", "Six seven eight."]
    assert cut(text[:25], Sizes(3, 3, 0)) == ["One two three. ", "Four five."]


def test_a_passage_repeats_the_end_of_the_one_before_but_not_of_another_section() -> None:
    text = "One two. Three four. Five six. Seven eight."
    assert cut(text, Sizes(4, 4, 2)) == ["One two. Three four. ", "Three four. Five six. Seven eight."]
    text = "# A\nOne two three.\n# B\nFour five six."
    assert cut(text, Sizes(5, 5, 3)) == ["# A\nOne two three.\n", "# B\nFour five six."]


def test_a_passage_knows_its_headings_and_page() -> None:
    text = "# Tea\n\n## Green\nNot too hot.\fTwo minutes.\n\n## Black\nBoiling hot.\fFour minutes long."
    found = split(text, Sizes(6, 6, 0), words, "Drinks")
    assert [(text[one.start : one.end].split()[0], one.heading, one.page) for one in found] == [
        ("#", "Drinks > Tea", 1),
        ("##", "Drinks > Tea > Green", 1),
        ("Two", "Drinks > Tea > Green", 2),
        ("##", "Drinks > Tea > Black", 2),
        ("Four", "Drinks > Tea > Black", 3),
    ]


def test_a_comment_in_code_is_no_heading() -> None:
    text = "# Setup\n```sh\n# install it\nmake all\n```\nThen run it.\n\n# Use\nCall it every day.\n"
    found = split(text, Sizes(8, 8, 0), words)
    assert {one.heading for one in found} == {"Setup", "Use"}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 2_000_000,
        "# " + " #" * 500_000 + "y\n" + "word " * 100,
        "# a\n" * 200_000,
        "." * 1_000_000,
        '."' * 500_000,
        "\n" * 1_000_000 + "word " * 600,
        " \n" * 500_000,
        "```\n" * 200_000,
        "\f" * 1_000_000,
        "a. " * 300_000,
    ],
    ids=["word", "hashes", "headings", "dots", "quotes", "newlines", "blanks", "fences", "pages", "sentences"],
)
def test_hostile_texts_take_no_more_time_than_their_length(text: str) -> None:
    found = split(text, Sizes(500, 250, 30), words)  # quadratic time would be hours
    assert found[-1].end == len(text)
