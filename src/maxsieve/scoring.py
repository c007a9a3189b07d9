"""Scoring without an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import (
    Batch,
    FloatArray,
    as_buffer,
    describe_invalid,
    from_buffer,
    is_array,
    read_documents,
    to_matrix,
    to_numpy,
    to_query,
)
from maxsieve.common.threads import thread_count
from maxsieve.hits import Hits
from maxsieve.index import Index
from maxsieve.policies import Policy
from maxsieve.storage.builder import add_documents
from maxsieve.storage.segments import to_offsets


def maxsim(
    queries: Any,
    documents: Any,
    *,
    query_mask: Any = None,
    document_mask: Any = None,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Canonical scores [queries, documents] of all queries against all documents, without an index.

    queries, documents
        a list of [T, d] (or [L, d]) arrays, a padded [N, T, d] array with or without a mask, or one [T, d] array, which
        is a single query or document. An empty document scores ``-inf``; an empty query is an error.

    >>> import numpy as np
    >>> maxsim(np.eye(2), [np.eye(2), 3 * np.eye(2), np.zeros((0, 2))]).tolist()
    [[2.0, 6.0, -inf]]
    """
    asked = list(_read(queries, query_mask, "query", None))
    if not asked:
        raise ValueError("there is no query")
    dim = asked[0].arrays[0].shape[1]
    each = [rows for batch in asked for rows in _split(batch)]
    return score_batches(each, _read(documents, document_mask, "document", dim), threads=threads)


def score_batches(
    queries: Iterable[FloatArray], batches: Iterable[Batch], *, threads: int | None = None
) -> NDArray[np.float32]:
    """`maxsim` of queries [T, d] and of documents that are already checked. float32 arrays are not copied.

    An array of uint16 holds the bits of bfloat16.

    >>> batch = Batch([np.array([[0x4000], [0x3F80]], np.uint16)], np.array([1, 1]))
    >>> score_batches([np.array([[3.0]])], [batch]).tolist()
    [[6.0, 3.0]]
    """
    threads = thread_count(threads)
    asked = list(queries)
    dim = asked[0].shape[1]
    each = [to_query(rows, f"query {i}", dim, cosine=False) for i, rows in enumerate(asked)]
    arrays: list[FloatArray] = []
    lengths = [np.zeros(0, np.int64)]
    for batch in batches:
        arrays += batch.arrays
        lengths.append(batch.lengths)
    offsets = to_offsets(np.concatenate(lengths))
    scores, refused = _core.score_arrays([as_buffer(array) for array in arrays], dim, offsets, each, threads)
    if refused >= 0:
        first, last = offsets[refused : refused + 2].tolist()
        rows = np.concatenate([from_buffer(array) for array in _taken(arrays, first, last)])
        row = _core.first_invalid_row(rows)
        raise ValueError(describe_invalid(rows[row], f"document {refused}, row {row}"))
    return scores


def rerank(query: Any, docs: Any, k: int = 10, *, policy: Policy | str | None = None) -> Hits:
    """The k best of these documents, without building an index first. Ids are positions in ``docs``, from 0.

    >>> rerank([[0.0, 1.0]], [[[1.0, 0.0]], [[0.0, 1.0]]], k=1).ids
    [1]
    """
    dim = to_matrix(query, "query").shape[1]
    index = Index.create(dim)
    add_documents(index.storage, read_documents(docs, None, None, dim, lambda i: f"document {i}"), None)
    return index.search(query, k, policy=policy)


def _read(arrays: Any, mask: Any, what: str, dim: int | None) -> Iterator[Batch]:
    if is_array(arrays) and (arrays := to_numpy(arrays, what)).ndim == 2:
        if mask is not None:
            raise ValueError(f"{what}_mask is only for a padded array of three dimensions")
        arrays = [arrays]
    return read_documents(arrays, None, mask, dim, lambda i: f"{what} {i}").batches


def _split(batch: Batch) -> Iterator[FloatArray]:
    """The documents of a batch, one by one."""
    if [len(array) for array in batch.arrays] == batch.lengths.tolist():
        yield from batch.arrays
        return
    for first, last in pairwise(to_offsets(batch.lengths).tolist()):
        yield np.concatenate(list(_taken(batch.arrays, first, last)))


def _taken(arrays: Iterable[FloatArray], first: int, last: int) -> Iterator[FloatArray]:
    """The rows first to last - 1 of concatenated arrays."""
    start = 0
    for array in arrays:
        if start <= last and first <= start + len(array):
            yield array[max(first - start, 0) : last - start]
        start += len(array)
