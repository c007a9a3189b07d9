"""Collections as an attacker would write them: any value anywhere, with right checksums."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hostile.support import change_manifest
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder

FABLES = {
    "fox": "The fox and the grapes",
    "crow": "The fox and the crow: a fox that flatters",
    "hare": "The hare and the tortoise",
    "lion": "The lion and the mouse",
}


def make_collection(folder: Path, dim: int | None = None) -> Path:
    """A collection of four fables, closed again. With a ``dim``, it has a projection."""
    projection = None if dim is None else np.linalg.qr(np.random.default_rng(3).standard_normal((16, 16)))[0][:, :dim]
    with Collection.create(folder, WordEncoder(), dim=dim, projection=projection) as collection:
        collection.add(FABLES.values(), FABLES, [{"title": name} for name in FABLES])
    return folder


def rewrite_description(collection: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes collection.json, which has no checksum."""
    path = collection / "collection.json"
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content))


def rewrite_records(collection: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Changes the database of texts, and corrects its checksum."""
    [path] = (collection / "index").glob("*.records")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    change(connection)
    connection.close()
    crc = zlib.crc32(path.read_bytes())
    change_manifest(collection / "index", lambda content: content["parts"][0].update(records_crc=crc))


def sentinels(folder: Path) -> Callable[[], None]:
    """Makes files and folders, and returns a check that they are unchanged."""
    (folder / "photos" / "2024").mkdir(parents=True)
    (folder / "photos" / "2024" / "cat.jpg").write_bytes(b"a cat")
    (folder / "empty").mkdir()
    (folder / "letter.txt").write_text("dear reader")
    before = snapshot_of(folder)
    return lambda: _same(before, snapshot_of(folder))


def snapshot_of(folder: Path) -> dict[str, bytes | str | None]:
    """Every name below a folder, with the bytes of files and the targets of links, which are not followed."""
    found: dict[str, bytes | str | None] = {}
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(folder))] = content
    return found


def _same(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert before.keys() <= after.keys(), f"gone: {sorted(before.keys() - after.keys())}"
    assert after.keys() <= before.keys(), f"new: {sorted(after.keys() - before.keys())}"
    assert before == after, "contents have changed"
