"""The ids of a segment, as blocks: found again without reading them all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile, BlockWriter


def write_ids(writer: BlockWriter, ids: Sequence[Id]) -> None:
    """Int ids as they are, str ids as UTF-8 end to end; and the order that sorts them, for binary search."""
    if ids and isinstance(ids[0], str):
        encoded = [str(one).encode("utf-8", "surrogatepass") for one in ids]
        order = sorted(range(len(encoded)), key=encoded.__getitem__)
        writer.write("ids.utf8", "|u1", 1, [np.frombuffer(b"".join(encoded), np.uint8)])
        writer.write("ids.ends", "<i8", 1, [np.cumsum([len(one) for one in encoded], dtype=np.int64)])
        writer.write("ids.order", "<i8", 1, [np.array(order, np.int64)])
    else:
        numbers = np.array(ids, np.int64)
        writer.write("ids.int", "<i8", 1, [numbers])
        writer.write("ids.order", "<i8", 1, [np.argsort(numbers, kind="stable").astype(np.int64)])


class IntColumn:
    """Int ids over a mapped file."""

    def __init__(self, numbers: NDArray[np.int64], order: NDArray[np.int64]) -> None:
        self._numbers, self._order = numbers, order

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, i: int) -> Id:
        return int(self._numbers[i])

    def to_list(self) -> list[Id]:
        """All of them."""
        return list(self._numbers.tolist())

    def find(self, one: Id) -> int | None:
        """Where an id stands."""
        if not isinstance(one, int) or not len(self):
            return None
        place = int(np.searchsorted(self._numbers, one, sorter=self._order))
        return int(self._order[place]) if place < len(self) and self._numbers[self._order[place]] == one else None


class StrColumn:
    """Str ids over a mapped file."""

    def __init__(self, path: Path, text: NDArray[np.uint8], ends: NDArray[np.int64], order: NDArray[np.int64]) -> None:
        self._path, self._text, self._ends, self._order = path, text, ends, order

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, i: int) -> Id:
        return self._decode(self._bytes(i))

    def to_list(self) -> list[Id]:
        """All of them."""
        text, ends = self._text.tobytes(), self._ends.tolist()
        pairs = zip([0, *ends[:-1]], ends, strict=True) if ends else ()
        if text.isascii():  # then a letter is a byte, and all can be decoded at once
            letters = text.decode("ascii")
            return [letters[start:end] for start, end in pairs]
        return [self._decode(text[start:end]) for start, end in pairs]

    def find(self, one: Id) -> int | None:
        """Where an id stands."""
        if not isinstance(one, str):
            return None
        wanted = one.encode("utf-8", "surrogatepass")
        place = bisect_left(self._order, wanted, key=lambda i: self._bytes(int(i)))
        return int(self._order[place]) if place < len(self) and self._bytes(int(self._order[place])) == wanted else None

    def _decode(self, encoded: bytes) -> str:
        try:
            return encoded.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as problem:
            raise DamagedIndexError(f"{self._path} has an id that is no text: {problem}") from None

    def _bytes(self, i: int) -> bytes:
        return self._text[self._ends[i - 1] if i else 0 : self._ends[i]].tobytes()


def read_ids(file: BlockFile, documents: int) -> IntColumn | StrColumn:
    """The ids of a mapped segment, checked as far as needed to be safe: every index within its array."""
    order = file.array("ids.order", "<i8")
    checks: list[tuple[NDArray[Any], int]] = [(order, documents)]
    column: IntColumn | StrColumn
    if "ids.int" in file.blocks:
        numbers = file.array("ids.int", "<i8")
        checks.append((numbers, documents))
        column = IntColumn(numbers, order)
    else:
        text, ends = file.array("ids.utf8", "|u1"), file.array("ids.ends", "<i8")
        checks.append((ends, documents))
        if documents and not (ends[0] >= 0 and ends[-1] == len(text) and (np.diff(ends) >= 0).all()):
            raise DamagedIndexError(f"{file.path} has ids that overlap")
        column = StrColumn(file.path, text, ends, order)
    if any(len(array) != count for array, count in checks):
        raise DamagedIndexError(f"{file.path} does not have one id for each of its {documents} documents")
    if documents and not (order.min() >= 0 and order.max() < documents):
        raise DamagedIndexError(f"{file.path} sorts ids that it does not have")
    return column
