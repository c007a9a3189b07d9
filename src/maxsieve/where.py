"""Filters on metadata: the language of ``where=``. `maxsieve.spec.where` defines its meaning.

A filter is parsed once into conditions on the fields of a record; mistakes are reported. SQLite evaluates most
conditions (`maxsieve.storage.filter_sql`); `Where.matches` evaluates the rest.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np

DEPTH = 10
"""How deep ``and``, ``or`` and ``not`` may be nested."""

CONDITIONS = 256
"""Limit on the conditions of one filter."""

VALUES = 10_000
"""Limit on the values of one filter, including those in lists."""

LENGTH = 4096
"""Limit on the characters of a value or of a field's name."""

BITS = 4096
"""Limit on the bits of a whole number."""

Value: TypeAlias = str | int | float | bool | None
Order: TypeAlias = Literal["lt", "lte", "gt", "gte"]
ORDERS: tuple[Order, ...] = ("lt", "lte", "gt", "gte")

NEGATED = {"ne": "eq", "nin": "in", "not_contains": "contains"}
"""Each operator is the negation of the other."""

OPERATORS = ("eq", *ORDERS, "in", "exists", "contains", *NEGATED)
LOGIC = ("and", "or", "not")
MISSING: Final = object()
"""The value of a field that a record does not have."""


class Condition(Protocol):
    """A condition on a record."""

    def matches(self, record: Any) -> bool:
        """Whether the record satisfies it."""


class ValueTest(Protocol):
    """A condition on a field's value, which may be `MISSING`."""

    def holds(self, value: Any) -> bool:
        """Whether the value satisfies it."""


@dataclass(frozen=True)
class Every:
    """The conjunction of conditions."""

    parts: tuple[Condition, ...]

    def matches(self, record: Any) -> bool:
        """Whether all are true."""
        return all(part.matches(record) for part in self.parts)


@dataclass(frozen=True)
class Some:
    """The disjunction of conditions."""

    parts: tuple[Condition, ...]

    def matches(self, record: Any) -> bool:
        """Whether one is true."""
        return any(part.matches(record) for part in self.parts)


@dataclass(frozen=True)
class Negation:
    """The negation of a condition."""

    part: Condition

    def matches(self, record: Any) -> bool:
        """Whether it is false."""
        return not self.part.matches(record)


@dataclass(frozen=True)
class Field:
    """A test of the value at a path of keys."""

    path: tuple[str, ...]
    test: ValueTest

    def matches(self, record: Any) -> bool:
        """Whether the value passes."""
        value = record
        for key in self.path:
            value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        return self.test.holds(value)


@dataclass(frozen=True)
class Among:
    """Equal to one of the values, which must be of the same kind."""

    values: tuple[Value, ...]

    def holds(self, value: Any) -> bool:
        """Whether the value satisfies it."""
        return any(kind(value) == kind(wanted) and value == wanted for wanted in self.values)


@dataclass(frozen=True)
class Compared:
    """Less or greater than a number or a string."""

    order: Order
    value: str | int | float

    def holds(self, value: Any) -> bool:
        """Whether the value satisfies it; a value of another kind does not."""
        if kind(value) != kind(self.value):
            return False
        if self.order in ("lte", "gte") and value == self.value:
            return True
        return bool(value < self.value if self.order in ("lt", "lte") else value > self.value)


@dataclass(frozen=True)
class Present:
    """Whether the field exists, even with the value null."""

    wanted: bool

    def holds(self, value: Any) -> bool:
        """Whether the value satisfies it."""
        return (value is not MISSING) is self.wanted


@dataclass(frozen=True)
class Containing:
    """A string that contains a string, or an array that contains a value."""

    value: Value

    def holds(self, value: Any) -> bool:
        """Whether the value satisfies it."""
        if isinstance(value, list):
            return any(kind(part) == kind(self.value) and part == self.value for part in value)
        return isinstance(value, str) and isinstance(self.value, str) and self.value in value


