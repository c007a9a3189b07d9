"""Folders of flat tensors with doclens, as ColBERT and PyLate's XTR-WARP keep them: chunk after chunk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from maxsieve.common.files import PathLike, replacing, replacing_folder
from maxsieve.common.optional import optional
from maxsieve.exchange.chunkfiles import IDS, find_chunks, find_ids
from maxsieve.exchange.chunks import TokenVectorChunks
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.header import write_header
from maxsieve.exchange.npy import read_npy
from maxsieve.exchange.outgoing import Writable, outgoing
from maxsieve.exchange.pt import read_pt, to_tensor
from maxsieve.exchange.sidecars import dump_list, given_ids, load_lengths
from maxsieve.exchange.vectors import TokenVectors

Style: TypeAlias = Literal["colbert", "pylate"]

CHUNK_BYTES = 128 << 20


def read_folder(path: PathLike, *, ids: Any = None) -> TokenVectors:
    """All token vectors of a folder, as `stream_folder` finds them: one chunk is mapped, several are copied together.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/embeddings.npy", np.eye(3))
    ...     np.save(f"{folder}/doclens.npy", [1, 2])
    ...     read_folder(folder)
    <maxsieve.exchange.TokenVectors: 2 documents, 3 tokens, dim 3, float64>
    """
    return stream_folder(path, ids=ids).joined()


def stream_folder(path: PathLike, *, ids: Any = None) -> TokenVectorChunks:
    """The token vectors of a folder, each chunk mapped when its turn comes.

    Any of these: ``0.pt`` and ``doclens.0.json``, ``1.pt`` and so on (ColBERT; ``.npy`` too); ``NAME_0.npy`` and
    ``NAME_0.doclens.npy`` and so on (PyLate's XTR-WARP); one ``.npy`` or ``.pt`` file and ``doclens.npy`` or
    ``doclens.json``. Lengths of other names are found as by `read_npy`.

    ids
        of all documents, or the file that has them; by default ``ids.json``, or ``NAME.ids.json`` beside each chunk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folder(TokenVectors(np.eye(3), [1, 1, 1]), f"{folder}/it", chunk_bytes=24)
    ...     chunks = stream_folder(f"{folder}/it")
    ...     [len(chunk) for chunk in chunks.chunks()], chunks.build().ids
    ([1, 1, 1], [0, 1, 2])
    """
    files = find_chunks(Path(path))
    known = given_ids(ids)
    if known is None:
        known = find_ids(Path(path), [file for file, _ in files])

    def chunks() -> Iterator[TokenVectors]:
        for file, doclens in files:
            lengths = load_lengths(doclens)
            yield read_npy(file, lengths=lengths) if file.suffix == ".npy" else read_pt(file, lengths=lengths)

    return TokenVectorChunks(chunks, known, os.fspath(path))


def write_folder(vectors: Writable, path: PathLike, *, style: Style = "pylate", chunk_bytes: int = CHUNK_BYTES) -> None:
    """Writes a folder, which must not exist or be empty, chunk by chunk; ids go into ``ids.json``.

    style
        ``"pylate"``: ``embeddings_0.npy`` and ``embeddings_0.doclens.npy``, and so on; ``"colbert"``: ``0.pt`` and
        ``doclens.0.json``, which needs torch.
    chunk_bytes
        the size of a chunk, which is held in memory; a longer document is a chunk of its own.
    """
    if style not in get_args(Style):
        raise ValueError(f"style must be {' or '.join(map(repr, get_args(Style)))}, not {style!r}")
    torch = optional("torch", "torch") if style == "colbert" else None
    source = outgoing(vectors)
    with naming_content_errors(path), replacing_folder(path) as folder:
        for i, block in enumerate(source.blocks(chunk_bytes)):
            if torch is not None:
                with replacing(folder / f"{i}.pt") as file:
                    torch.save(to_tensor(block.rows), file)
                with replacing(folder / f"doclens.{i}.json") as file:
                    file.write(dump_list(block.lengths.tolist()))
            else:
                for name, array in (("", block.rows), (".doclens", block.lengths)):
                    with replacing(folder / f"embeddings_{i}{name}.npy") as file:
                        write_header(file, array.dtype, array.shape)
                        file.write(np.ascontiguousarray(array).data)
        if source.ids is not None:
            with replacing(folder / IDS) as file:
                file.write(dump_list(source.ids))
