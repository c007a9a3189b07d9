"""Shared by frozen indexes of every version: how they are written, what they show, and that none has changed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import maxsieve as ms
from maxsieve.storage import disk
from maxsieve.storage.blocks import BlockFile

GOLDEN = Path(__file__).parent


def shown(index: ms.Index) -> dict[str, Any]:
    """What an index shows without a query. Numbers are hexadecimal: little-endian bytes of rows."""
    vectors = [index.vectors(one) for one in index.ids]
    return {
        "dim": index.dim,
        "ids": index.ids,
        "vectors": [array.astype(array.dtype.newbyteorder("<")).tobytes().hex() for array in vectors],
        "metadata": [index.metadata(one) for one in index.ids],
    }


def list_later() -> None:
    """From now on, `add` makes no lists, as when the indexes were frozen. Their last segments have none."""
    disk.DiskStorage.listed = lambda _, segments: [one.entry for one in segments]  # type: ignore[method-assign]


def freeze(
    version: str, makers: Mapping[str, Callable[[Path], ms.Index]], answers: Callable[[ms.Index], list[Any]]
) -> None:
    """Writes indexes and, for each, what it must show and answer: to the named folder, or to this one."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN / version
    disk.SMALL_BYTES = 0  # otherwise the segments would be merged into one
    list_later()
    secrets.token_hex = lambda nbytes=None: "0123456789abcdef"  # the same files every time
    for name, make in makers.items():
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        index = make(path)
        index.verify()
        wanted = {**shown(index), "answers": answers(index)}
        (folder / f"{name}.json").write_text(json.dumps(wanted, indent=1) + "\n")
        index.close()
        (path / "lock").unlink()


def check_form(script: str, indexes: Iterable[Path], folder: Path) -> None:
    """The script writes today what is frozen, except for the page layout of another SQLite."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(GOLDEN / script), str(folder)], check=True, env=environment, timeout=120)
    for frozen in indexes:
        written = folder / frozen.name
        assert sorted(os.listdir(frozen)) == sorted(os.listdir(written))
        assert frozen.with_suffix(".json").read_text() == written.with_suffix(".json").read_text()
        manifests = [json.loads((path / "manifest.json").read_text()) for path in (frozen, written)]
        for manifest in manifests:
            del manifest["checksum"]
            for part in manifest["parts"]:
                del part["records_crc"]
        assert manifests[0] == manifests[1]
        for path in (path for path in frozen.iterdir() if path.suffix not in (".json", ".records")):
            assert BlockFile(path).blocks == BlockFile(written / path.name).blocks