@dataclass(frozen=True, eq=False)
class Where:
    """A parsed filter, its original form, and the path of keys under which its fields are.

    >>> to_where({"a": 1}) == to_where({"a": {"$eq": 1}}), to_where({"a": 1}) == to_where({"a": True})
    (True, False)
    """

    condition: Condition
    given: Any = None
    root: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Where) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def matches(self, record: Any) -> bool:
        """Whether a record matches the filter; None stands for a document without metadata."""
        return self.condition.matches(record)

    def under(self, *root: str) -> Where:
        """The filter for records that have the filtered fields under a path of keys.

        >>> to_where({"year": 2020}).under("metadata").matches({"metadata": {"year": 2020}})
        True
        """
        return Where(_under(self.condition, root), self.given, (*root, *self.root))

    @cached_property
    def key(self) -> str:
        """A key that is equal for filters with the same conditions."""
        return repr(self.condition)


def _under(condition: Condition, root: tuple[str, ...]) -> Condition:
    match condition:
        case Field(path, test):
            return Field((*root, *path), test)
        case Negation(part):
            return Negation(_under(part, root))
        case Every(parts) | Some(parts):
            return type(condition)(tuple(_under(part, root) for part in parts))
    raise TypeError(f"unknown condition {condition!r}")


def kind(value: Any) -> str:
    """The kind of a value: only values of the same kind are compared.

    >>> kind(1), kind(1.5), kind(True)
    ('number', 'number', 'boolean')
    """
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "other"


def to_where(where: Any, place: str = "where") -> Where | None:
    """Parses a filter; a parsed filter and None stay as they are. ``place`` is the name of the filter in errors.

    >>> to_where({"year": {"gte": 2020}, "lang": "en"}).matches({"year": 2021, "lang": "en"})
    True
    >>> to_where({"year": {"gte": None}})
    Traceback (most recent call last):
    ValueError: where.year.gte must be a number or a string, not None
    """
    if where is None or isinstance(where, Where):
        return where
    return Where(_Reader().read(where, place, 0), where)


