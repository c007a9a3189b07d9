"""A corpus in shards and a plain index: each change is made to both, and both must have the same content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from maxsieve.arrays import read_documents
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.shard import files_of
from maxsieve.cluster.storage import ShardedStorage
from maxsieve.storage.builder import add_documents
from maxsieve.storage.metadata import to_texts
from maxsieve.storage.segments import Layout

from .local import LocalEngine

DIM = 4


def some(seed: int, count: int, dim: int = DIM) -> list[Any]:
    """Documents of 0 to 5 tokens."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, dim)).astype(np.float32) for length in rng.integers(0, 6, count)]


def put(
    folder: ShardedFolder,
    docs: Any,
    ids: list[Any],
    metadata: list[Any] | None = None,
    *,
    replace: bool = False,
    delete: Sequence[Any] = (),
) -> None:
    """`Index.add` for a corpus in shards, in this process."""
    documents = read_documents(docs, None, None, folder.manifest.dim, str)
    texts = to_texts(metadata, len(ids))
    storage = ShardedStorage(folder, LocalEngine())
    add_documents(storage, documents, ids, texts, replace=replace, delete=list(delete))


def fill(path: Path, shards: int = 3, **how: Any) -> ShardedFolder:
    """Thirteen documents, of which two were deleted and one replaced."""
    folder = ShardedFolder.create(path, Layout(DIM, **how), shards=shards)
    put(folder, some(0, 10), [f"a{i}" for i in range(10)], [f"text {i}" for i in range(10)])
    put(folder, some(1, 3), ["a10", "a11", "a12"], [None, 1, None])
    folder.delete(["a2", "a10"])
    put(folder, some(5, 1), ["a3"], [{"new": True}], replace=True)
    return folder


def content(folder: ShardedFolder) -> list[tuple[Any, ...]]:
    """All documents in insertion order: id, vectors, metadata; and their sequence numbers."""
    state = folder.snapshot.here
    live = state.live[np.argsort(state.sequence[state.live])]
    ids, found = state.ids_at(live.tolist()), state.metadata(live.tolist())
    numbers = state.sequence[live].tolist()
    assert folder.snapshot.ids_in_order() == ids
    assert set(folder.snapshot.known(ids)) == set(ids)
    assert folder.manifest.documents == len(ids)
    return [
        (one, state.vectors(int(place)).tobytes(), record, number)
        for one, place, record, number in zip(ids, live, found, numbers, strict=True)
    ]


def plain(index: ms.Index) -> list[tuple[Any, ...]]:
    """The same for an index, without sequence numbers."""
    return [(one, index.vectors(one).tobytes(), index.metadata(one)) for one in index.ids]


def files(folder: ShardedFolder) -> set[str]:
    """All files in its folder, by path."""
    return {str(path.relative_to(folder.path)) for path in folder.path.rglob("*") if path.is_file()}


def named(folder: ShardedFolder) -> set[str]:
    """The files that its version needs."""
    needed = {path for version in folder.manifest.shards for path in files_of(folder.path, version)}
    return {"cluster.json", "lock", *(str(path.relative_to(folder.path)) for path in needed)}
