"""Files of `torch.save`: a flat tensor, a list of one tensor for each document, or a dict of tensors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from maxsieve.arrays import FloatArray
from maxsieve.common.files import PathLike, open_regular
from maxsieve.common.optional import optional
from maxsieve.exchange.files import Names, bfloat16_rows, choose, naming_content_errors
from maxsieve.exchange.sidecars import IDS, beside, find_lengths, given_ids, given_lengths, ids_beside, lengths_beside
from maxsieve.exchange.vectors import TokenVectors


def read_pt(path: PathLike, *, lengths: Any = None, ids: Any = None, names: Names | None = None) -> TokenVectors:
    """The token vectors of a ``.pt`` file, which may contain only tensors: it is loaded with ``weights_only=True``.

    A flat tensor [tokens, d] is memory-mapped, with lengths as for `read_npy`. A list of tensors is concatenated, which
    copies; each tensor is a document unless lengths are given. A dict is treated like the arrays of `read_npz`, by
    ``names``. bfloat16 stays as it is if ml_dtypes is installed, and is copied to float32 otherwise. Files of torch
    before 1.6 are copied.

    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save([torch.ones(2, 3), torch.zeros(1, 3)], f"{folder}/documents.pt")
    ...     read_pt(f"{folder}/documents.pt").lengths
    array([2, 1])
    """
    lengths, ids = given_lengths(lengths), given_ids(ids)
    if ids is None:
        ids = ids_beside(beside(path, IDS))
    loaded = load(path)
    with naming_content_errors(path):
        if isinstance(loaded, dict):
            rows_name, lengths_name, ids_name = choose([key for key in loaded if isinstance(key, str)], names)
            if lengths is None and lengths_name is not None:
                lengths = loaded[lengths_name]
            if ids is None and ids_name is not None:
                ids = loaded[ids_name]
            loaded = loaded[rows_name]
        if isinstance(loaded, (list, tuple)):
            pieces = [to_array(each, f"tensor {i}") for i, each in enumerate(loaded)]
            if lengths is None and find_lengths(path) is None:
                lengths = [len(each) for each in pieces]
            rows = _join(pieces)
        else:
            rows = to_array(loaded, "its content")
        return TokenVectors(rows, lengths_beside(path) if lengths is None else lengths, ids)


def load(path: PathLike) -> Any:
    """The contents of a file of `torch.save`: tensors, lists and dicts, never code; memory-mapped if possible."""
    torch = optional("torch", package="torch>=2.1")
    with open_regular(path, follow_links=True) as file:
        mapped = file.read(4) == b"PK\3\4"
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as problem:  # a damaged file may fail anywhere in torch
        reason = str(problem).partition("\n")[0]
        raise ValueError(
            f"{os.fspath(path)} is not a file of tensors that torch can load safely: {reason}"
        ) from problem


def to_array(tensor: Any, what: str) -> FloatArray:
    """A tensor [tokens, d] as a NumPy array, without copying."""
    torch = optional("torch", package="torch>=2.1")
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what} must be a tensor [tokens, d], not {type(tensor).__name__}")
    if tensor.ndim != 2:
        raise ValueError(f"{what} must have two dimensions [tokens, d], not shape {tuple(tensor.shape)}")
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return bfloat16_rows(tensor.view(torch.int16).numpy().view(np.uint16))
    try:
        array: FloatArray = tensor.numpy()
    except (TypeError, RuntimeError) as problem:
        raise TypeError(f"{what} is not a plain tensor: {problem}") from None
    return array


def to_tensor(rows: FloatArray) -> Any:
    """Rows as a tensor, which may share their memory."""
    torch = optional("torch", package="torch>=2.1")
    rows = np.ascontiguousarray(rows)
    rows = rows if rows.flags.writeable else rows.copy()
    if rows.dtype.name == "bfloat16":
        return torch.from_numpy(rows.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(rows)


def _join(pieces: list[FloatArray]) -> FloatArray:
    if not pieces:
        raise ValueError("the list of tensors is empty, so the dimension is unknown")
    for i, piece in enumerate(pieces):
        if piece.shape[1] != pieces[0].shape[1]:
            raise ValueError(
                f"tensor {i} has vectors of {piece.shape[1]} dimensions, but those before have {pieces[0].shape[1]}"
            )
    return np.concatenate(pieces)
