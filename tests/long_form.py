"""How much of the tests runs: the environment variable ``MAXSIEVE_TESTS``.

- not set, ``make test``: what needs neither torch nor Ray, nor a real corpus, nor much time; a quarter of the cases.
- ``rest``, ``make test-rest``: what that leaves: tests marked ``full``, and those that have more cases in full.
- ``full``, ``make test-full``: every test with all its cases.
- ``long``: every test with ten times the cases, other ones each time. This takes hours.
- ``short``: a tenth of the cases, for machines that are emulated (``make test-arm``).
- ``cluster``, ``make test-cluster``: what needs a Ray cluster, which all other forms leave out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")
ASKING = {"FULL", "sampled", "scaled"}
"""Names that test files import from here if they ask how many cases to run."""
FULL_EXAMPLES = ("src/maxsieve/exchange/pt.py",)
"""Files with examples that can't be marked: they need torch."""
SHARES = {"short": 0.1, "": 0.25, "rest": 1, "full": 1, "long": 10, "cluster": 1}
FORM = os.environ.get("MAXSIEVE_TESTS", "")
if FORM not in SHARES:
    raise pytest.UsageError(f"MAXSIEVE_TESTS={FORM!r} is none of {', '.join(filter(None, SHARES))}")
FULL, LONG = FORM in ("rest", "full", "long"), FORM == "long"


def scaled(cases: int, *, at_least: int = 1) -> int:
    """How many of the cases of the full form to run."""
    return max(min(at_least, cases), round(cases * SHARES[FORM]))


def sampled(cases: Iterable[T]) -> list[T]:
    """All of a product of parameters in the full form, otherwise every seventh, which covers every value of each."""
    return list(cases)[:: 1 if FULL else 7]


def is_selected(test: pytest.Item) -> bool:
    """Whether this form runs the test."""
    if FORM == "cluster" or needs_cluster(test):
        return FORM == "cluster" and needs_cluster(test)
    if FORM == "rest":
        return is_marked_full(test) or has_more_cases_in_full(test)
    return FULL or not is_marked_full(test)


def needs_cluster(test: pytest.Item) -> bool:
    """Whether it uses the Ray cluster of tests/cluster/conftest.py."""
    return "cluster" in getattr(test, "fixturenames", ())


def is_marked_full(test: pytest.Item) -> bool:
    return test.get_closest_marker("full") is not None or test.nodeid.startswith(FULL_EXAMPLES)


def has_more_cases_in_full(test: pytest.Item) -> bool:
    """A property, or a test in a file that asks here how many cases to run."""
    if not isinstance(test, pytest.Function):
        return False
    import hypothesis  # not installed in all environments of adapters

    return hypothesis.is_hypothesis_test(test.obj) or not ASKING.isdisjoint(vars(test.module))
