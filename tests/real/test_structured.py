"""The examples in the docstrings of the benchmarks' vectors."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["structured", "real"])
def test_examples_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"benchmarks.vectors.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
