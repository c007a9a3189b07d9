"""A collection's folder comes into being whole or not at all: `collection.json`, written last, makes it one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import MaxsieveError
from maxsieve.index import Index
from maxsieve.storage.lock import NAME as LOCK
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.segments import Store
from maxsieve.text.record import NAME, PROJECTION, Record, write_projection, write_record

INDEX = "index"
_FILES = (NAME + ".tmp", PROJECTION, PROJECTION + ".tmp", LOCK)
"""With the index, what a creation that was killed may have left."""


def create_folder(folder: Path, record: Record, matrix: NDArray[np.float32] | None, store: Store) -> None:
    """Makes a collection without documents in a folder that is new or empty; a failure leaves it so."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; a collection needs a folder")
    made = not folder.exists()
    _check_empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with writer_lock(folder):
            _check_empty(folder)
            try:
                _discard_index(folder)
                Index.create(record.dim, path=folder / INDEX, store=store).close()
                if matrix is not None:
                    record = write_projection(folder, record, matrix)
                write_record(folder, record)
            except BaseException:
                _remove_all(folder)
                raise
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise


def _check_empty(folder: Path) -> None:
    """Refuses a folder in which there is more than a creation leaves behind that was killed."""
    if folder.exists() and any(one.name not in (INDEX, *_FILES) for one in folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; Collection.open opens a collection that is there")


def _discard_index(folder: Path) -> None:
    """Removes an index that nothing was ever added to. One with documents stays, and no other can be made there."""
    with suppress(OSError, MaxsieveError), Index.open(folder / INDEX) as index:
        index.discard_if_empty()


def _remove_all(folder: Path) -> None:
    """Removes what was made. Under the lock, which goes last."""
    _discard_index(folder)
    with suppress(OSError):
        (folder / INDEX).rmdir()
    for name in (NAME, *_FILES):
        with suppress(OSError):
            (folder / name).unlink()
