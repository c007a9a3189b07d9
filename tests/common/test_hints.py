"""An error carries its hint as data, and each front end writes it in its own words."""

from __future__ import annotations

import pickle

import pytest

from maxsieve.errors import Argument, Function, Hint, explain, hinted
from maxsieve.text.inputs.document import BadInput, Place

REPLACE = Argument("replace", True)


def shouted(named: Argument | Function) -> str | None:
    return named.name.upper() if isinstance(named, Argument) else None


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, FileNotFoundError])
def test_the_type_stays_and_the_message_is_in_python(kind: type[Exception]) -> None:
    error = hinted(kind("it is there"), "; {} replaces it", REPLACE)
    assert type(error) is kind
    assert error.args == ("it is there; replace=True replaces it",)
    assert explain(error, shouted) == "it is there; REPLACE replaces it"


def test_what_a_front_end_lacks_is_left_out() -> None:
    error = hinted(ValueError("it is not calibrated"), ": {} does that, {} too", Function("calibrate"), REPLACE)
    assert str(error) == "it is not calibrated: calibrate() does that, replace=True too"
    assert explain(error, shouted) == "it is not calibrated"


def test_an_error_without_a_hint_is_its_message() -> None:
    assert explain(KeyError("no document 'x'"), shouted) == "no document 'x'"
    assert explain(ValueError(), shouted) == ""


def test_braces_in_values_and_messages_are_text() -> None:
    error = hinted(ValueError("{} {x}"), "; {}", Argument("encoder", "{0}"))
    assert str(error) == "{} {x}; encoder='{0}'"
    assert explain(error, shouted) == "{} {x}; ENCODER"


def test_a_hint_reaches_another_process_and_another_error() -> None:
    error = hinted(ValueError("it is there"), "; {} replaces it", REPLACE)
    assert pickle.loads(pickle.dumps(error)).hint == Hint("; {} replaces it", (REPLACE,))
    bad = BadInput(Place("a.txt", "line", 3), error)
    assert explain(bad, shouted) == "a.txt, line 3: it is there; REPLACE replaces it"
