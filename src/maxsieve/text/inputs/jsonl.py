"""JSON Lines: one object on each line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from maxsieve.errors import Argument, hinted
from maxsieve.text.inputs.document import MOST_VALUES, TOO_MANY_VALUES, BadInput, Fields, Found, InputDocument, Place
from maxsieve.text.inputs.lines import decoded, numbered


def read_jsonl(lines: Iterable[bytes], source: str, fields: Fields) -> Found:
    """Each line is a document.

    >>> [document.id for document in read_jsonl([b'{"id": "a", "text": "Alpha"}'], "it", Fields())]
    ['a']
    """
    for place, line in numbered(lines, source):
        yield _document(line, place, fields)


def _document(line: bytes, place: Place, fields: Fields) -> InputDocument | BadInput:
    try:
        return fields.document(to_object(line, place), place)
    except BadInput as bad:
        return bad


def to_object(line: bytes, place: Place) -> dict[str, Any]:
    """The object on a line, or a `BadInput` that says what is there instead.

    >>> to_object(b'{"a": ', Place("it", "line", 1))
    Traceback (most recent call last):
    maxsieve.text.inputs.document.BadInput: it, line 1: not JSON: Expecting value at character 7
    """
    text = decoded(line, place)
    if has_too_many_values(text):
        raise BadInput(place, TOO_MANY_VALUES)
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        what = problem.msg.removesuffix(" at")  # some of its messages end in the word that comes next
        raise _bad(place, f"not JSON: {what} at character {problem.pos + 1}", text) from None
    except (ValueError, RecursionError) as problem:
        raise BadInput(place, f"not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise _bad(place, f"a JSON object is expected, not {kind_of(value)}", text)
    return value


def has_too_many_values(text: str) -> bool:
    """Whether JSON could have more values than a document may have."""
    return len(text) > MOST_VALUES and sum(text.count(mark) for mark in ",[{") > MOST_VALUES


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def kind_of(value: Any) -> str:
    """The kind of a value, for error messages."""
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _bad(place: Place, problem: str, text: str) -> BadInput:
    """The error of a line; the start of an array gives a hint."""
    bad = BadInput(place, problem)
    is_array = text.lstrip()[:1] == "["
    return hinted(bad, "; if this is one array of documents: {}", Argument("format", "json")) if is_array else bad
