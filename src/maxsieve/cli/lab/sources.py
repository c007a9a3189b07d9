"""Corpora by path or by name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxsieve.lab.source import Source

CORPORA = "MAXSIEVE_CORPORA"


def require_extra() -> None:
    """Says at once what is missing, not after an hour of encoding."""
    from maxsieve.common.optional import optional

    for module in ("matplotlib", "scipy"):
        optional(module, "lab")


def open_sources(names: Iterable[str], encoder: str, dim: int, *, progress: bool) -> list[Source]:
    """The corpora, read; results are named after them, so that no two may have the same name."""
    require_extra()
    from maxsieve.lab.source import Source

    found: dict[str, Source] = {}
    for name in dict.fromkeys(names):
        source = Source.of(locate(name), encoder=encoder, dim=dim, progress=progress)
        if source.name in found:
            raise ValueError(f"{name} is the second corpus called {source.name!r}: run them one by one")
        found[source.name] = source
    return list(found.values())


def locate(name: str) -> str:
    """A path as it is; a bare name as a folder or ``.npz`` file in the folder that MAXSIEVE_CORPORA names, if there.

    >>> locate("./here"), locate("beir/scifact/test")
    ('./here', 'beir/scifact/test')
    """
    folder = os.environ.get(CORPORA)
    if folder and not Path(name).exists() and Path(name).name == name:
        for candidate in (Path(folder, name), Path(folder, f"{name}.npz")):
            if candidate.exists():
                return str(candidate)
    return name
