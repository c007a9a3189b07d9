"""Converts torch tensors for the engine: of any number type and device, padded or in lists; copied only if necessary.

All adapters that score tensors use it. A tensor in main memory is read in place, bfloat16 as raw bits. Gradients are
not supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import Batch, FloatArray, check_dim, from_buffer, to_numpy
from maxsieve.common.optional import optional
from maxsieve.scoring import score_batches

torch: Any = optional("torch", package="torch>=2.1")

READ_IN_PLACE = {torch.float16, torch.float32, torch.float64}
NO_SIGN = 0x7FFF
"""All bits of a bfloat16 number except the sign."""


def to_array(x: Any, what: str) -> FloatArray:
    """A tensor, an array or nested lists as a NumPy array, without a copy if possible; bfloat16 as uint16.

    >>> to_array(torch.tensor([[1.0]], dtype=torch.bfloat16, requires_grad=True), "query")
    array([[16256]], dtype=uint16)
    """
    if isinstance(x, torch.Tensor):
        if x.dtype is torch.bfloat16:
            bits: NDArray[np.uint16] = x.detach().view(torch.int16).numpy(force=True).view(np.uint16)
            return bits
        array: FloatArray = (x if x.dtype in READ_IN_PLACE else x.float()).numpy(force=True)
        return array
    if isinstance(x, (list, tuple)) and x and isinstance(x[0], torch.Tensor):
        return to_array(torch.stack(tuple(x)), what)
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu":  # vectors that were quantised
        return x.astype(np.float32)
    return to_numpy(x, what)


def to_rows(embeddings: Any, mask: Any = None, *, what: str, zeros_are_padding: bool = False) -> list[FloatArray]:
    """One [tokens, d] array per text: from a list, a padded [N, L, d], or one [L, d], which is a single text.

    mask
        [N, L], or [1, L] for all; for a list also one mask per text. Masked rows are left out.
    zeros_are_padding
        rows of zeros are left out as well, with or without a mask.

    >>> rows = to_rows(torch.ones(2, 3, 1), torch.tensor([[1, 1, 0], [0, 1, 0]]), what="document")
    >>> [len(one) for one in rows]
    [2, 1]
    """
    if isinstance(embeddings, (list, tuple)):
        rows = [to_array(embedding, what) for embedding in embeddings]
    else:
        whole = to_array(embeddings, what)
        if whole.ndim not in (2, 3):
            raise ValueError(f"{what}s must be [N, L, d], one [L, d] or a list of those, not of shape {whole.shape}")
        rows = list(whole) if whole.ndim == 3 else [whole]
    if (wrong := next((i for i, vectors in enumerate(rows) if vectors.ndim != 2 and vectors.size), None)) is not None:
        raise ValueError(f"{what} {wrong} must be [tokens, d], not of shape {rows[wrong].shape}")
    if mask is not None:
        rows = [_kept(vectors, left) for vectors, left in zip(rows, _to_masks(mask, rows, what), strict=True)]
    return [_kept(vectors, nonzero_rows(vectors)) for vectors in rows] if zeros_are_padding else rows


def nonzero_rows(array: FloatArray) -> NDArray[np.bool_]:
    """A mask of the rows that are not all zero. For most rows, the first number is enough.

    >>> nonzero_rows(np.array([[0.0, 2.0], [0.0, -0.0], [1.0, 0.0]])).tolist()
    [True, False, True]
    """
    if not array.size:
        return np.zeros(len(array), np.bool_)
    found: NDArray[np.bool_] = _magnitude(array[:, 0]) != 0
    if not found.all():
        found[~found] = _magnitude(array[~found]).any(axis=1)
    return found


def without_padding(rows: list[FloatArray]) -> list[FloatArray]:
    """Removes rows of zeros from texts that begin or end with one. Other texts have no padding, and stay as they are.

    >>> [one.tolist() for one in without_padding([np.array([[1.0], [0.0]]), np.array([[1.0], [0.0], [2.0]])])]
    [[[1.0]], [[1.0], [0.0], [2.0]]]
    """
    return [vectors if _begins_and_ends(vectors) else _kept(vectors, nonzero_rows(vectors)) for vectors in rows]


def _begins_and_ends(array: FloatArray) -> bool:
    """Whether neither the first nor the last row is all zero. Usually their first numbers decide."""
    if not array.size:
        return False
    bits = array.dtype == np.uint16
    for row in (0, -1):
        first = array.item(row * array.shape[1])
        if not (first & NO_SIGN if bits else first) and not _magnitude(array[row]).any():
            return False
    return True


def _magnitude(array: FloatArray) -> FloatArray:
    return array & NO_SIGN if array.dtype == np.uint16 else array


def _kept(array: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """The selected rows; a view if they are the first rows of the array."""
    if kept.all():
        return array
    count = int(kept.sum())
    return array[:count] if kept[:count].all() else array[kept]


def _to_masks(mask: Any, rows: list[FloatArray], what: str) -> list[NDArray[np.bool_]]:
    """One mask for each text."""
    longest = max(map(len, rows), default=0)
    if isinstance(mask, (list, tuple)):
        masks = [np.asarray(_to_flags(flags, what)) for flags in mask]
    else:
        flags = _to_flags(mask, what)
        flags = flags[None] if flags.ndim == 1 else flags
        if flags.ndim != 2 or flags.shape[1] != longest:
            raise ValueError(f"the mask of the {what}s has shape {flags.shape}; the longest has {longest} tokens")
        masks = list(np.broadcast_to(flags, (len(rows), longest)) if len(flags) == 1 else flags)
    if len(masks) != len(rows):
        raise ValueError(f"there are {len(masks)} masks for {len(rows)} {what}s")
    short = next((i for i, (flags, row) in enumerate(zip(masks, rows, strict=True)) if len(flags) < len(row)), None)
    if short is not None:
        raise ValueError(f"the mask of {what} {short} has {len(masks[short])} entries for {len(rows[short])} tokens")
    return [flags[: len(row)] for flags, row in zip(masks, rows, strict=True)]


def _to_flags(mask: Any, what: str) -> NDArray[np.bool_]:
    given = np.asarray(from_buffer(array) if (array := _plain(mask)).dtype == np.uint16 else array)
    flags: NDArray[np.bool_] = given != 0
    if not (given[flags] == 1).all():
        raise ValueError(f"the mask of the {what}s has entries other than 0 and 1; weights are not supported")
    return flags


def _plain(mask: Any) -> NDArray[Any]:
    if isinstance(mask, torch.Tensor) and mask.is_floating_point():
        return to_array(mask, "mask")
    plain: NDArray[Any] = mask.detach().cpu().numpy() if isinstance(mask, torch.Tensor) else np.asarray(mask)
    return plain


def score(queries: Sequence[FloatArray], documents: Sequence[FloatArray], *, empty: float) -> NDArray[np.float32]:
    """Canonical scores [queries, documents] of rows from `to_rows`; ``empty`` for a document without tokens.

    A query without tokens scores 0 everywhere: an empty sum.

    >>> score([np.ones((1, 2))], [np.ones((2, 2)), np.zeros((0, 2))], empty=-1.0).tolist()
    [[2.0, -1.0]]
    """
    scores = np.zeros((len(queries), len(documents)), np.float32)
    asked = [i for i, query in enumerate(queries) if len(query)]
    there = [i for i, document in enumerate(documents) if len(document)]
    if asked and there:
        dim = queries[asked[0]].shape[1]
        for i in there:
            if documents[i].shape[1] != dim:
                check_dim(documents[i].shape[1], f"document {i}", dim)
        arrays = [documents[i] for i in there] if len(there) < len(documents) else list(documents)
        batch = Batch(arrays, np.fromiter(map(len, arrays), np.int64, len(arrays)))
        found = score_batches([from_buffer(queries[i]) for i in asked], [batch])
        if len(asked) == len(queries) and len(there) == len(documents):
            return found
        scores[np.ix_(asked, there)] = found
    scores[:, [i for i in range(len(documents)) if not len(documents[i])]] = empty
    return scores


def device_of(embeddings: Any) -> Any:
    """The device of a tensor, or of the first tensor in a list; None for anything else."""
    first = embeddings[0] if isinstance(embeddings, (list, tuple)) and embeddings else embeddings
    return first.device if isinstance(first, torch.Tensor) else None
