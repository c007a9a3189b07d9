"""The codebook: centroids in groups, as in spec/codebook.py. Lists name the documents that have each of them.

In a store of residuals, tokens are stored as a centroid and what is left. Such a codebook never changes: other vectors
would be read from the same bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.errors import DamagedIndexError, StoreWarning
from maxsieve.storage.blocks import BlockFile, writing_blocks
from maxsieve.storage.segments import Layout, Segment

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

FEWEST_NEAR = 32
"""The fewest near centroids of a query token whose lists are read, however long these are."""

MOST_PROBES = 8

SEED = 0

STORE_TOKENS = 1 << 21
"""The codebook of a store of residuals is trained when there are so many tokens, on these."""

TOKENS_OF_CENTROID, LONG = 32, 256
"""Tokens for each centroid of a store of residuals; from so many dimensions on, twice as many. So a codebook takes 4
bytes a token at d = 128, and 6 at d = 384. With more centroids it takes more; with fewer, residuals are larger."""

STORE_PROBES = 2
"""Groups that are searched when the codebook of a store is trained: residuals are 2 % smaller than with one."""

MOST_OF_STORE = 1 << 16
"""The most centroids that two bytes can name."""

HELD_OUT = 1 << 16
"""The most tokens on which the spread of residuals is measured."""

FEW_TOKENS = 1000
"""The mean of fewer residuals says little."""

DRIFTED = 1.4
"""Residuals that are so many times as large as those of similar documents mean that fewer of the true hits are found.
docs/performance.md has the measurement."""


@dataclass(frozen=True, eq=False)
class Codebook:
    """Centroids in groups; ``tokens`` is the number of tokens of the index when it was trained.

    ``probes`` groups are searched for the centroid of a token, for lists. It is None in an index of an earlier version
    of maxsieve, which has no lists but tier 0: the centroid of each token, in two bytes. The codebook of a store of
    residuals has their ``bits``, and the ``spread`` of residuals of tokens that it was not trained on.
    """

    dim: int
    heads: NDArray[np.int8]
    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    scale: float
    length: NDArray[np.float32]
    tokens: int
    probes: int | None = None
    bits: int = 0
    spread: float = 0.0
    file: BlockFile | None = field(default=None, repr=False)

    @classmethod
    def train(cls, layout: Layout, segments: Sequence[Segment], order: NDArray[np.int64], threads: int) -> Codebook:
        """Trains a codebook on a sample of the tokens, drawn with a fixed seed.

        ``order`` has the numbers of all documents across the segments, in the order in which they were added. The
        codebook of a store is trained on the first tokens alone, so that it is the same however they were added.
        """
        lengths = living_lengths(segments)[order]
        tokens = int(lengths.sum())
        if not tokens:
            raise ValueError("there is no token to learn a codebook from: add documents first")
        if layout.bits:
            tokens = min(tokens, STORE_TOKENS)
        centroids = store_centroids_for(tokens, layout.dim) if layout.bits else centroids_for(tokens)
        chosen = spread_sample(tokens, min(tokens, SAMPLE * centroids))

        def gather(some: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
            turns, before_end = locate_tokens(lengths, some)
            return gather_tokens(segments, order[turns], before_end)

        probes = STORE_PROBES if layout.bits else PROBES
        made = _core.train(layout.dim, *gather(chosen), centroids, SEED, threads, groups_for(centroids), probes)
        book = cls(layout.dim, *made, tokens, probes, layout.bits)
        if not layout.bits:
            return book
        others = np.setdiff1d(np.minimum(chosen + 1, tokens - 1), chosen)
        held_out = others[:: -(-len(others) // HELD_OUT)] if len(others) else chosen
        codes, scale = gather(held_out)
        alone = np.arange(len(scale) + 1)
        spread = np.float32(_spread(book.encode_codes(alone, codes, scale, threads)["factors"]))  # as it is written
        return replace(book, spread=float(spread))

    def encode(self, segment: Segment, layout: Layout, threads: int) -> Segment:
        """A segment of byte codes as centroids and residuals, for a store of them."""
        self.check()
        segment.check()
        blocks = self.encode_codes(segment.offsets, segment.codes, segment.scale, threads)
        drift = _spread(blocks["factors"]) / self.spread if self.spread and segment.tokens >= FEW_TOKENS else 1.0
        if drift >= DRIFTED:
            warnings.warn(
                "documents are unlike those that the codebook was trained on: their residuals are "
                f"{drift:.1f} times as large, and fewer of the best documents will be found",
                StoreWarning,
                stacklevel=2,
            )
        if layout.sequenced:
            blocks["sequence"] = segment.sequence
        return Segment(
            segment.dim, layout.residual_kinds, segment.offsets, blocks, segment.ids, segment.metadata, segment.alive,
            book=self,
        )  # fmt: skip

    def encode_codes(
        self, offsets: NDArray[np.int64], codes: NDArray[np.int8], scale: NDArray[np.float32], threads: int
    ) -> dict[str, NDArray[Any]]:
        """The blocks of documents, given as byte codes of the rotated space."""
        named = _core.assign(self.native, codes, threads)
        bound = np.zeros(len(scale), np.float32)
        given = _core.Segment(self.dim, offsets, codes=codes, scale=scale, rho=bound, nu=bound, centroids=named)
        levels, factors, scale, nu = _core.encode_residual(self.native, given, self.bits, threads)
        return {"scale": scale, "nu": nu, "centroids": named, "factors": factors, "levels": levels}

    def encode_nothing(self) -> dict[str, Any]:
        """What the engine gets of a segment without documents."""
        none, words = np.zeros(0, np.float32), np.zeros(0, np.uint16)
        levels = np.zeros((0, _core.level_bytes(self.dim, self.bits)), np.uint8)
        blocks = {"scale": none, "nu": none, "centroids": words, "factors": np.zeros((0, 2), np.uint8)}
        return {**blocks, "levels": levels, "bits": self.bits, "codebook": self.native}

    def fits(self, segment: Segment) -> bool:
        """Whether the segment's documents can have lists by it: residuals name centroids of their own codebook."""
        return segment.book is None or segment.book is self or segment.book.digest == self.digest

    def drift(self, segments: Sequence[Segment]) -> float:
        """How many times as large the residuals of these segments are as those of documents like its sample."""
        factors = [segment.factors for segment in segments if self.fits(segment) and segment.tokens]
        return _spread(np.concatenate(factors)) / self.spread if factors and self.spread else 1.0

    @cached_property
    def digest(self) -> str:
        """Its name in a store of residuals."""
        content = sha256(np.array([self.dim, self.bits, self.tokens], np.int64).tobytes())
        numbers = np.array([self.scale, self.spread], np.float32)
        for array in (self.heads, self.starts, self.codes, self.length, numbers):
            content.update(np.ascontiguousarray(array).data)
        return content.hexdigest()[:32]

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
        """Whether an index of this many tokens needs a new codebook. That of a store can't be replaced."""
        return not self.bits and tokens >= OUTGROWN * self.tokens and centroids_for(tokens) > self.centroids

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
            if self.bits:
                writer.write("bits", "<i8", 1, [np.array([self.bits], np.int64)])
                writer.write("spread", "<f4", 1, [np.array([self.spread], np.float32)])
        return writer.crc

    @classmethod
    def read(cls, file: BlockFile, dim: int, bits: int) -> Codebook:
        """Reads a codebook from a file. Every search reads all of it, so its checksums are compared here.

        With ``bits``, it must be that of a store of residuals with so many bits.
        """
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
        spread = 0.0
        if bits or "bits" in file.blocks:
            stated, spreads = file.array("bits", "<i8").tolist(), file.array("spread", "<f4").tolist()
            if stated != [bits] or probes is None or len(spreads) != 1 or not 0 <= spreads[0] < np.inf:
                raise DamagedIndexError(f"{file.path} is not a codebook of residuals of {bits} bits")
            spread = spreads[0]
        book = cls(dim, heads, starts, codes, float(scale[0]), length, int(tokens[0]), probes, bits, spread, file)
        try:
            book.native  # noqa: B018 - it looks at everything
            if bits:  # so does a segment that has it, at the lengths of centroids
                _core.Segment(dim, np.zeros(1, np.int64), **book.encode_nothing())
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


