r"""Translates filters to SQL, and says which records SQLite must leave to Python.

A condition becomes an expression that is 1 or 0 or, where SQLite's reading of JSON is not exact, NULL. SQL's ``AND``,
``OR``, ``NOT`` and ``IN`` keep a NULL if it matters for the result, and drop it otherwise. If the result is NULL,
`Where.matches` evaluates the record in Python. These are

- records that are not text, not JSON, or contain ``\u``: SQLite ends texts at U+0000, and compares names of fields as
  they are written;
- names of fields with quotes, backslashes, slashes or control characters, which SQLite's paths can't express;
- real numbers, and whole numbers beyond 64 bits, that are very close to the filter's value: the last bits of SQLite's
  conversion may be wrong.

Values and paths are bound as parameters, and are never part of the SQL text.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from maxsieve.where import Among, Compared, Condition, Containing, Every, Field, Negation, Present, Some, Value, Where

NEAR, LEAST = 1e-12, 1e-290
"""If two real numbers are closer than this (relative, and at least absolute), only Python compares them."""

LARGE = 1e300
"""Beyond this SQLite's real numbers may be infinite."""

TRUTH = {"lt": (1, 0, 0), "lte": (1, 1, 0), "eq": (0, 1, 0), "gte": (0, 1, 1), "gt": (0, 0, 1)}
"""Whether an order holds below, at and above a value."""

SIGNS = {"lt": "<", "lte": "<=", "eq": "=", "gte": ">=", "gt": ">"}


class Question(NamedTuple):
    """An SQL query for positions in a range, and the result for their records.

    Records with the same result as a document without a record are left out.
    """

    text: str
    values: dict[str, Any]

    def between(self, first: int, last: int) -> dict[str, Any]:
        """The values to bind, by name: Python 3.14 has no numbered ones."""
        return {"first": first, "last": last, **self.values}


def to_question(where: Where, rows: int) -> Question:
    """The query for a filter, about ``rows`` records at a time."""
    writer = _Writer()
    condition = writer.condition(where.condition)
    usual = int(where.matches(None))
    text = (
        f"SELECT position, verdict FROM (SELECT position, CASE WHEN typeof(record) = 'text' "
        f"AND record NOT GLOB '*\\u*' AND json_valid(record) THEN {condition} END AS verdict "
        f"FROM records WHERE position >= :first AND position < :last LIMIT {rows:d}) WHERE verdict IS NOT {usual:d}"
    )
    return Question(text, writer.values)


class _Subject(NamedTuple):
    """A value in a record, as SQL expressions: its type, and the value."""

    type: str
    value: str


class _Writer:
    """Writes expressions, and collects their parameters."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def condition(self, condition: Condition) -> str:
        match condition:
            case Every(parts):
                return _joined(" AND ", [self.condition(part) for part in parts], "1")
            case Some(parts):
                return _joined(" OR ", [self.condition(part) for part in parts], "0")
            case Negation(part):
                return f"(NOT {self.condition(part)})"
            case Field():
                return self._field(condition)
        raise TypeError(f"{condition!r} is not a condition")

    def _field(self, field: Field) -> str:
        if any(letter in '"\\/' or letter < " " or "\ud800" <= letter <= "\udfff" for letter in chain(*field.path)):
            return "NULL"
        path = self._bind("$" + "".join(f'."{key}"' for key in field.path))
        subject = _Subject(f"json_type(record, {path})", f"json_extract(record, {path})")
        match field.test:
            case Present(wanted):
                return f"({subject.type} IS {'NOT ' if wanted else ''}NULL)"
            case Among(values):
                return self._among(subject, values)
            case Compared(order, str(value)):
                later = "NULL" if _is_broken(value) else f"{subject.value} {SIGNS[order]} {self._bind(value)}"
                return f"(CASE {subject.type} WHEN 'text' THEN {later} ELSE 0 END)"
            case Compared(order, int(value) | float(value)):
                return self._number(subject, order, value)
            case Containing(value):
                return self._containing(subject, path, value)
        raise TypeError(f"{field.test!r} is not a test")

    def _among(self, subject: _Subject, values: tuple[Value, ...]) -> str:
        parts = []
        for value, name in ((None, "null"), (True, "true"), (False, "false")):
            if any(wanted is value for wanted in values):
                parts.append(f"{subject.type} IS '{name}'")
        texts = [text for text in values if isinstance(text, str) and not _is_broken(text)]
        if texts:  # a record with a lone surrogate contains \u
            parts.append(f"({subject.type} IS 'text' AND {subject.value} IN ({self._bind_all(texts)}))")
        numbers = [number for number in values if isinstance(number, (int, float)) and not isinstance(number, bool)]
        if len(numbers) == 1:
            parts.append(self._number(subject, "eq", numbers[0]))
        elif numbers:
            ends = [_around(number) for number in numbers]
            low, high = min(low for low, _ in ends), max(high for _, high in ends)
            whole = f"{subject.value} IN ({self._bind_all([number for number in numbers if _fits(number)])})"
            parts.append(self._by_type(subject, whole, (low, 0), (high, 0)))
        return _joined(" OR ", parts, "0")

    def _number(self, subject: _Subject, order: str, value: int | float) -> str:
        below, _, above = TRUTH[order]
        low, high = _around(value)
        if _fits(value):
            whole = f"{subject.value} {SIGNS[order]} {self._bind(value)}"
        else:  # of a whole number beyond 64 bits, all within are on one side
            whole = str(below if value > 0 else above)
        return self._by_type(subject, whole, (low, below), (high, above))

    def _by_type(self, subject: _Subject, whole: str, low: tuple[float, int], high: tuple[float, int]) -> str:
        """For a number: the result if it is a whole number of 64 bits, and if it is real and outside of two ends."""
        return (
            f"(CASE WHEN {subject.type} IN ('integer', 'real') THEN "
            f"CASE WHEN typeof({subject.value}) = 'integer' THEN {whole} "
            f"WHEN {subject.value} < {self._bind(low[0])} THEN {low[1]} "
            f"WHEN {subject.value} > {self._bind(high[0])} THEN {high[1]} END ELSE 0 END)"
        )

    def _containing(self, subject: _Subject, path: str, value: Value) -> str:
        member = self._among(_Subject("each.type", "each.value"), (value,))
        members = f"1 IN (SELECT {member} FROM json_each(record, {path}) AS each)"
        inside = ""
        if isinstance(value, str) and not _is_broken(value):
            inside = f"WHEN 'text' THEN instr({subject.value}, {self._bind(value)}) > 0 "
        return f"(CASE {subject.type} WHEN 'array' THEN {members} {inside}ELSE 0 END)"

    def _bind(self, value: Any) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _bind_all(self, values: list[Any]) -> str:
        return ", ".join(map(self._bind, values))


def _joined(word: str, parts: list[str], none: str) -> str:
    return f"({word.join(parts)})" if parts else none


def _fits(value: int | float) -> bool:
    """Whether it can be bound as a parameter."""
    return isinstance(value, float) or -(2**63) <= value < 2**63


def _is_broken(text: str) -> bool:
    """Whether it contains a lone surrogate, which UTF-8 can't encode."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _around(value: int | float) -> tuple[float, float]:
    """Two ends around a value: a real number outside of them is certainly below or above it, despite wrong last bits.

    >>> _around(10**400), _around(0)
    ((1e+299, inf), (-1e-290, 1e-290))
    """
    if abs(value) > LARGE:
        return (LARGE / 10, float("inf")) if value > 0 else (float("-inf"), -LARGE / 10)
    near = max(abs(float(value)) * NEAR, LEAST)
    return float(value) - near, float(value) + near
