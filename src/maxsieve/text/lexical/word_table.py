"""BM25's table of words on disk: one file of blocks with checksums, named by a digest of its inputs.

The name is a digest of the index's version (which identifies its documents), of the mask of documents that are not
deleted, and of the stemmer and its version. The digest is in the file as well. A calibration changes none of these. So
a table of another version, or with other stems, is never used. A table is a cache: if anything is wrong with it, it is
built again. Only files with such a name are ever removed, and links are not followed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import check_own_folder
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.blocks import BlockFile, writing_blocks
from maxsieve.storage.snapshot import Snapshot

FOLDER = "bm25"
FORMAT = 2
"""Part of the names of tables. In format 1, numbers of documents always took four bytes."""

MOST_WORD_BYTES = 1 << 30
"""Limit on the bytes of all words with their numbers: about 50 million words."""

_NAME = re.compile(r"[0-9a-f]{64}\.table(\.tmp)?")


@dataclass(frozen=True)
class WordTable:
    """What each word adds to the score of each document: ``data[indptr[w] : indptr[w + 1]]`` for word ``w``."""

    data: NDArray[np.float32]
    indices: NDArray[np.int32] | NDArray[np.uint16]
    indptr: NDArray[np.int64]
    vocabulary: dict[str, int]
    documents: int

    @classmethod
    def empty(cls, documents: int) -> WordTable:
        """A table without words."""
        return cls(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(1, np.int64), {}, documents)

    def scores(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The score of each document for these words, summed in their order, as in bm25s.

        >>> table = WordTable(np.ones(2, np.float32), np.int32([0, 2]), np.array([0, 2]), {"fox": 0}, 3)
        >>> table.scores(["fox", "owl"]).tolist()
        [1.0, 0.0, 1.0]
        """
        scores = np.zeros(self.documents, np.float32)
        for word in words:
            if (number := self.vocabulary.get(word)) is not None:
                start, end = self.indptr[number : number + 2]
                np.add.at(scores, self.indices[start:end], self.data[start:end])
        return scores

    @classmethod
    def read(cls, path: Path, documents: int) -> WordTable:
        """Reads and checks a table; `DamagedIndexError` says what is wrong."""
        check_own_folder(path.parent)
        try:
            file = BlockFile(path)
            _check_sizes(file, documents)
            file.verify(lambda _: None)
            if file.array("key", "|u1").tobytes() != path.stem.encode():
                raise DamagedIndexError(f"{path} has the digest of another table")
            table = cls(
                file.array("data", "<f4"),
                file.array("indices", "|u1").view(_numbers_of(documents)),
                file.array("indptr", "<i8"),
                json.loads(file.array("vocabulary", "|u1").tobytes()),
                documents,
            )
            table._check()
        except (OSError, ValueError, RecursionError) as problem:
            raise DamagedIndexError(f"{path} can't be read: {problem}") from None
        return table

    def write(self, path: Path) -> None:
        """Writes the file atomically."""
        vocabulary = json.dumps(self.vocabulary, separators=(",", ":")).encode()
        with writing_blocks(path) as writer:
            writer.write("key", "|u1", 1, [np.frombuffer(path.stem.encode(), np.uint8)])
            writer.write("data", "<f4", 1, [self.data])
            writer.write("indices", "|u1", 1, [self._indices_as_stored().view(np.uint8)])
            writer.write("indptr", "<i8", 1, [self.indptr])
            writer.write("vocabulary", "|u1", 1, [np.frombuffer(vocabulary, np.uint8)])

    def _indices_as_stored(self) -> NDArray[Any]:
        return np.ascontiguousarray(self.indices, _numbers_of(self.documents))

    def _check(self) -> None:
        """Raises `ValueError` for values that maxsieve never writes: every number is used as an index."""
        ends, places, words = self.indptr, self.indices, self.vocabulary
        if not len(ends) or ends[0] or ends[-1] != len(places) or len(places) != len(self.data):
            raise ValueError("its columns differ in length")
        if (np.diff(ends) < 0).any() or not np.isfinite(self.data).all():
            raise ValueError("a number is out of order")
        if len(places) and not (places.min() >= 0 and places.max() < self.documents):
            raise ValueError("it refers to a document that does not exist")
        numbers: list[Any] = [words[word] for word in words if word] if isinstance(words, dict) else [None]
        if not all(type(number) is int and 0 <= number < len(ends) - 1 for number in numbers):
            raise ValueError("its words have no numbers")  # bm25s adds the empty word, which is in no document


def _numbers_of(documents: int) -> str:
    """The type of the numbers of so many documents: two bytes are enough for most collections.

    >>> _numbers_of(65_536), _numbers_of(65_537)
    ('<u2', '<i4')
    """
    return "<u2" if documents <= 1 << 16 else "<i4"


def current_table(collection: Path, snapshot: Snapshot, made_by: list[str]) -> Path:
    """The path of the table of a version; ``made_by`` are the versions and settings of the libraries that make it."""
    made_from = json.dumps([FORMAT, made_by, snapshot.version, len(snapshot.alive)]).encode()
    digest = hashlib.sha256(made_from + np.packbits(snapshot.alive).tobytes()).hexdigest()
    return collection / FOLDER / f"{digest}.table"


def find_table(path: Path, documents: int) -> WordTable | None:
    """The table in a file, or None if there is no usable one."""
    check_own_folder(path.parent)
    try:
        return WordTable.read(path, documents)
    except MaxsieveError:
        return None


def keep_table(path: Path, table: WordTable) -> None:
    """Writes a table and removes those of other versions. If the folder is read-only, searches still work."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        check_own_folder(path.parent)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()  # only an empty folder is removed: its contents would not be ours
        table.write(path)
        for other in path.parent.iterdir():
            if _NAME.fullmatch(other.name) and other.name != path.name:
                with suppress(OSError):
                    other.unlink()


def _check_sizes(file: BlockFile, documents: int) -> None:
    """Raises `ValueError` if a block is larger than this number of documents can need. Reads no block."""
    sizes = {name: block.nbytes for name, block in file.blocks.items()}
    words, numbers = sizes.get("vocabulary", 0), sizes.get("indptr", 0) // 8
    most = {
        "key": 64,
        "vocabulary": MOST_WORD_BYTES,
        "indptr": 8 * (words + 2),  # a word takes more than a byte
        "data": 4 * documents * numbers,
        "indices": np.dtype(_numbers_of(documents)).itemsize * documents * numbers,
    }
    if any(size > most.get(name, 0) for name, size in sizes.items()):
        raise ValueError("it is larger than a table of this collection can be")
