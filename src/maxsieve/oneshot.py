"""Scoring without an index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import describe_invalid, is_array, read_documents, to_float32, to_matrix, to_numpy, to_query
from maxsieve.common.threads import thread_count
from maxsieve.hits import Hits
from maxsieve.index import Index
from maxsieve.policies import Policy
from maxsieve.storage.segments import to_offsets


def maxsim(
    queries: Any,
    documents: Any,
    *,
    query_mask: Any = None,
    document_mask: Any = None,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Canonical scores [queries, documents] of everything against everything, without an index.

    queries, documents
        a list of [T, d] (or [L, d]) arrays, a padded [N, T, d] array with a mask or without, or one [T, d] array, which
        counts as one. An empty document scores ``-inf``; an empty query is an error.

    >>> import numpy as np
    >>> maxsim(np.eye(2), [np.eye(2), 3 * np.eye(2), np.zeros((0, 2))]).tolist()
    [[2.0, 6.0, -inf]]
    """
    threads = thread_count(threads)
    query_rows, query_lengths = _gather(queries, query_mask, "query", None)
    if not query_lengths.size:
        raise ValueError("there is no query")
    rows, lengths = _gather(documents, document_mask, "document", query_rows.shape[1])
    ends = to_offsets(query_lengths)
    each = [
        to_query(query_rows[ends[i] : ends[i + 1]], f"query {i}", rows.shape[1], cosine=False)
        for i in range(len(query_lengths))
    ]
    offsets = to_offsets(lengths)
    if (row := _core.first_invalid_row(rows)) >= 0:
        document = int(np.searchsorted(offsets, row, side="right")) - 1
        raise ValueError(describe_invalid(rows[row], f"document {document}, row {row - int(offsets[document])}"))
    corpus = _core.Corpus(rows.shape[1], (_core.Segment(rows, offsets),))
    return _core.score(corpus, each, threads)


def rerank(query: Any, docs: Any, k: int = 10, *, policy: Policy | None = None) -> Hits:
    """The k best of some documents, once, without keeping an index; ids are their places in ``docs``, from 0.

    >>> rerank([[0.0, 1.0]], [[[1.0, 0.0]], [[0.0, 1.0]]], k=1).ids
    [1]
    """
    dim = to_matrix(query, "query").shape[1]
    index = Index.create(dim)
    index.add_documents(read_documents(docs, None, None, dim, lambda i: f"document {i}"), None)
    return index.search(query, k, policy=policy)


def _gather(arrays: Any, mask: Any, what: str, dim: int | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All rows end to end, and their numbers."""
    if is_array(arrays) and (arrays := to_numpy(arrays, what)).ndim == 2:
        if mask is not None:
            raise ValueError(f"{what}_mask goes with a padded array of three dimensions")
        arrays = [arrays]
    batches = list(read_documents(arrays, None, mask, dim, lambda i: f"{what} {i}").batches)
    if not batches:
        return np.zeros((0, dim or 1), np.float32), np.zeros(0, np.int64)
    rows = np.concatenate([to_float32(array) for batch in batches for array in batch.arrays])
    return rows, np.concatenate([batch.lengths for batch in batches])
