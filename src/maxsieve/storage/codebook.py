"""The codebook: centroids in groups, as in spec/codebook.py. Lists name the documents that have each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError
from maxsieve.storage.blocks import BlockFile, writing_blocks
from maxsieve.storage.segments import Segment

FEWEST, MOST = 256, 1 << 20
"""Limits on the number of centroids: fewer do not help, and more would be too many to train."""

PROBES = 1
"""Groups that are searched for the centroid of a token. With more, naming takes longer, and finds little more."""

SAMPLE = 16
"""How many tokens per centroid are used for training. Twice as many take twice the time and gain little."""

OUTGROWN = 4
"""`compact` trains a codebook again if the index has this many times the tokens that it was trained for: then twice as
many centroids are best."""

MANY_TOKENS = 10_000_000
"""From so many tokens on, more lists are read: each has a smaller share of the documents."""

MOST_PROBES = 8

SEED = 0


@dataclass(frozen=True, eq=False)
class Codebook:
    """Centroids in groups; ``tokens`` is the number of tokens of the index when it was trained.

    ``probes`` groups are searched for the centroid of a token, for lists. It is None in an index of an earlier version
    of maxsieve, which has no lists but tier 0: the centroid of each token, in two bytes.
    """

    dim: int
    heads: NDArray[np.int8]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    scale: float
    length: NDArray[np.float32]
    tokens: int
    probes: int | None = None
    file: BlockFile | None = field(default=None, repr=False)

    @classmethod
    def train(cls, dim: int, segments: Sequence[Segment], order: NDArray[np.int64], threads: int) -> Codebook:
        """Trains a codebook on a sample of the tokens, drawn with a fixed seed. There must be at least one token.

        ``order`` has the numbers of all documents across the segments, in the order in which they were added.
        """
        lengths = living_lengths(segments)[order]
        turns, before_end = choose_tokens(lengths)
        sample, tokens = gather_tokens(segments, order[turns], before_end), int(lengths.sum())
        centroids = centroids_for(tokens)
        made = _core.train(dim, *sample, centroids, SEED, threads, groups_for(centroids), PROBES)
        return cls(dim, *made, tokens, PROBES)

    @cached_property
    def native(self) -> _core.Codebook:
        """The engine's view."""
        return _core.Codebook(self.dim, self.heads, self.starts, self.codes, self.scale, self.length)

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine's view, which the receiver makes again."""
        return {name: value for name, value in vars(self).items() if name != "native"}

    def check(self) -> None:
        """Raises an error if its file was truncated."""
        if self.file is not None:
            self.file.check()

    def name_tokens(self, segment: Segment, threads: int) -> Segment:
        """The segment with the centroids of its tokens: tier 0."""
        self.check()
        segment.check()
        return segment.with_centroids(_core.assign(self.native, segment.codes, threads))

    @property
    def is_tier0(self) -> bool:
        """Whether it names single tokens, and there are no lists, as in earlier versions of maxsieve."""
        return self.probes is None

    @property
    def centroids(self) -> int:
        """How many there are."""
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in (self.heads, self.starts, self.codes, self.length))

    def outgrown_by(self, tokens: int) -> bool:
        """Whether an index of this many tokens needs a new codebook."""
        return tokens >= OUTGROWN * self.tokens and centroids_for(tokens) > self.centroids

    def write(self, path: Path) -> int:
        """Writes it durably, and returns the checksum of the file."""
        with writing_blocks(path) as writer:
            writer.write("heads", "|i1", self.heads.shape[1], [self.heads])
            writer.write("starts", "<i8", 1, [self.starts])
            writer.write("codes", "|i1", self.codes.shape[1], [self.codes])
            writer.write("length", "<f4", 1, [self.length])
            writer.write("scale", "<f4", 1, [np.array([self.scale], np.float32)])
            writer.write("tokens", "<i8", 1, [np.array([self.tokens], np.int64)])
            if self.probes is not None:
                writer.write("probes", "<i8", 1, [np.array([self.probes], np.int64)])
        return writer.crc

    @classmethod
    def read(cls, file: BlockFile, dim: int) -> Codebook:
        """Reads a codebook from a file. Every search reads all of it, so its checksums are compared here."""
        file.verify(lambda _: None)
        stride = _core.code_stride(dim)
        scale, tokens = file.array("scale", "<f4"), file.array("tokens", "<i8")
        if len(scale) != 1 or len(tokens) != 1 or tokens[0] < 1:
            raise DamagedIndexError(f"{file.path} does not have one scale and one number of tokens")
        heads, codes = (file.array(name, "|i1", stride) for name in ("heads", "codes"))
        starts, length = file.array("starts", "<i8"), file.array("length", "<f4")
        if any(len(block) and block.min() < -127 for block in (heads, codes)):
            raise DamagedIndexError(f"{file.path} has codes below -127")
        probes: int | None = None
        if "probes" in file.blocks:
            given = file.array("probes", "<i8")
            if len(given) != 1 or not 1 <= given[0] <= MOST_PROBES:
                raise DamagedIndexError(f"{file.path} does not have one number of probes, 1 to {MOST_PROBES}")
            probes = int(given[0])
        book = cls(dim, heads, starts, codes, float(scale[0]), length, int(tokens[0]), probes, file)
        try:
            book.native  # noqa: B018 - it looks at everything
        except ValueError as problem:
            raise DamagedIndexError(f"{file.path}: {problem}") from None
        return book


