"""Which files of a folder are chunks of flat tensors, in which order, and where their lengths and ids are."""

from __future__ import annotations

import re
from pathlib import Path

from maxsieve.exchange import sidecars
from maxsieve.exchange.sidecars import beside, find_lengths, ids_beside
from maxsieve.ids import Id

NUMBERED = re.compile(r"[0-9]+\.(pt|npy)")
CODES = re.compile(r"[0-9]+\.(codes|residuals)\.(pt|npy)")
DOCLENS = ("doclens.npy", "doclens.json", "lengths.npy")
IDS = "ids.json"
DIGITS = "0123456789"


def find_chunks(folder: Path) -> list[tuple[Path, Path]]:
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
        raise ValueError(f"{folder} holds the codes of a compressed index, from which vectors can't be had exactly")
    raise ValueError(
        f"{folder} holds no flat tensors with doclens that can be told (0.pt and doclens.0.json, NAME_0.npy and "
        "NAME_0.doclens.npy, or one tensor and doclens.npy); an index is opened with Index.open"
    )


def _ordered(paired: list[tuple[Path, Path]], folder: Path) -> list[tuple[Path, Path]]:
    """Chunks by their numbers, which must belong to one name and follow each other."""
    name = paired[0][0].stem.rstrip(DIGITS)
    numbered: dict[int, tuple[Path, Path]] = {}
    for pair in paired:
        number = pair[0].stem[len(name) :]
        if not pair[0].stem.startswith(name) or not number or number.strip(DIGITS):
            other = paired[1] if pair is paired[0] else pair
            raise ValueError(f"{folder} holds {paired[0][0].name} and {other[0].name}: read one file or the other")
        if int(number) in numbered:
            raise ValueError(f"{folder} holds chunk {int(number)} twice")
        numbered[int(number)] = pair
    start = min(numbered) if name else 0
    for expected in range(start, start + len(numbered)):
        if expected not in numbered:
            raise ValueError(f"{folder}: chunk {expected} is missing")
    return [numbered[number] for number in sorted(numbered)]


def find_ids(folder: Path, files: list[Path]) -> list[Id] | None:
    """The ids of all documents: from one file, or from one beside each chunk."""
    if (all_of_them := ids_beside(folder / IDS)) is not None:
        return all_of_them
    parts = [ids_beside(beside(file, sidecars.IDS)) for file in files]
    if all(part is None for part in parts):
        return None
    for file, part in zip(files, parts, strict=True):
        if part is None:
            raise ValueError(f"{folder}: {file.name} has no {beside(file, sidecars.IDS).name}, as others have")
    return [one for part in parts for one in part or []]
