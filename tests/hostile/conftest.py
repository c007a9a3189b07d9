"""The command line and the models of the tests of other folders."""

from __future__ import annotations

from cli.conftest import docs, line, tiny_model
from text.conftest import minilm

__all__ = ["docs", "line", "minilm", "tiny_model"]
