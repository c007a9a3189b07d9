"""ARCHITECTURE.md explains every package, and names only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()


def test_every_package_and_room_is_explained() -> None:
    source = ROOT / "src" / "maxsieve"
    rooms = [path.name for path in source.iterdir() if path.is_dir() and path.name != "__pycache__"]
    rooms += [path.stem for path in source.glob("*.py") if path.stem != "__init__"]
    rooms += [path.name for path in (source / "text").iterdir() if path.is_dir() and path.name != "__pycache__"]
    rooms += [path.name for path in (ROOT / "native").iterdir()]
    missing = [room for room in rooms if not re.search(rf"\b{re.escape(room)}\b", TEXT)]
    assert not missing


def test_every_file_that_is_named_exists() -> None:
    names = set(re.findall(r"`([\w/]+\.(?:py|cpp|hpp|md|txt))`", TEXT))
    top = list(ROOT.iterdir())
    folders = [path for path in top if path.is_dir() and "." not in path.name and path.name not in ("build", "dist")]
    there = [path.as_posix() for paths in (top, *(folder.rglob("*") for folder in folders)) for path in paths]
    assert names
    missing = [name for name in names if not any(path.endswith("/" + name) for path in there)]
    assert not missing
