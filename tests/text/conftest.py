"""The models, fetched once for all tests; a second process waits for the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from long_form import FULL
from maxsieve.text import OnnxEncoder, fetch_model

_WITH_TORCH = (
    "test_encoding_equality",
    "test_multi_vector",
    "test_colbert_export",
    "tiny_checkpoints",
    "random_models",
)
collect_ignore = [] if FULL else [f"{name}.py" for name in _WITH_TORCH]


@pytest.fixture(scope="session")
def minilm() -> OnnxEncoder:
    """The default encoder."""
    return OnnxEncoder(fetch_model("minilm"), name="minilm")


@pytest.fixture(scope="session")
def minilm_fp32() -> Path:
    """The same model in float32, for torch."""
    return fetch_model("minilm-fp32")
