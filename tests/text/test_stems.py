"""Stems of any text: no errors, and each word of a document finds it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maxsieve.text.lexical.stems import Stems

ANY = st.text(st.characters(), max_size=60)  # surrogates and control characters too
STEMS = Stems()


@given(st.lists(ANY, min_size=1, max_size=5))
def test_a_text_is_found_by_its_own_words(texts: list[str]) -> None:
    table = STEMS.table(texts)
    for place, text in enumerate(texts):
        words = STEMS.of_query(text)
        scores = table.scores(words)
        assert (scores[place] > 0) == bool(words)
        assert STEMS.of_query(text.upper().lower()) == STEMS.of_query(text.upper()), "case makes no difference"


def test_forms_of_a_word_meet() -> None:
    for forms in (["connect", "connected", "connecting", "connections"], ["fox", "foxes", "FOX"], ["city", "cities"]):
        assert len({*STEMS.of_query(" ".join(forms))}) == 1


def test_a_word_of_two_million_letters_is_a_word() -> None:
    [stem] = STEMS.of_query("ab" * 1_000_000)
    assert len(stem) == 2_000_000
