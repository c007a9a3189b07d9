"""Converts token vectors to float32 rows: from NumPy, torch, ``__array__``, DLPack, nested lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import chain, islice
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core

MAX_DIM = 4096
MAX_QUERY_TOKENS = 4096
LARGEST = 2.0**50

FloatArray = NDArray[Any]
FLOAT32 = np.dtype(np.float32)
UINT16 = np.dtype(np.uint16)

BATCH_DOCUMENTS = 64
"""How many documents are processed together, if they need not be read one by one."""


class Batch(NamedTuple):
    """Consecutive documents: arrays [tokens, d] of any float type, concatenated, and the length of each document.

    A document is inside one array, or is all of it. The arrays must not change before the build ends. If ids and
    metadata (as JSON) are not known in advance, the batch contains them.
    """

    arrays: list[FloatArray]
    lengths: NDArray[np.int64]
    ids: list[str | int] | None = None
    texts: list[str | None] | None = None


class Documents(NamedTuple):
    """Documents that can be read once, their number and their dimension, if known.

    If they are ``resumable``, a build that fails keeps the documents before the failure, because the caller knows which
    ones are missing.
    """

    batches: Iterator[Batch]
    total: int | None
    dim: int | None
    resumable: bool = True


def is_array(x: Any) -> bool:
    """True for one array (of any library), False for a list, a generator or a NumPy array of objects."""
    return (hasattr(x, "__array__") or hasattr(x, "__dlpack__")) and getattr(x, "dtype", None) != np.dtype(object)


def plain(x: Any, what: str) -> NDArray[Any]:
    """Anything array-like as a NumPy array of any type; torch tensors from any device."""
    try:
        return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{what} is not a rectangular array: {problem}") from None


def to_numpy(x: Any, what: str) -> FloatArray:
    """A NumPy array of float16, bfloat16 (ml_dtypes), float32 or float64; torch's bfloat16 comes back as float32.

    >>> to_numpy([[1, 2]], "query").dtype
    dtype('float64')
    """
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array: pass the rows that are not masked, or the array and mask=")
    if isinstance(x, np.ndarray):
        array = x
    elif hasattr(x, "detach") and hasattr(x, "cpu"):
        tensor = x.detach().cpu()
        array = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    elif hasattr(x, "__array__"):
        array = np.asarray(x)
    elif hasattr(x, "__dlpack__"):
        array = np.from_dlpack(x)
    elif isinstance(x, (list, tuple)):
        try:
            array = np.array(x)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"{what} is not a rectangular array of numbers: {problem}") from None
        if array.dtype.kind in "iu":
            array = array.astype(np.float64)
    else:
        raise TypeError(f"{what} must be an array of token vectors, not {type(x).__name__}")
    if (array.dtype.kind != "f" and array.dtype.name != "bfloat16") or array.dtype.itemsize > 8:
        raise TypeError(f"{what} has dtype {array.dtype}; float16, bfloat16, float32 and float64 are accepted")
    return array


def to_matrix(x: Any, what: str, dim: int | None = None) -> FloatArray:
    """A NumPy array [tokens, d], with the given ``d``; an empty list is a document without tokens.

    >>> to_matrix([[1.0, 2.0]], "query", 2).shape
    (1, 2)
    """
    array = to_numpy(x, what)
    if array.ndim == 1 and array.size == 0 and dim is not None:
        array = array.reshape(0, dim)
    if array.ndim != 2:
        raise ValueError(f"{what} must have two dimensions [tokens, d], not shape {array.shape}")
    check_dim(array.shape[1], what, dim)
    return array


def check_dim(d: int, what: str, dim: int | None) -> None:
    """Refuses vectors of another dimension, or of a dimension that is not supported."""
    if dim is not None and d != dim:
        raise ValueError(f"{what} has vectors of {d} dimensions; {dim} are expected")
    if not 1 <= d <= MAX_DIM:
        raise ValueError(f"{what} has vectors of {d} dimensions; 1 to {MAX_DIM} are supported")


def to_float32(array: FloatArray, *, copy: bool = False) -> NDArray[np.float32]:
    """C-contiguous float32. Numbers that are too large become infinite; the later check of values refuses them."""
    if copy and type(array) is np.ndarray and array.dtype is FLOAT32:  # the usual case, in a third of the time
        copied: NDArray[np.float32] = array.copy()
        return copied
    if array.dtype == np.float32:
        return array.astype(np.float32, order="C", subok=False, copy=copy)
    # Another library may have told this thread to flush small numbers to zero, which NumPy's cast would then do.
    with np.errstate(all="ignore"), _core.DefaultFloatingPoint():
        return array.astype(np.float32, order="C", subok=False, copy=copy)


def as_buffer(array: FloatArray) -> FloatArray:
    """The array as the engine's `ingest` reads it: bfloat16 as raw bits, other byte orders converted."""
    if array.dtype is FLOAT32 or array.dtype is UINT16:  # first, because computing the name of a dtype is slow
        return array
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    return array if array.dtype.isnative else to_float32(array)


