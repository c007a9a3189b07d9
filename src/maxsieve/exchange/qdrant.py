"""Qdrant: reads the multivectors of a collection, one page of points at a time."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from maxsieve.arrays import to_matrix
from maxsieve.common.checks import as_count
from maxsieve.common.printable import printable
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors


def from_qdrant(
    client: Any,
    collection: str,
    vector: str | None = None,
    *,
    payload: bool | Sequence[str] = True,
    scroll_filter: Any = None,
    page: int = 64,
) -> TokenVectorChunks:
    """The multivectors of a Qdrant collection as token vectors, read by ``client.scroll``, ``page`` points at a time.

    vector
        the name of the multivector; by default the only one.
    payload
        whether payloads become metadata, or a list of the keys that do.
    scroll_filter
        which points to read, as in ``client.scroll``.

    Ids are those of the points, all int or all UUIDs (str). A point without that vector is an error; a filter on
    ``HasVectorCondition`` leaves such points out. Points that others write meanwhile may or may not be read.
    """
    page = as_count(page, "page", at_least=1)
    params = client.get_collection(collection)
    if inspect.iscoroutine(params):
        params.close()
        raise TypeError("a QdrantClient is expected, not an asynchronous one")
    origin = f"the collection {printable(collection)}"
    name, dim = _find(params.config.params.vectors, vector, origin)
    wanted = {
        "scroll_filter": scroll_filter,
        "limit": page,
        "with_payload": payload if isinstance(payload, bool) else list(payload),
        "with_vectors": [name] if name else True,
    }

    def pieces() -> Iterator[TokenVectors]:
        offset, read = None, 0
        while True:
            points, following = client.scroll(collection, offset=offset, **wanted)
            if points or not read:
                yield _piece(points, name, dim, bool(payload), origin)
            read += len(points)
            if following is None:
                return
            if following == offset or not points:
                raise ValueError(
                    f"{origin}: the page after point {offset} names itself as the next page, so reading would never end"
                )
            offset = following

    return TokenVectorChunks(pieces, None, origin)


def _find(vectors: Any, wanted: str | None, origin: str) -> tuple[str, int]:
    """The name of a multivector (empty for the one without a name), and its dimension."""
    named = vectors if isinstance(vectors, dict) else {"": vectors}
    multiple = [name for name, params in named.items() if getattr(params, "multivector_config", None) is not None]
    listed = ", ".join(map(repr, multiple)) or "none"
    if wanted is None:
        if len(multiple) != 1:
            raise ValueError(f"{origin}: which multivector? Give vector=, one of {listed}")
        (wanted,) = multiple
    if wanted not in multiple:
        kind = "has only one vector per point" if wanted in named else "does not exist"
        raise ValueError(f"{origin}: the vector {wanted!r} {kind}; the multivectors are {listed}")
    return wanted, int(named[wanted].size)


def _piece(points: Any, name: str, dim: int, payload: bool, origin: str) -> TokenVectors:
    rows = [np.empty((0, dim), np.float32)]
    for point in points:
        found = point.vector.get(name) if isinstance(point.vector, dict) else point.vector
        if found is None:
            raise ValueError(f"{origin}: point {point.id!r} has no vector {name!r}: leave it out by a scroll_filter")
        rows.append(to_matrix(found, f"{origin}, point {point.id!r}", dim).astype(np.float32))
    records = [point.payload or None for point in points] if payload else None
    lengths = np.array([len(vectors) for vectors in rows[1:]], np.int64)
    return TokenVectors(np.concatenate(rows), lengths, [point.id for point in points], records)
