"""What tells one state of a corpus from another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

PIECE = 1 << 20


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 of files and of the names they go by, in hexadecimal."""
    whole = hashlib.sha256()
    for name, path in files:
        whole.update(f"{name} {path.stat().st_size}\n".encode())
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                whole.update(piece)
    return whole.hexdigest()