def from_buffer(array: FloatArray) -> NDArray[np.float32]:
    """The float32 values of an array from `as_buffer`, where uint16 holds the bits of bfloat16.

    >>> from_buffer(np.array([0x3F80, 0xC000], np.uint16)).tolist()
    [1.0, -2.0]
    """
    return (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else to_float32(array)


def check_mapped(arrays: Iterable[FloatArray]) -> None:
    """Raises `ValueError` if a memory-mapped file was truncated: reading the missing part would crash the process.

    It sees the mappings of this library and of NumPy, not those of other libraries.
    """
    for mapped in {id(found): found for array in arrays if (found := _mapping_of(array)) is not None}.values():
        if (size := mapped.size()) < len(mapped):
            raise ValueError(
                f"the file of these vectors was truncated: it has {size} bytes, but {len(mapped)} are mapped"
            )


def _mapping_of(array: FloatArray) -> mmap | None:
    base: Any = array.base
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap) else None


def to_query(x: Any, what: str, dim: int, *, cosine: bool, rotated: bool = False) -> NDArray[np.float32]:
    """A copy of a query for the engine: float32 [T, d], finite, normalised for cosine similarity, rotated if asked."""
    rows: NDArray[np.float32]
    if type(x) is np.ndarray and x.dtype is FLOAT32 and x.ndim == 2 and x.shape[1] == dim:  # the usual case
        rows, tokens = x.copy(), len(x)
    else:
        array = to_matrix(x, what)
        tokens, d = array.shape
        if 1 <= tokens <= MAX_QUERY_TOKENS:
            check_dim(d, what, dim)
        rows = to_float32(array, copy=True)
    if not 1 <= tokens <= MAX_QUERY_TOKENS:
        raise ValueError(f"{what} has {tokens} tokens; 1 to {MAX_QUERY_TOKENS} are supported")
    if (row := _core.first_invalid_row(rows)) >= 0:
        raise ValueError(describe_invalid(rows[row], f"{what}, row {row}"))
    if cosine:
        _core.normalise(rows)
    if rotated:
        _core.rotate(rows)
        if (row := _core.first_invalid_row(rows)) >= 0:
            raise ValueError(f"{what}, row {row} is too long for a store of residuals")
    return rows


def describe_invalid(row: NDArray[np.float32], where: str) -> str:
    """An error message that names the first invalid number of a row."""
    column = int(np.flatnonzero(~(np.abs(row) <= LARGEST))[0])
    return f"{where}, dimension {column}: {row[column]} is not a finite float32 of magnitude at most 2**50"


def read_documents(docs: Any, lengths: Any, mask: Any, dim: int | None, name: Callable[[int], str]) -> Documents:
    """Documents from any of the accepted forms. Errors call document i ``name(i)``.

    Forms: an iterable of [L, d]; a padded [N, L, d] with ``lengths`` or ``mask`` (or neither: all full); a flat
    [tokens, d] with ``lengths``; or what this function has returned before.
    """
    if isinstance(docs, Documents):
        return docs
    if lengths is not None and mask is not None:
        raise ValueError("give lengths or mask, not both")
    if not is_array(docs):
        if lengths is not None or mask is not None:
            raise ValueError("lengths and mask are only for one padded or flat array, not for a list of documents")
        if isinstance(docs, (str, bytes, dict)) or not isinstance(docs, Iterable):
            raise TypeError(f"docs must be arrays of token vectors, not {type(docs).__name__}")
        batches = _listed(docs, dim, name) if type(docs) in (list, tuple) else _one_by_one(docs, dim, name)
        return Documents(batches, len(docs) if isinstance(docs, Sized) else None, dim)
    array = to_numpy(docs, "docs")
    if array.ndim == 3:
        check_dim(array.shape[2], "docs", dim)
        if mask is not None:
            return Documents(_masked(array, _to_mask(mask, array.shape[:2])), len(array), array.shape[2])
        longest = array.shape[1]
        checked = np.full(len(array), longest, np.int64)
        if lengths is not None:
            checked = to_lengths(lengths, longest, f"docs has {longest} tokens to take from")
        if len(checked) != len(array):
            raise ValueError(f"lengths has {len(checked)} entries for {len(array)} documents")
        return Documents(_padded(array, checked), len(array), array.shape[2])
    if array.ndim != 2:
        raise ValueError(f"docs must be [N, L, d] or flat [tokens, d], not shape {array.shape}")
    if mask is not None or lengths is None:
        raise ValueError("a flat [tokens, d] array needs lengths=; put a single document into a list")
    check_dim(array.shape[1], "docs", dim)
    checked = to_lengths(lengths, len(array), f"docs has {len(array)} tokens to take from")
    if checked.sum() != len(array):
        raise ValueError(f"lengths add up to {checked.sum()}, but docs has {len(array)} rows")
    return Documents(flat_batches(array, checked), len(checked), array.shape[1])