def store_centroids_for(tokens: int, dim: int) -> int:
    """The centroids of a store of residuals whose codebook is trained on so many tokens.

    >>> [store_centroids_for(tokens, 128) for tokens in (1, 50_000, 1_100_000, STORE_TOKENS)]
    [1, 2048, 32768, 65536]
    """
    return int(min(MOST_OF_STORE, 2 ** round(log2(max(1, tokens / tokens_of_centroid(dim))))))


def tokens_of_centroid(dim: int) -> float:
    """How many tokens share a centroid of a store of residuals.

    >>> tokens_of_centroid(128), tokens_of_centroid(384)
    (32, 64)
    """
    return TOKENS_OF_CENTROID * (2 if dim >= LONG else 1)


def enough_for_store(tokens: int) -> bool:
    """Whether there are enough tokens to train the codebook of a store of residuals by itself."""
    return tokens >= STORE_TOKENS


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


def walks_for(tokens: int, centroids: int) -> tuple[Walk, ...]:
    """Three walks of an index of so many tokens, from the quickest to the most thorough.

    They are for an overlap of at most 0.95, for more, and for more and a large k. docs/performance.md has the
    measurements. They depend on counts alone: to choose them by calibrated depths would break the guarantee. With fewer
    centroids than usual, each has more documents, and fewer are read: a store of residuals has at most 65,536.

    >>> walks_for(1_000_000, 32768)[1], walks_for(64_000_000, 262144)[1], walks_for(64_000_000, 65536)[1]
    (Walk(near=128, opened=8), Walk(near=256, opened=16), Walk(near=64, opened=16))
    """
    few = tokens < MANY_TOKENS
    usual = (Walk(64, 4), Walk(128, 8), Walk(256, 16)) if few else (Walk(64, 8), Walk(256, 16), Walk(384, 24))
    coarser = max(1, centroids_for(tokens) // centroids)
    return tuple(Walk(max(FEWEST_NEAR, near // coarser), opened) for near, opened in usual)


def locate_tokens(lengths: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some tokens of documents of these lengths: the document of each, and its distance from the end.

    >>> documents, before_end = locate_tokens(np.array([2, 0, 1]), np.array([0, 1, 2]))
    >>> documents.tolist(), before_end.tolist()
    ([0, 0, 2], [2, 1, 1])
    """
    ends = np.cumsum(lengths)
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


def _spread(factors: NDArray[np.uint8]) -> float:
    """The mean size of residuals, by that of centroids, from the factors of tokens."""
    on_centroid, on_levels = factors.mean(axis=0, dtype=np.float64)
    return float(on_levels / on_centroid) if on_centroid else 0.0
