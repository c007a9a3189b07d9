"""The long form of the tests, ``make test-full``: the same tests with ten times the cases."""

from __future__ import annotations

import os

FULL = os.environ.get("MAXSIEVE_FULL") == "1"


def scaled(cases: int) -> int:
    """How many cases to run."""
    return cases * 10 if FULL else cases
