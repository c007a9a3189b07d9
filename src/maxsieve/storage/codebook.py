"""The codebook of tier 0: centroids that tokens are named by, two bytes each. spec/codebook.py says what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import BlockFile, writing_blocks
from maxsieve.storage.segments import Segment

FEWEST, MOST = 256, 65536
"""Centroids: fewer are no help, more can't be named by two bytes."""

SAMPLE = 16
"""Tokens to learn from, for each centroid. Twice as many take twice the time and gain little."""

OUTGROWN = 4
"""A codebook is made again by `compact` when there are so many times the tokens it was made for: then the number of
centroids that suits them has doubled."""

SEED = 0


@dataclass(frozen=True, eq=False)
class Codebook:
    """Centroids in groups; ``tokens`` is how many the index had when it was made."""

    dim: int
    heads: NDArray[np.int8]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    scale: float
    length: NDArray[np.float32]
    tokens: int
    file: BlockFile | None = field(default=None, repr=False)

    @classmethod
    def train(cls, dim: int, segments: Sequence[Segment], threads: int) -> Codebook:
        """Learns from a sample of the tokens, drawn with a fixed seed. There must be a token."""
        lengths = living_lengths(segments)
        sample = gather_tokens(segments, *choose_tokens(lengths))
        return cls.learn(dim, *sample, int(lengths.sum()), threads)

    @classmethod
    def learn(
        cls, dim: int, codes: NDArray[np.int8], scale: NDArray[np.float32], tokens: int, threads: int
    ) -> Codebook:
        """Learns from a sample of so many tokens."""
        made = _core.train(dim, codes, scale, centroids_for(tokens), SEED, threads)
        return cls(dim, *made, tokens)

    @cached_property
    def native(self) -> _core.Codebook:
        """The engine's view."""
        return _core.Codebook(self.dim, self.heads, self.starts, self.codes, self.scale, self.length)

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine's view, which is made where it arrives."""
        return {name: value for name, value in vars(self).items() if name != "native"}

    def check(self) -> None:
        """Raises if the file was truncated that its numbers are in."""
        if self.file is not None:
            self.file.check()

    def name_tokens(self, segment: Segment, threads: int) -> Segment:
        """The segment with the centroids of its tokens."""
        self.check()
        segment.check()
        return segment.with_centroids(_core.assign(self.native, segment.codes, threads))

    @property
    def centroids(self) -> int:
        """How many there are."""
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in (self.heads, self.starts, self.codes, self.length))

    def outgrown_by(self, tokens: int) -> bool:
        """Whether an index of so many tokens deserves another one."""
        return tokens >= OUTGROWN * self.tokens and centroids_for(tokens) > self.centroids

    def write(self, path: Path) -> int:
        """Writes it, durable when it returns; gives the file's checksum."""
        with writing_blocks(path) as writer:
            writer.write("heads", "|i1", self.heads.shape[1], [self.heads])
            writer.write("starts", "<i8", 1, [self.starts])
            writer.write("codes", "|i1", self.codes.shape[1], [self.codes])
            writer.write("length", "<f4", 1, [self.length])
            writer.write("scale", "<f4", 1, [np.array([self.scale], np.float32)])
            writer.write("tokens", "<i8", 1, [np.array([self.tokens], np.int64)])
        return writer.crc

    @classmethod
    def read(cls, file: BlockFile, dim: int) -> Codebook:
        """One that was written. Every search reads all of it, so that its checksums are compared here."""
        file.verify(lambda _: None)
        stride = _core.code_stride(dim)
        scale, tokens = file.array("scale", "<f4"), file.array("tokens", "<i8")
        if len(scale) != 1 or len(tokens) != 1 or tokens[0] < 1:
            raise DamagedIndexError(f"{file.path} does not have one scale and one number of tokens")
        heads, codes = (file.array(name, "|i1", stride) for name in ("heads", "codes"))
        starts, length = file.array("starts", "<i8"), file.array("length", "<f4")
        if any(len(block) and block.min() < -127 for block in (heads, codes)):
            raise DamagedIndexError(f"{file.path} has codes below -127")
        book = cls(dim, heads, starts, codes, float(scale[0]), length, int(tokens[0]), file)
        try:
            book.native  # noqa: B018 - it looks at everything
        except ValueError as problem:
            raise DamagedIndexError(f"{file.path}: {problem}") from None
        return book


def centroids_for(tokens: int) -> int:
    """The power of two nearest to 8 sqrt(tokens), within limits.

    More centroids leave fewer documents to follow up, but each costs a query as much as a token that is followed up:
    twice as many took longer in all on every corpus of a million tokens or so that was measured.

    >>> [centroids_for(tokens) for tokens in (1, 50_000, 1_700_000, 64_000_000)]
    [256, 2048, 8192, 65536]
    """
    return int(min(MOST, max(FEWEST, 2 ** round(log2(8) + log2(max(1, tokens)) / 2))))


def choose_tokens(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens to learn from, of documents with such lengths: of each the document, and how far before its end.

    >>> documents, before_end = choose_tokens(np.array([2, 0, 1]))
    >>> documents.tolist(), before_end.tolist()
    ([0, 0, 2], [2, 1, 1])
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    chosen = spread_sample(total, min(total, SAMPLE * centroids_for(total)))
    documents = np.searchsorted(ends, chosen, side="right")
    return documents, ends[documents] - chosen


def gather_tokens(
    segments: Sequence[Segment], documents: NDArray[np.int64], before_end: NDArray[np.int64]
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Codes and scales of such tokens; documents are counted through the segments."""
    codes = np.empty((len(documents), segments[0].codes.shape[1]), np.int8)
    scale, start = np.empty(len(documents), np.float32), 0
    for segment in segments:
        segment.check()
        mine = np.flatnonzero((documents >= start) & (documents < start + segment.documents))
        place = documents[mine] - start
        codes[mine] = segment.codes[segment.offsets[place + 1] - before_end[mine]]
        scale[mine] = segment.scale[place]
        start += segment.documents
    return codes, scale


def living_lengths(segments: Sequence[Segment]) -> NDArray[np.int64]:
    """Tokens of each document, of deleted ones none."""
    return np.concatenate([np.zeros(0, np.int64), *(np.where(one.alive, one.lengths, 0) for one in segments)])


def spread_sample(total: int, wanted: int) -> NDArray[np.int64]:
    """So many of the numbers below ``total``, ascending: one at random from each of as many equal ranges.

    The generator is SplitMix64, written out so that it can't change with a NumPy release.

    >>> spread_sample(1000, 4).tolist()
    [35, 450, 679, 944]
    """
    place = np.arange(wanted + 1, dtype=np.int64)
    bounds = place * (total // max(1, wanted)) + place * (total % max(1, wanted)) // max(1, wanted)
    with np.errstate(over="ignore"):
        word = (place[:-1].astype(np.uint64) + np.uint64(SEED + 1)) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    chosen: NDArray[np.int64] = bounds[:-1] + (word % np.diff(bounds).astype(np.uint64)).astype(np.int64)
    return chosen
