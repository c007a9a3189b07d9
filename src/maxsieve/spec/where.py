r"""Filters on metadata: which documents ``where=`` selects.

A filter is an object. Each of its entries must be true of the metadata:

    {"and": [filter, ...]}    every one of them is true        {"field": value}            as {"field": {"eq": value}}
    {"or": [filter, ...]}     at least one is                  {"field": {operator: ...}}  every operator is true
    {"not": filter}           it is false                      of the field's value

Any of these names may begin with ``$``. A field is a path of keys into nested objects, with dots between them. A
backslash escapes the next character: ``v1\.5`` is the key ``v1.5``, and ``\and`` is the key ``and``.

Values are null, booleans, numbers or strings. Only values of the same kind can be equal, less or greater: ``1`` equals
``1.0``, but ``true`` does not equal ``1``, and ``"1"`` does not equal ``1``. Numbers are compared exactly, whatever
their size. Strings are compared by code points, without normalisation. Null is a value: a field that is null exists,
and differs from a missing field. Some fields are equal to nothing, and neither less nor greater than anything: missing
fields, fields whose value is an array or an object, and paths that lead through a value that is not an object.

``ne``, ``nin`` and ``not_contains`` are the exact negations of ``eq``, ``in`` and ``contains``. So ``ne`` is true for a
missing field. (So it is in Chroma since 0.5.12, and in Qdrant's ``must_not``.)
"""

from __future__ import annotations

import re
from typing import Any

_MISSING = object()
_OPPOSITES = {"ne": "eq", "nin": "in", "not_contains": "contains"}


def matches(where: dict[str, Any], metadata: Any) -> bool:
    """Whether a valid filter selects a document with this metadata (None if it has none).

    >>> matches({"year": {"gte": 2020}, "lang": "en"}, {"year": 2021, "lang": "en"})
    True
    >>> matches({"author.name": {"ne": "Aesop"}}, {"title": "Fables"})
    True
    """
    return all(_entry(name, value, metadata) for name, value in where.items())


def _entry(name: str, value: Any, metadata: Any) -> bool:
    match name.removeprefix("$"):
        case "and":
            return all(matches(part, metadata) for part in value)
        case "or":
            return any(matches(part, metadata) for part in value)
        case "not":
            return not matches(value, metadata)
    found = _find(name, metadata)
    tests = value if isinstance(value, dict) else {"eq": value}
    return all(_test(operator.removeprefix("$"), operand, found) for operator, operand in tests.items())


def _find(field: str, metadata: Any) -> Any:
    for key in re.findall(r"(?:\\.|[^.\\])+", field, re.DOTALL):
        name = re.sub(r"\\(.)", r"\1", key, flags=re.DOTALL)
        if not isinstance(metadata, dict) or name not in metadata:
            return _MISSING
        metadata = metadata[name]
    return metadata


def _test(operator: str, operand: Any, found: Any) -> bool:
    if operator in _OPPOSITES:
        return not _test(_OPPOSITES[operator], operand, found)
    match operator:
        case "eq":
            return _comparable(found, operand) and bool(found == operand)
        case "lt":
            return _comparable(found, operand) and bool(found < operand)
        case "lte":
            return _comparable(found, operand) and bool(found <= operand)
        case "gt":
            return _comparable(found, operand) and bool(found > operand)
        case "gte":
            return _comparable(found, operand) and bool(found >= operand)
        case "in":
            return any(_test("eq", value, found) for value in operand)
        case "exists":
            return (found is not _MISSING) is operand
        case "contains":
            if isinstance(found, list):
                return any(_test("eq", operand, item) for item in found)
            return isinstance(found, str) and isinstance(operand, str) and operand in found
    raise ValueError(f"{operator} is not an operator")


def _comparable(left: Any, other: Any) -> bool:
    return _kind(left) is not None and _kind(left) == _kind(other)


def _kind(value: Any) -> str | None:
    if value is None:
        return "null"
    for kind, types in (("boolean", bool), ("number", (int, float)), ("string", str)):
        if isinstance(value, types):
            return kind
    return None
