"""What all tests share: the long form, every ISA of the machine, deterministic hypothesis."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import maxsieve as ms
from maxsieve import _core

FULL = os.environ.get("MAXSIEVE_FULL") == "1"
"""Set by ``make test-full``: ten times the cases."""

settings.register_profile(
    "maxsieve",
    max_examples=1000 if FULL else 100,
    deadline=None,
    derandomize=not FULL,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("maxsieve")


def scaled(cases: int) -> int:
    """How many cases to run: ten times as many in the long form."""
    return cases * 10 if FULL else cases


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not FULL:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="long form only: make test-full"))


@pytest.fixture(params=ms.isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kernel of this machine in turn."""
    _core.use_isa(request.param)
    yield request.param
    _core.use_isa("")
