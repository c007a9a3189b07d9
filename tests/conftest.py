"""Shared by all tests: the number of cases, all ISAs of the machine, deterministic hypothesis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import maxsieve as ms
from long_form import LONG, scaled
from maxsieve import _core

settings.register_profile(
    "maxsieve",
    max_examples=scaled(100),
    deadline=None,
    derandomize=not LONG,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("maxsieve")


@pytest.fixture(params=ms.isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a test with each kernel of this machine."""
    _core.use_isa(request.param)
    yield request.param
    _core.use_isa("")
