"""A tiny model, a collection of four documents, and a service with it that many tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.tiny_model import write_tiny_model
from long_form import FULL
from maxsieve import Collection
from maxsieve.text import OnnxEncoder
from service.support import ANIMALS, YEARS, Served, serving

collect_ignore = [] if FULL else ["test_fuzz.py"]  # it imports schemathesis


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    """A model that takes no time."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_model(folder)
    return OnnxEncoder(folder)


def make_docs(path: Path, encoder: OnnxEncoder) -> Path:
    """The collection."""
    with Collection.create(path, encoder) as collection:
        collection.add(ANIMALS.values(), ANIMALS, [{"year": year} for year in YEARS.values()])
    return path


@pytest.fixture
def docs(tmp_path: Path, encoder: OnnxEncoder) -> Path:
    """A collection that a test may change."""
    return make_docs(tmp_path / "docs", encoder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, encoder: OnnxEncoder) -> Iterator[Served]:
    """A service that no test changes."""
    path = make_docs(tmp_path_factory.mktemp("shared") / "docs", encoder)
    with serving(encoder, {"docs": path}) as served:
        yield served
