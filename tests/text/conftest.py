"""The models, fetched once for all tests; a second process waits for the first."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from maxsieve.text import OnnxEncoder, fetch_model


@pytest.fixture(scope="session")
def minilm() -> OnnxEncoder:
    """The default encoder."""
    return OnnxEncoder(fetch_model("minilm"), name="minilm")


@pytest.fixture(scope="session")
def minilm_fp32() -> Path:
    """The same model in float32, for torch."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return fetch_model("minilm-fp32")
