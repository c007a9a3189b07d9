"""The long form of the tests, ``make test-full``: the same tests with ten times the cases.

The short form, a tenth of them, is for machines that are emulated: ``make test-arm``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
FULL = os.environ.get("MAXSIEVE_FULL") == "1"
SHORT = os.environ.get("MAXSIEVE_SHORT") == "1"


def scaled(cases: int) -> int:
    """How many cases to run."""
    return cases * 10 if FULL else max(1, cases // 10) if SHORT else cases


def sampled(cases: Iterable[T]) -> list[T]:
    """All of a product of knobs, or in the short form every seventh, which comes to every value of each."""
    return list(cases)[:: 7 if SHORT else 1]
