"""Filters: SQLite and Python together select the records that the specification selects."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from long_form import scaled
from maxsieve.spec.where import matches
from maxsieve.storage import filter_masks as matching
from maxsieve.storage.filter_masks import ROWS
from maxsieve.storage.filter_sql import to_question
from maxsieve.storage.metadata import MetadataFile, Texts, to_texts, write_metadata
from maxsieve.where import CONDITIONS, DEPTH, LENGTH, VALUES, to_where

KEYS = ["a", "b", "a.b", 'q"x', "é", "e\u0301", "new\nline", "back\\", "and", "$or"]
KEYS += ["a b", "[0]", "sl/ash", "\0", "\ud800", "'"]
TEXTS = ["", "a", "A", "b", "ab", "é", "e\u0301", "x", "x\0y", "\0", "\ud800", "\U0001f600", "\uffff"]
TEXTS += ["\\u0041", "1", "null"]
WHOLE = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 + 1]
WHOLE += [10**30, 10**30 + 1, 10**400, -(10**400)]
REAL = [0.0, -0.0, 0.1, 0.1 + 0.2, 0.3, 1.0, 2.0**53, 2.0**63, -(2.0**63), 1e22, 1e30]
REAL += [5e-324, 1e-300, 1e300, 1.7976931348623157e308]

numbers = st.one_of(
    st.sampled_from(WHOLE), st.sampled_from(REAL), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False)
)
texts = st.sampled_from(TEXTS) | st.text(max_size=3)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
records = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(KEYS), records, max_size=5)


def spelled(keys: list[str]) -> str:
    """The name of a field for a path of keys."""
    escaped = ["".join("\\" + letter if letter in ".\\" else letter for letter in key) for key in keys]
    name = ".".join(escaped)
    return "\\" + name if name.startswith(("$", "and")) else name


fields = st.lists(st.sampled_from(KEYS), min_size=1, max_size=2).map(spelled)
tests = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne", "contains", "not_contains"]), scalars),
    st.tuples(st.sampled_from(["lt", "lte", "gt", "gte"]), numbers | texts),
    st.tuples(st.sampled_from(["in", "nin"]), st.lists(scalars, max_size=4)),
    st.tuples(st.just("exists"), st.booleans()),
)
spelling = st.sampled_from(["", "$"])
operators = st.lists(st.tuples(spelling, tests), min_size=1, max_size=2).map(
    lambda found: {prefix + name: operand for prefix, (name, operand) in found}
)
conditions = st.dictionaries(fields, scalars | operators, max_size=2)
words = st.sampled_from(["and", "or"])


def parts_of(inner: Any) -> Any:
    return st.lists(inner, min_size=1, max_size=3)


filters = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.builds(lambda dollar, word, parts: {dollar + word: parts}, spelling, words, parts_of(inner)),
        st.builds(lambda dollar, part: {dollar + "not": part}, spelling, inner),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    folder, number = tmp_path_factory.mktemp("records"), itertools.count()
    return lambda: folder / f"{next(number)}.records"


def stored(record: Any) -> Any:
    """As it is read back."""
    [text] = to_texts([record], 1) or []
    return None if text is None else json.loads(text)


def answers(given: list[Any], where: Any, path: Path) -> list[list[bool]]:
    """With records in memory and on disk."""
    read = to_where(where)
    assert read is not None
    kept = {i: text for i, text in enumerate(to_texts(given, len(given)) or []) if text is not None}
    found = [Texts(kept).matching(read, len(given)).tolist()]
    crc = write_metadata(path, kept.items())
    if crc is not None:
        found.append(MetadataFile(path, crc, len(given)).matching(read, len(given)).tolist())
    path.unlink(missing_ok=True)
    return found


@settings(max_examples=scaled(400), deadline=None)
@given(st.lists(st.none() | records | objects, min_size=1, max_size=6), filters)
@example([{"a": "x\0y"}, {"a": "x"}], {"a": "x"})
@example([{"a": 2**64 + 1}, {"a": float(2**64)}], {"a": 2**64 + 1})
@example([{"a": -(2**63) - 1}], {"a": {"lt": -(2**63)}})
@example([{"a": True}, {"a": 1}, {"a": 1.0}, {"a": "1"}], {"a": 1})
@example([{"\ud800": 1, "é": 2}], {"é": 2})
@example([{"a": ["x", 1, True, None]}], {"a": {"contains": 1}})
@example([{1: "a", "1": "b"}], {"1": "b"})
def test_answers_are_those_of_the_specification(
    fresh: Callable[[], Path], given: list[Any], where: dict[str, Any]
) -> None:
    wanted = [matches(where, stored(record)) for record in given]
    read = to_where(where)
    assert read is not None
    assert [read.matches(stored(record)) for record in given] == wanted
    for found in answers(given, where, fresh()):
        assert found == wanted


@settings(max_examples=scaled(150), deadline=None)
@given(st.lists(numbers, min_size=1, max_size=6), numbers, st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"]))
def test_numbers_are_compared_exactly(
    fresh: Callable[[], Path], values: list[Any], operand: Any, operator: str
) -> None:
    near = [operand, *(math.nextafter(operand, end) for end in (math.inf, -math.inf) if isinstance(operand, float))]
    given = [{"n": value} for value in [*values, *near] if not (isinstance(value, float) and math.isinf(value))]
    where = {"n": {operator: operand}}
    wanted = [matches(where, record) for record in given]
    for found in answers(given, where, fresh()):
        assert found == wanted


def test_many_records_are_asked_about_in_pieces(fresh: Callable[[], Path]) -> None:
    given = [None if i % 5 == 0 else {"n": i, "odd": bool(i % 2)} for i in range(3 * ROWS + 7)]
    for where in ({"n": {"lt": 700}, "odd": True}, {"n": {"ne": 3}}, {"not": {"odd": {"exists": True}}}, {}):
        wanted = [matches(where, record) for record in given]
        for found in answers(given, where, fresh()):
            assert found == wanted


def asked(where: Any, given: list[Any]) -> list[Any]:
    """The result of SQLite for records: 1, 0, or None if Python has to decide."""
    read = to_where(where)
    assert read is not None
    question = to_question(read, ROWS)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(matching.SCHEMA)
        connection.executemany("INSERT INTO records VALUES (?, ?)", enumerate(to_texts(given, len(given)) or []))
        said = dict(connection.execute(question.text, question.between(0, len(given))).fetchall())
    return [said.get(i, int(read.matches(None))) for i in range(len(given))]


def test_sqlite_decides_what_it_can_and_python_the_rest() -> None:
    usual = [{"year": 2019, "lang": "en", "tags": ["a"], "p": 0.5}, {"year": 2021, "lang": "de", "tags": [], "p": 2}]
    assert asked({"year": {"gte": 2020}}, usual) == [0, 1]
    assert asked({"year": {"ne": 2019}, "lang": {"in": ["de", "fr"]}}, usual) == [0, 1]
    assert asked({"tags": {"contains": "a"}}, usual) == [1, 0]
    assert asked({"p": {"lt": 1}}, usual) == [1, 0]
    assert asked({"p": 0.5}, usual) == [None, 0]  # next to what is asked for
    assert asked({"lang": {"contains": "e"}, 'q"x': 1}, usual) == [None, None]
    assert asked({"lang": "en", 'q"x': 1}, usual) == [None, 0]
    assert asked({"lang": "en"}, [{"lang": "en", "text": "\x01"}, {"lang": "en", "text": "\n\u2028é"}]) == [None, 1]


@pytest.fixture
def no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """An SQLite without JSON."""
    honest = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = honest(*arguments, **options)

        def refuse(action: int, _: object, name: object, *__: object) -> int:
            json = action == sqlite3.SQLITE_FUNCTION and str(name).startswith("json")
            return sqlite3.SQLITE_DENY if json else sqlite3.SQLITE_OK

        connection.set_authorizer(refuse)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)


@pytest.mark.usefixtures("no_json")
def test_without_json_in_sqlite_python_decides_all(fresh: Callable[[], Path]) -> None:
    given = [{"year": 2019}, None, {"year": 2021.5}, {"year": "2021"}]
    where = {"year": {"gte": 2020}}
    with pytest.raises(sqlite3.DatabaseError):
        asked(where, given[:1])
    for found in answers(given, where, fresh()):
        assert found == [False, False, True, False]


def deep(levels: int) -> dict[str, Any]:
    where: dict[str, Any] = {"a": 1}
    for level in range(levels):
        where = {"not": where} if level % 2 else {"or": [where, {"b": 2}]}
    return where


def test_the_largest_filters_are_understood_by_sqlite() -> None:
    given = [{"a": 1, "b": 3}]
    limits: list[dict[str, Any]] = [
        deep(DEPTH),
        {"or": [{"a": {"contains": "x"}}] * (CONDITIONS - 1) + [{"a": {"gt": 0.5}}]},
        {"a": {"in": [*range(VALUES - 1), 0.5]}},
        {"b": {"nin": [str(i) * 100 for i in range(VALUES // 2)]}},
        {"a" * LENGTH: "b" * LENGTH},
    ]
    for where in limits:
        assert asked(where, given) == [matches(where, given[0])]


def calls_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    honest = matching.to_question
    monkeypatch.setattr(matching, "to_question", lambda where, rows: asked.append(where.key) or honest(where, rows))
    return asked


def test_the_same_filter_is_answered_once(fresh: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = fresh()
    crc = write_metadata(path, [(0, '{"a":1}'), (1, '{"a":true}')])
    assert crc is not None
    file, memory = MetadataFile(path, crc, 2), Texts({0: '{"a":1}', 1: '{"a":true}'})
    for metadata in (file, memory):
        calls = calls_of(monkeypatch)
        for one, wanted in ((1, [True, False]), (True, [False, True]), (1.0, [True, False])):
            for _ in range(3):
                where = to_where({"a": one})
                assert where is not None
                found = metadata.matching(where, 2)
                assert found.tolist() == wanted
                assert not found.flags.writeable
        assert len(calls) == 3
        for i in range(matching.KEPT):
            where = to_where({"a": i})
            assert where is not None
            metadata.matching(where, 2)
        assert len(calls) == 3 + matching.KEPT - 1  # 1 was known
        monkeypatch.undo()


def test_a_mask_of_no_documents(fresh: Callable[[], Path]) -> None:
    where = to_where({"a": 1})
    assert where is not None
    assert Texts({}).matching(where, 0).tolist() == []
    assert Texts({}).matching(where, 3).dtype == np.bool_


def bad(where: Any) -> str:
    with pytest.raises(ValueError, match="where") as caught:
        to_where(where)
    return str(caught.value)


def cycle() -> dict[str, Any]:
    where: dict[str, Any] = {}
    where["not"] = where
    return where


MISTAKES: dict[str, tuple[Any, str]] = {
    "no object": ([1], "where must be an object such as"),
    "text": ("year > 2020", "where must be an object such as"),
    "name": ({1: 2}, "where has the name 1"),
    "operator": ({"year": {"above": 3}}, "where.year.above is not an operator (eq, lt"),
    "nested": ({"author": {"name": "x"}}, "'author.name'"),
    "no operator": ({"year": {}}, "where.year is empty"),
    "null order": ({"year": {"gte": None}}, "where.year.gte must be a number or a string, not None"),
    "boolean order": ({"year": {"$lt": True}}, "where.year.$lt must be a number or a string, not True"),
    "list": ({"year": [1, 2]}, "where.year is a list; write {'in': [...]}"),
    "in": ({"year": {"in": "abc"}}, "where.year.in must be a list of values, not 'abc'"),
    "in in": ({"year": {"in": [1, [2]]}}, "where.year.in[1] is a list"),
    "exists": ({"year": {"exists": 1}}, "where.year.exists must be true or false, not 1"),
    "object": ({"year": {"eq": {"a": 1}}}, "where.year.eq must be a string, a number, true, false or null"),
    "bytes": ({"year": b"x"}, "where.year must be a string, a number"),
    "nan": ({"year": {"lt": math.nan}}, "where.year.lt is nan"),
    "infinity": ({"year": {"in": [1, -math.inf]}}, "where.year.in[1] is -inf"),
    "and": ({"and": {"year": 1}}, "where.and must be a list of at least one filter"),
    "empty or": ({"$or": []}, "where.$or must be a list of at least one filter, not []"),
    "and's part": ({"and": [{"a": 1}, 3]}, "where.and[1] must be an object"),
    "not": ({"not": [{"a": 1}]}, "where.not must be an object"),
    "dollar": ({"$year": 3}, "where.$year is none of $and, $or, $not; write a field of that name as"),
    "empty key": ({"a..b": 3}, "where.a..b: a key before, after or between dots is empty"),
    "no key": ({"": 3}, "where.'': a key before, after or between dots is empty"),
    "backslash": ({"a\\": 3}, "ends in a backslash"),
    "deep": (deep(DEPTH + 1), f"where is nested more than {DEPTH} deep"),
    "for ever": (cycle(), "nested more than"),
    "conditions": ({f"f{i}": 1 for i in range(CONDITIONS + 1)}, f"where has more than {CONDITIONS} conditions"),
    "parts": ({"or": [{}] * 10_000}, "where.or has 10,000 filters"),
    "values": ({"a": {"in": list(range(VALUES + 1))}}, "where has more than 10,000 values"),
    "long value": ({"a": "x" * (LENGTH + 1)}, "where.a has 4,097 characters; at most 4,096 are allowed"),
    "long name": ({"x" * (LENGTH + 1): 1}, "the field's name has 4,097 characters"),
    "bits": ({"a": 1 << 5000}, "where.a is a whole number of 5,001 bits"),
    "steering": ({"\x1b[31m": {"x": 1}}, "where.'\\x1b[31m'.x is not an operator"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named_by_their_place(mistake: str) -> None:
    where, words = MISTAKES[mistake]
    said = bad(where)
    assert words in said
    assert len(said) < 500
    assert said.isprintable()


def test_values_of_numpy_are_taken() -> None:
    where = to_where({"a": np.int64(3), "b": {"in": (np.float32(0.5), np.str_("x"))}, "c": {"exists": np.True_}})
    assert where is not None
    assert where.matches({"a": 3, "b": 0.5, "c": None})
    assert not where.matches({"a": 3, "b": "y", "c": None})
