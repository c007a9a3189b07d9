"""Folders of flat tensors with doclens, in chunks, as written by ColBERT and PyLate's XTR-WARP.

The names of files decide which files are chunks, in which order, and where their lengths and ids are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from maxsieve.common.checks import check_choice
from maxsieve.common.files import PathLike, replacing, replacing_folder
from maxsieve.common.optional import optional
from maxsieve.exchange import sidecars
from maxsieve.exchange.files import naming_content_errors
from maxsieve.exchange.header import write_header
from maxsieve.exchange.npy import read_npy
from maxsieve.exchange.pt import read_pt, to_tensor
from maxsieve.exchange.sidecars import beside, dump_list, find_lengths, given_ids, ids_beside, load_lengths
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors
from maxsieve.exchange.write_source import Writable, write_source
from maxsieve.ids import Id

Style: TypeAlias = Literal["colbert", "pylate"]

CHUNK_BYTES = 128 << 20
NUMBERED = re.compile(r"[0-9]+\.(pt|npy)")
CODES = re.compile(r"[0-9]+\.(codes|residuals)\.(pt|npy)")
DOCLENS = ("doclens.npy", "doclens.json", "lengths.npy")
IDS = "ids.json"
DIGITS = "0123456789"


def read_folder(path: PathLike, *, ids: Any = None) -> TokenVectors:
    """All token vectors of a folder, as in `stream_folder`. One chunk is memory-mapped; several are copied.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/embeddings.npy", np.eye(3))
    ...     np.save(f"{folder}/doclens.npy", [1, 2])
    ...     read_folder(folder)
    <maxsieve.exchange.TokenVectors: 2 documents, 3 tokens, dim 3, float64>
    """
    return stream_folder(path, ids=ids).joined()


def stream_folder(path: PathLike, *, ids: Any = None) -> TokenVectorChunks:
    """The token vectors of a folder. Each chunk is memory-mapped when it is needed.

    The folder may contain: ``0.pt`` and ``doclens.0.json``, ``1.pt`` and so on (ColBERT; ``.npy`` too); ``NAME_0.npy``
    and ``NAME_0.doclens.npy`` and so on (PyLate's XTR-WARP); one ``.npy`` or ``.pt`` file and ``doclens.npy`` or
    ``doclens.json``. Lengths in files with other names are found as in `read_npy`.

    ids
        ids of all documents, or the file with them; by default ``ids.json``, or ``NAME.ids.json`` beside each chunk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folder(TokenVectors(np.eye(3), [1, 1, 1]), f"{folder}/it", chunk_bytes=24)
    ...     chunks = stream_folder(f"{folder}/it")
    ...     [len(chunk) for chunk in chunks.chunks()], chunks.build().ids
    ([1, 1, 1], [0, 1, 2])
    """
    files = _find_chunks(Path(path))
    known = given_ids(ids)
    if known is None:
        known = _find_ids(Path(path), [file for file, _ in files])

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
        the size of a chunk, which is held in memory; a longer document gets its own chunk.
    """
    check_choice(style, "style", get_args(Style))
    torch = optional("torch", package="torch>=2.1") if style == "colbert" else None
    source = write_source(vectors)
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


def _find_chunks(folder: Path) -> list[tuple[Path, Path]]:
    """The files of rows in order, each with the file of its lengths."""
    tensors = [each for each in sorted(folder.iterdir()) if each.suffix in (".pt", ".npy") and each.is_file()]
    if chunks := [each for each in tensors if NUMBERED.fullmatch(each.name)]:
        for chunk in chunks:
            if find_lengths(chunk) is None:
                raise ValueError(f"{folder}: {chunk.name} has no doclens.{chunk.stem}.json")
    if paired := [(each, found) for each in chunks or tensors if (found := find_lengths(each))]:
        return paired if len(paired) == 1 and not chunks else _ordered(paired, folder)
    doclens = next((folder / name for name in DOCLENS if (folder / name).is_file()), None)
    alone = [each for each in tensors if each != doclens]
    if doclens is not None and len(alone) == 1:
        return [(alone[0], doclens)]
    if any(CODES.fullmatch(each.name) for each in tensors):
        raise ValueError(
            f"{folder} contains the codes of a compressed index, from which vectors can't be restored exactly"
        )
    raise ValueError(
        f"{folder} does not contain flat tensors with doclens (0.pt and doclens.0.json, NAME_0.npy and "
        "NAME_0.doclens.npy, or one tensor and doclens.npy); to open an index, use Index.open"
    )


def _ordered(paired: list[tuple[Path, Path]], folder: Path) -> list[tuple[Path, Path]]:
    """Chunks in order of their numbers, which must have one common name and be consecutive."""
    name = paired[0][0].stem.rstrip(DIGITS)
    numbered: dict[int, tuple[Path, Path]] = {}
    for pair in paired:
        number = pair[0].stem[len(name) :]
        if not pair[0].stem.startswith(name) or not number or number.strip(DIGITS):
            other = paired[1] if pair is paired[0] else pair
            raise ValueError(f"{folder} contains {paired[0][0].name} and {other[0].name}: read one file or the other")
        if int(number) in numbered:
            raise ValueError(f"{folder} contains chunk {int(number)} twice")
        numbered[int(number)] = pair
    start = min(numbered) if name else 0
    for expected in range(start, start + len(numbered)):
        if expected not in numbered:
            raise ValueError(f"{folder}: chunk {expected} is missing")
    return [numbered[number] for number in sorted(numbered)]


def _find_ids(folder: Path, files: list[Path]) -> list[Id] | None:
    """The ids of all documents: from one file, or from one file beside each chunk."""
    if (all_of_them := ids_beside(folder / IDS)) is not None:
        return all_of_them
    parts = [ids_beside(beside(file, sidecars.IDS)) for file in files]
    if all(part is None for part in parts):
        return None
    for file, part in zip(files, parts, strict=True):
        if part is None:
            raise ValueError(
                f"{folder}: {file.name} has no {beside(file, sidecars.IDS).name}, but other chunks have one"
            )
    return [doc_id for part in parts for doc_id in part or []]
