"""The models, fetched once for all tests; a second process waits for the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from long_form import FULL
from maxsieve.text import OnnxEncoder, fetch_model

collect_ignore = [] if FULL else ["test_encoding_equality.py", "test_multi_vector.py", "tiny_checkpoints.py"]  # torch


@pytest.fixture(scope="session")
def minilm() -> OnnxEncoder:
    """The default encoder."""
    return OnnxEncoder(fetch_model("minilm"), name="minilm")


@pytest.fixture(scope="session")
def minilm_fp32() -> Path:
    """The same model in float32, for torch."""
    return fetch_model("minilm-fp32")
