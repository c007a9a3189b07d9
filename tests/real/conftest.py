"""Real vectors for the tests of this folder, which are skipped if `MAXSIEVE_CORPORA` is not set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import maxsieve as ms
from maxsieve import _core


@pytest.fixture(scope="session")
def corpora() -> Path:
    folder = os.environ.get("MAXSIEVE_CORPORA")
    if not folder:
        pytest.skip("MAXSIEVE_CORPORA is not set: no real vectors to test with")
    return Path(folder)


@pytest.fixture
def use_isa() -> Iterator[Callable[[str], None]]:
    """A function that sets the kernel until the end of the test."""
    before = ms.isa()
    yield _core.use_isa
    _core.use_isa(before)


@pytest.fixture(params=ms.isas())
def isa(request: pytest.FixtureRequest, use_isa: Callable[[str], None]) -> str:
    """Runs the test with each kernel that this machine can run."""
    use_isa(request.param)
    return request.param
