"""The ids of a segment, as blocks, in which an id is found without reading all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.storage.blocks import BlockFile, BlockWriter


def write_ids(writer: BlockWriter, ids: Sequence[Id]) -> None:
    """Writes int ids as they are, str ids as concatenated UTF-8; and their sorted order, for binary search."""
    if ids and isinstance(ids[0], str):
        encoded = [str(id).encode("utf-8", "surrogatepass") for id in ids]
        order = sorted(range(len(encoded)), key=encoded.__getitem__)
        writer.write("ids.utf8", "|u1", 1, [np.frombuffer(b"".join(encoded), np.uint8)])
        writer.write("ids.ends", "<i8", 1, [np.cumsum([len(id) for id in encoded], dtype=np.int64)])
        writer.write("ids.order", "<i8", 1, [np.array(order, np.int64)])
    else:
        numbers = np.array(ids, np.int64)
        writer.write("ids.int", "<i8", 1, [numbers])
        writer.write("ids.order", "<i8", 1, [np.argsort(numbers, kind="stable").astype(np.int64)])


class IdColumn(Sequence[Id]):
    """The ids of a segment over its mapped file, in the order of the documents."""

    kind: type

    def __init__(self, file: BlockFile, order: NDArray[np.int64]) -> None:
        self._file, self._order = file, order
        self._verified = False

    def __len__(self) -> int:
        return len(self._order)

    def find(self, id: Id) -> int | None:
        """The position of an id. Before the first id is reported as missing, `verify` checks the column."""
        if type(id) is not self.kind:
            return None
        self._file.check()
        place = self._search(id)
        if place is None and not self._verified:
            self.verify()
        return place

    def verify(self) -> None:
        """Raises an error if ids are not unique or not in sorted order: then some would not be found."""
        self._file.check()
        if not self._ascending():
            raise DamagedIndexError(f"{self._file.path} has ids that are not sorted, or the same id twice")
        self._verified = True

    def _search(self, id: Any) -> int | None:
        raise NotImplementedError

    def _ascending(self) -> bool:
        raise NotImplementedError


class IntColumn(IdColumn):
    """Int ids."""

    kind = int

    def __init__(self, file: BlockFile, order: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        super().__init__(file, order)
        self._numbers = numbers

    def __getitem__(self, i: Any) -> Any:
        return int(self._numbers[i])

    def __iter__(self) -> Iterator[Id]:
        self._file.check()
        return iter(self._numbers.tolist())

    def _search(self, id: int) -> int | None:
        place = int(np.searchsorted(self._numbers, id, sorter=self._order))
        return int(self._order[place]) if place < len(self) and self._numbers[self._order[place]] == id else None

    def _ascending(self) -> bool:
        ordered = self._numbers[self._order]
        return bool((ordered[1:] > ordered[:-1]).all())


class StrColumn(IdColumn):
    """Str ids."""

    kind = str

    def __init__(
        self, file: BlockFile, order: NDArray[np.int64], text: NDArray[np.uint8], ends: NDArray[np.int64]
    ) -> None:
        super().__init__(file, order)
        self._text, self._ends = text, ends
        self._next = 0
        """The place after the id that was found last. Passages of a document are looked up in the order they are in."""

    def __getitem__(self, i: Any) -> Any:
        return self._decode(self._bytes(i))

    def __iter__(self) -> Iterator[Id]:
        self._file.check()
        text, ends = self._text.tobytes(), self._ends.tolist()
        pairs = zip([0, *ends[:-1]], ends, strict=True) if ends else ()
        if text.isascii():  # then a letter is a byte, and all can be decoded at once
            letters = text.decode("ascii")
            return iter([letters[start:end] for start, end in pairs])
        return iter([self._decode(text[start:end]) for start, end in pairs])

    def _search(self, id: str) -> int | None:
        wanted, place = id.encode("utf-8", "surrogatepass"), self._next
        if place >= len(self) or self._bytes(place) != wanted:
            rank = bisect_left(self._order, wanted, key=lambda i: self._bytes(int(i)))
            if rank >= len(self) or self._bytes(place := int(self._order[rank])) != wanted:
                return None
        self._next = place + 1
        return place

    def _ascending(self) -> bool:
        """Compares the first eight bytes of all neighbours at once, and then the few that begin alike one by one."""
        starts = np.concatenate([[0], self._ends[:-1]])[self._order]
        lengths = self._ends[self._order] - starts
        padded = np.concatenate([self._text, np.zeros(8, np.uint8)])
        eight = np.ndarray(len(self._text) + 1, ">u8", padded.data, strides=(1,))  # the number at every byte
        before, at = np.arange(max(0, len(self) - 1)), 0
        while len(before) and at < 64:
            first, second = (_keys(eight, starts[which] + at, lengths[which] - at) for which in (before, before + 1))
            if (first > second).any():
                return False
            before, at = before[first == second], at + 8
            ended = np.maximum(lengths[before], lengths[before + 1]) <= at
            if (lengths[before] >= lengths[before + 1])[ended].any():
                return False
            before = before[~ended]
        return all(self._bytes(self._order[i]) < self._bytes(self._order[i + 1]) for i in before)

    def _decode(self, encoded: bytes) -> str:
        try:
            return encoded.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as problem:
            raise DamagedIndexError(f"{self._file.path} has an id that is not valid text: {problem}") from None

    def _bytes(self, i: int) -> bytes:
        return self._text[self._ends[i - 1] if i else 0 : self._ends[i]].tobytes()


MASKS = np.array([(2**64 - 1) >> (8 * n) << (8 * n) for n in range(8, -1, -1)], np.uint64)
"""The first n of eight bytes."""


def _keys(eight: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Eight bytes from each start on, zeros past the end, as numbers that compare as the bytes do."""
    numbers = eight[np.minimum(starts, len(eight) - 1)].astype(np.uint64)
    return numbers & MASKS[np.clip(lengths, 0, 8)]


def read_ids(file: BlockFile, documents: int) -> IdColumn:
    """The ids of a mapped segment. It is checked that every offset is inside its array, so that reading is safe."""
    order = file.array("ids.order", "<i8")
    column: IdColumn
    if "ids.int" in file.blocks:
        each = file.array("ids.int", "<i8")
        column = IntColumn(file, order, each)
    else:
        text, each = file.array("ids.utf8", "|u1"), file.array("ids.ends", "<i8")
        if documents and not (len(each) and each[0] >= 0 and each[-1] == len(text) and (np.diff(each) >= 0).all()):
            raise DamagedIndexError(f"{file.path} has ids that overlap")
        column = StrColumn(file, order, text, each)
    if {len(order), len(each)} != {documents}:
        raise DamagedIndexError(f"{file.path} does not have one id for each of its {documents} documents")
    if documents and not (order.min() >= 0 and order.max() < documents):
        raise DamagedIndexError(f"{file.path} refers to ids that do not exist")
    return column
