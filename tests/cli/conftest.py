"""A command line with a cache of its own and a tiny model."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.support import FORKS, CommandLine, write_jsonl
from cli.tiny_model import write_tiny_model

DOCUMENTS = [
    {"_id": "fox", "title": "The fox", "text": "A red fox by the river.", "year": 1999},
    {"_id": "owl", "title": "The owl", "text": "An owl on a mountain.", "year": 2001},
    {"_id": "tea", "title": "", "text": "Green tea and blue bread.", "year": None},
]

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have been started with it ignored


@pytest.fixture(scope="session", autouse=True)
def _no_fork_is_left() -> Iterator[None]:
    yield
    FORKS.close()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that takes no time."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_model(folder)
    return folder


@pytest.fixture
def line(tmp_path: Path, tiny_model: Path) -> CommandLine:
    """The command line, in an empty folder."""
    (tmp_path / "here").mkdir()
    return CommandLine(tmp_path / "here", tiny_model, tmp_path / "cache")


@pytest.fixture
def docs(line: CommandLine) -> CommandLine:
    """The same, with a collection docs.ms of three documents."""
    write_jsonl(line.folder / "corpus.jsonl", DOCUMENTS)
    line("index", "docs.ms", "corpus.jsonl", "--dim", "0")
    return line
