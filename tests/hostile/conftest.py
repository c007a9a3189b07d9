"""The command line and the models that the tests of other rooms have."""

from __future__ import annotations

from cli.conftest import docs, line, tiny_model
from text.conftest import minilm

__all__ = ["docs", "line", "minilm", "tiny_model"]
