"""A writer that will be killed: ``python writer.py folder n`` does operations n, n + 1, ... until then.

An operation depends only on its number and the ids in the index, so that a test can repeat it with a dict.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve.storage import disk, segments

DIM = 8
MOST = 60


class Operation(NamedTuple):
    """``ids`` are added or deleted by operation ``number``."""

    number: int
    kind: str
    ids: list[str]


class Document(NamedTuple):
    rows: NDArray[np.float32]
    record: Any


Model = dict[str, Document]
"""What an index should contain, in insertion order."""


def small_files() -> None:
    """Makes a few documents fill a segment, and few segments a compacted one: many files, merges and commits."""
    segments.BLOCK_BYTES = 40 * 4 * DIM
    disk.SMALL_BYTES = 1 << 13
    disk.LARGE_BYTES = 1 << 14


def operation(number: int, ids: list[str]) -> Operation:
    rng = random.Random(number)
    kinds = ["delete", "delete", "replace", "compact"] + (["add"] * 4 if len(ids) < MOST else ["delete"] * 4)
    kind = rng.choice(kinds) if ids else "add"
    if kind == "add":
        return Operation(number, kind, [f"ü{number}-{i}" for i in range(rng.randint(1, 12))])
    if kind == "compact":
        return Operation(number, kind, [])
    return Operation(number, kind, rng.sample(ids, rng.randint(1, min(8, len(ids)))))


def document(number: int, one: str) -> Document:
    """The document that operation ``number`` stores under an id."""
    rng = random.Random(f"{number} {one}")
    rows = np.array([[rng.gauss(0, 1) for _ in range(DIM)] for _ in range(rng.randint(0, 9))], np.float32)
    record = rng.choice([None, {"title": one, "by": number}, "ä" * rng.randint(0, 300)])
    return Document(rows.reshape(-1, DIM), record)


def follow(model: Model, what: Operation) -> Model:
    """The model after an operation."""
    after = {one: doc for one, doc in model.items() if one not in what.ids}
    if what.kind in ("add", "replace"):
        after |= {one: document(what.number, one) for one in what.ids}
    return after


def perform(index: ms.Index, what: Operation) -> None:
    """The same on an index."""
    if what.kind == "compact":
        index.compact()
    elif what.kind == "delete":
        index.delete(what.ids)
    else:
        docs = [document(what.number, one) for one in what.ids]
        metadata = [doc.record for doc in docs]
        index.add([doc.rows for doc in docs], what.ids, metadata=metadata, replace=what.kind == "replace")


def run(folder: Path, number: int) -> None:
    small_files()
    index = ms.Index.open(folder)
    while True:
        what = operation(number, index.ids)
        sys.stdout.write(f"begin {number}\n")
        sys.stdout.flush()
        perform(index, what)
        sys.stdout.write(f"done {number}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