def with_dim(documents: Documents) -> tuple[int, Documents]:
    """The dimension of documents, and the documents. If necessary it is read from the first one, which is kept."""
    if documents.dim is not None:
        return documents.dim, documents
    first = next(documents.batches, None)
    if first is None:
        raise ValueError("there are no documents, so the dimension is unknown: start with Index.create(dim)")
    dim = first.arrays[0].shape[1]
    return dim, Documents(chain([first], documents.batches), documents.total, dim)


def _listed(docs: Iterable[Any], dim: int | None, name: Callable[[int], str]) -> Iterator[Batch]:
    """Documents in a list: arrays that own their data are not copied."""
    matrices = _matrices(docs, dim, name, may_change=False)
    while arrays := list(islice(matrices, BATCH_DOCUMENTS)):
        yield Batch(arrays, np.fromiter(map(len, arrays), np.int64, len(arrays)))


def _one_by_one(docs: Iterable[Any], dim: int | None, name: Callable[[int], str]) -> Iterator[Batch]:
    """Documents from an iterator: each is copied, because the iterator may reuse its memory."""
    for rows in _matrices(docs, dim, name, may_change=True):
        yield Batch([rows], np.array([len(rows)], np.int64))


def _matrices(
    docs: Iterable[Any], dim: int | None, name: Callable[[int], str], may_change: bool
) -> Iterator[FloatArray]:
    waiting = 0  # leading empty lists: they get the dimension of the first document that has one
    for i, doc in enumerate(docs):
        # A fast path for the usual case.
        if type(doc) is np.ndarray and doc.dtype is FLOAT32 and doc.ndim == 2 and doc.shape[1] == dim:
            yield doc.copy() if may_change else doc
            continue
        if dim is None and isinstance(doc, (list, tuple)) and not doc:
            waiting += 1
            continue
        rows = to_matrix(doc, name(i), dim)
        dim = rows.shape[1]
        yield from [rows[:0]] * waiting
        waiting = 0
        stays = not may_change and (isinstance(doc, np.ndarray) or hasattr(doc, "detach"))
        yield rows if stays else to_float32(rows, copy=True)
    if waiting:
        raise ValueError(f"{name(0)} and all others are empty lists, so the dimension is unknown: give arrays [0, d]")


def _padded(array: FloatArray, lengths: NDArray[np.int64]) -> Iterator[Batch]:
    if array.flags.c_contiguous and (lengths == array.shape[1]).all():
        yield from flat_batches(array.reshape(-1, array.shape[2]), lengths)
        return
    for first in range(0, len(lengths), BATCH_DOCUMENTS):
        some = lengths[first : first + BATCH_DOCUMENTS]
        yield Batch([array[first + i, :length] for i, length in enumerate(some.tolist())], some)


def _masked(array: FloatArray, mask: NDArray[np.bool_]) -> Iterator[Batch]:
    lengths = mask.sum(axis=1, dtype=np.int64)
    if not (mask[:, 1:] > mask[:, :-1]).any():  # padding only at the end of documents
        yield from _padded(array, lengths)
        return
    for first in range(0, len(lengths), BATCH_DOCUMENTS):
        some = slice(first, first + BATCH_DOCUMENTS)
        yield Batch([array[some][mask[some]]], lengths[some])


def flat_batches(array: FloatArray, lengths: NDArray[np.int64]) -> Iterator[Batch]:
    """The documents of a flat array [tokens, d], as views of it."""
    documents = 16 * BATCH_DOCUMENTS  # a view costs nothing, whatever its size
    ends = np.concatenate([[0], np.cumsum(lengths)])
    for first in range(0, len(lengths), documents):
        some = lengths[first : first + documents]
        yield Batch([array[ends[first] : ends[first + len(some)]]], some)


def to_lengths(lengths: Any, longest: int, there: str) -> NDArray[np.int64]:
    """A checked copy of the lengths of documents; ``there`` is the end of the message if a length is too large.

    >>> to_lengths([2, 0, 1], 3, "there are only 3 rows")
    array([2, 0, 1])
    """
    array = plain(lengths, "lengths")
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"lengths must be whole numbers, one per document, not {array.dtype} of shape {array.shape}")
    if len(array) and array.min() < 0:
        raise ValueError(f"lengths[{int(array.argmin())}] is negative")
    if len(array) and array.max() > longest:
        raise ValueError(f"lengths[{int(array.argmax())}] is {array.max()}, but {there}")
    return array.astype(np.int64)


def _to_mask(mask: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    array = plain(mask, "mask")
    if array.shape != shape:
        raise ValueError(f"mask has shape {array.shape}; {shape} is expected")
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ValueError("mask must contain only true and false, or 1 and 0")
    return array.astype(np.bool_)
