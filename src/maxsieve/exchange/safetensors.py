"""``.safetensors``: a JSON header, then numbers. Memory-mapped for reading, written document by document.

The safetensors package is not used: its NumPy reader copies, and its writer needs all rows at once. The format is
simple: 8 bytes with the header's length, the header, and the tensors without gaps. Tests compare with the package.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import PathLike, replacing
from maxsieve.exchange.files import (
    IDS,
    Mapped,
    Names,
    array_at,
    bfloat16_rows,
    map_file,
    named_vectors,
    naming_content_errors,
)
from maxsieve.exchange.sidecars import dump_list, given_ids, given_lengths
from maxsieve.exchange.vectors import TokenVectors
from maxsieve.exchange.write_source import Writable, write_source

MOST_HEADER = 100_000_000
"""The longest header that other readers accept."""

CODES = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "int64": "I64"}
TYPES = {
    **{"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"},
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
}


def read_safetensors(
    path: PathLike, *, lengths: Any = None, ids: Any = None, names: Names | None = None
) -> TokenVectors:
    """The token vectors of a ``.safetensors`` file, memory-mapped: nothing is copied.

    bfloat16 needs the package ml_dtypes to be a NumPy type; without it the rows are copied to float32, which is exact.

    lengths, ids
        values to use instead of those in the file (ids: a tensor of integers, or a JSON list in the metadata).
    names
        names of the tensors of rows, lengths and ids; by default as for `read_npz`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_safetensors(TokenVectors(np.eye(3, dtype=np.float16), [1, 2]), f"{folder}/it.safetensors")
    ...     read_safetensors(f"{folder}/it.safetensors")
    <maxsieve.exchange.TokenVectors: 2 documents, 3 tokens, dim 3, float16>
    """
    lengths, ids = given_lengths(lengths), given_ids(ids)
    data = map_file(path)
    with naming_content_errors(path):
        header, start = _read_header(data)
        metadata = header.pop("__metadata__", None) or {}
        if ids is None and names is None and isinstance(metadata, dict) and not set(IDS) & header.keys():
            text = next((metadata[name] for name in IDS if name in metadata), None)
            ids = None if text is None else _listed(text)
        return named_vectors(header, names, lengths, ids, lambda name: _tensor(data, header, name, start))


def read_tensors(path: PathLike) -> dict[str, NDArray[Any]]:
    """All tensors of a ``.safetensors`` file by name, memory-mapped."""
    data = map_file(path)
    with naming_content_errors(path):
        header, start = _read_header(data)
        return {name: _tensor(data, header, name, start) for name in header if name != "__metadata__"}


def write_safetensors(vectors: Writable, path: PathLike) -> None:
    """Writes the tensors ``lengths``, ``ids`` if they are int, and ``rows``; str ids as JSON in the metadata.

    An index is written document by document.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_safetensors(TokenVectors(np.eye(3), [1, 2], ["ä", "b"]), f"{folder}/it.safetensors")
    ...     read_safetensors(f"{folder}/it.safetensors").ids
    ['ä', 'b']
    """
    source = write_source(vectors)
    int_ids = any(isinstance(doc_id, int) for doc_id in (source.ids or [])[:1])
    # Types of 8 bytes come first, so that every tensor is aligned to its type's size.
    tensors: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {"lengths": (np.dtype("<i8"), (source.count,))}
    if int_ids:
        tensors["ids"] = (np.dtype("<i8"), (source.count,))
    tensors["rows"] = (source.dtype, (source.tokens, source.dim))
    with naming_content_errors(path), replacing(path) as file:
        metadata = None if int_ids or source.ids is None else dump_list(source.ids).decode("ascii")
        head = _make_header(tensors, metadata)
        file.write(head)
        file.write(bytes(8 * source.count))
        if int_ids:
            file.write(np.array(source.ids, "<i8").tobytes())
        lengths = source.put(file.write)
        file.seek(len(head))
        file.write(lengths.astype("<i8").tobytes())


def _make_header(tensors: dict[str, tuple[np.dtype[Any], tuple[int, ...]]], ids: str | None) -> bytes:
    header: dict[str, Any] = {} if ids is None else {"__metadata__": {"ids": ids}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": CODES[dtype.name], "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode("ascii")
    text += b" " * (-(8 + len(text)) % 64)
    if len(text) > MOST_HEADER:
        raise ValueError(f"the ids take {len(text)} bytes; this format allows {MOST_HEADER}: use another format")
    return len(text).to_bytes(8, "little") + text


def _read_header(data: Mapped) -> tuple[dict[str, Any], int]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(MOST_HEADER, len(data) - 8) or data[8:9] != b"{":
        raise ValueError("this is not a safetensors file, or it is truncated")
    try:
        header = json.loads(bytes(data[8 : 8 + size]))
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"the header is not valid JSON: {problem}") from None
    return header, 8 + size


def _tensor(data: Mapped, header: dict[str, Any], name: str, start: int) -> NDArray[Any]:
    """One tensor; its offsets are checked against the file first."""
    try:
        code, shape, (begin, end) = (header[name][field] for field in ("dtype", "shape", "data_offsets"))
        whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"the header does not describe tensor {name!r} as type, shape and offsets")
    if not isinstance(code, str) or code not in TYPES:
        raise ValueError(f"tensor {name!r} is of type {code!r}; one of {', '.join(TYPES)} is expected")
    try:
        array = array_at(data, np.dtype(TYPES[code]), tuple(shape), start + begin, start + end)
    except ValueError as problem:
        raise ValueError(f"tensor {name!r}: {problem}") from None
    return bfloat16_rows(array) if code == "BF16" else array


def _listed(text: Any) -> Any:
    try:
        listed = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise ValueError("the metadata's ids are not a JSON list")
    return listed