def centroids_for(tokens: int) -> int:
    """The power of two nearest to 40 sqrt(tokens), within limits.

    With half as many, lists are longer. With twice as many, the same number of lists holds fewer documents, and more
    must be followed up. docs/performance.md has the measurements.

    >>> [centroids_for(tokens) for tokens in (1, 50_000, 1_700_000, 64_000_000)]
    [256, 8192, 65536, 262144]
    """
    return int(min(MOST, max(FEWEST, 2 ** round(log2(40) + log2(max(1, tokens)) / 2))))


def groups_for(centroids: int) -> int:
    """Groups of so many centroids. A token is compared with the heads of all groups, and with the members of few.

    >>> [groups_for(centroids) for centroids in (256, 8192, 65536, 262144, 1 << 20)]
    [4, 128, 1024, 1024, 2048]
    """
    return max(1, min(centroids // 64, 1024 if centroids <= 1 << 18 else 2048))


class Walk(NamedTuple):
    """How lists are walked: the nearest ``near`` centroids of a query token, found in its nearest ``opened`` groups."""

    near: int
    opened: int


def walks_for(tokens: int) -> tuple[Walk, Walk, Walk]:
    """Three walks of an index of so many tokens, from the quickest to the most thorough.

    They are for an overlap of at most 0.95, for more, and for more and a large k. docs/performance.md has the
    measurements. They depend on counts alone: to choose them by calibrated depths would break the guarantee.

    >>> walks_for(1_000_000)[1], walks_for(64_000_000)[1]
    (Walk(near=128, opened=8), Walk(near=256, opened=16))
    """
    if tokens < MANY_TOKENS:
        return Walk(64, 4), Walk(128, 8), Walk(256, 16)
    return Walk(64, 8), Walk(256, 16), Walk(384, 24)


def choose_tokens(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens to train on, for documents of these lengths: the document of each, and its distance from the end.

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
    """Codes and scales of these tokens; documents are numbered across all segments."""
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
    """The number of tokens of each document; 0 for a deleted one."""
    return np.concatenate(
        [np.zeros(0, np.int64), *(np.where(segment.alive, segment.lengths, 0) for segment in segments)]
    )


def spread_sample(total: int, wanted: int) -> NDArray[np.int64]:
    """A sample of ``wanted`` numbers below ``total``, ascending: a random one from each of ``wanted`` equal ranges.

    The generator is SplitMix64, implemented here so that it does not change with NumPy's version.

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