class _Reader:
    """Parses a filter, and counts its conditions and values."""

    def __init__(self) -> None:
        self._conditions = self._values = 0

    def read(self, where: Any, place: str, depth: int) -> Condition:
        """A filter: an object in which every entry must be true."""
        if not isinstance(where, Mapping):
            example = '{"year": {"gte": 2020}}'
            raise ValueError(f"{place} must be an object such as {example}, not {_shown(where)}")
        if depth > DEPTH:
            raise ValueError(f"where is nested more than {DEPTH} deep")
        parts = tuple(self._entry(name, value, place, depth) for name, value in where.items())
        return parts[0] if len(parts) == 1 else Every(parts)

    def _entry(self, name: Any, value: Any, place: str, depth: int) -> Condition:
        if not isinstance(name, str):
            raise ValueError(f"{place} has the name {_shown(name)}; names of fields must be strings")
        inside = f"{place}.{_named(name)}"
        word = name.removeprefix("$")
        if word in LOGIC:
            return self._logic(word, value, inside, depth + 1)
        if word != name:
            raise ValueError(
                f"{inside} is none of {_listed(LOGIC, '$')}; write a field of that name as {_shown(chr(92) + name)}"
            )
        path = _to_path(name, inside)
        if not isinstance(value, Mapping):
            return self._test(path, "eq", value, inside)
        if not value:
            raise ValueError(f"{inside} is empty; an operator is expected: {_listed(OPERATORS)}")
        parts = tuple(self._named_test(path, operator, operand, inside) for operator, operand in value.items())
        return parts[0] if len(parts) == 1 else Every(parts)

    def _logic(self, word: str, value: Any, place: str, depth: int) -> Condition:
        if word == "not":
            return Negation(self.read(value, place, depth))
        if not isinstance(value, (list, tuple)) or not value:
            raise ValueError(
                f"{place} must be a list of at least one filter, not {_shown(value)}; "
                f"write a field of that name as {_shown(chr(92) + word)}"
            )
        if len(value) > CONDITIONS:
            raise ValueError(f"{place} has {len(value):,} filters; at most {CONDITIONS} are allowed")
        parts = tuple(self.read(part, f"{place}[{i}]", depth) for i, part in enumerate(value))
        return Every(parts) if word == "and" else Some(parts)

    def _named_test(self, path: tuple[str, ...], name: Any, operand: Any, place: str) -> Condition:
        operator = name.removeprefix("$") if isinstance(name, str) else ""
        if operator not in OPERATORS:
            raise ValueError(
                f"{place}.{_named(name)} is not an operator ({_listed(OPERATORS)}); "
                f"write a field inside a field with a dot, as in 'author.name'"
            )
        return self._test(path, operator, operand, f"{place}.{_named(name)}")

    def _test(self, path: tuple[str, ...], operator: str, operand: Any, place: str) -> Condition:
        self._conditions += 1
        if self._conditions > CONDITIONS:
            raise ValueError(f"where has more than {CONDITIONS} conditions")
        if operator in NEGATED:
            return Negation(Field(path, self._plain_test(NEGATED[operator], operand, place)))
        return Field(path, self._plain_test(operator, operand, place))

    def _plain_test(self, operator: str, operand: Any, place: str) -> ValueTest:
        if operator == "exists":
            if not isinstance(operand, (bool, np.bool_)):
                raise ValueError(f"{place} must be true or false, not {_shown(operand)}")
            return Present(bool(operand))
        if operator == "in":
            if not isinstance(operand, (list, tuple, set, frozenset)):
                raise ValueError(f"{place} must be a list of values, not {_shown(operand)}")
            return Among(tuple(self._value(part, f"{place}[{i}]") for i, part in enumerate(operand)))
        value = self._value(operand, place)
        if operator == "contains":
            return Containing(value)
        if operator == "eq":
            return Among((value,))
        if value is None or isinstance(value, bool):
            raise ValueError(f"{place} must be a number or a string, not {_shown(value)}")
        return Compared(operator, value)  # type: ignore[arg-type]

    def _value(self, value: Any, place: str) -> Value:
        self._values += 1
        if self._values > VALUES:
            raise ValueError(f"where has more than {VALUES:,} values")
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str) and len(plain) > LENGTH:
            raise ValueError(f"{place} has {len(plain):,} characters; at most {LENGTH:,} are allowed")
        if isinstance(plain, int) and plain.bit_length() > BITS:
            raise ValueError(f"{place} is a whole number of {plain.bit_length():,} bits; at most {BITS:,} are allowed")
        if isinstance(plain, float) and not math.isfinite(plain):
            raise ValueError(f"{place} is {plain}, which no record can contain; a finite number is expected")
        if isinstance(plain, (list, tuple, set, frozenset)):
            raise ValueError(
                f"{place} is a list; write {{'in': [...]}} for a field with one of these values, "
                f"{{'contains': ...}} for a field that is a list and contains a value"
            )
        if plain is None or isinstance(plain, (bool, int, float, str)):
            return plain
        raise ValueError(f"{place} must be a string, a number, true, false or null, not {_shown(plain)}")


def _to_path(name: str, place: str) -> tuple[str, ...]:
    r"""The path of keys to a field. A dot separates keys; a backslash escapes the next character.

    >>> _to_path("author.name", "it"), _to_path(r"v1\.5", "it"), _to_path(r"\and", "it")
    (('author', 'name'), ('v1.5',), ('and',))
    """
    if len(name) > LENGTH:
        raise ValueError(f"{place}: the field's name has {len(name):,} characters; at most {LENGTH:,} are allowed")
    keys, escaped = [""], False
    for letter in name:
        if escaped or letter not in ".\\":
            keys[-1] += letter
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            keys.append("")
    if escaped:
        raise ValueError(f"{place} ends in a backslash, but there is no character to escape")
    if not all(keys):
        raise ValueError(f"{place}: a key before, after or between dots is empty; write a dot in a key as '\\.'")
    return tuple(keys)


def _named(name: Any) -> str:
    return name if isinstance(name, str) and 0 < len(name) <= 60 and name.isprintable() else _shown(name)


def _shown(value: Any) -> str:
    return reprlib.repr(value)


def _listed(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(prefix + name for name in names)
