"""Makes segments of documents: collects them until there are enough for a segment, and quantises them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.arrays import Batch, Documents, FloatArray, as_buffer, check_mapped, describe_invalid, to_float32
from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.errors import Argument, hinted
from maxsieve.ids import Id
from maxsieve.storage import segments
from maxsieve.storage.metadata import Texts
from maxsieve.storage.segments import Layout, Segment, bits, to_offsets
from maxsieve.storage.storage import Calibrate, Storage

Blocks: TypeAlias = dict[str, NDArray[Any]]


def add_documents(
    storage: Storage,
    documents: Documents,
    ids: list[Id] | None,
    texts: list[str | None] | None = None,
    *,
    replace: bool = False,
    delete: list[Id] | None = None,
    threads: int | None = None,
    progress: bool = False,
    stepwise: bool = False,
    reencode: Calibrate | None = None,
) -> None:
    """Adds documents, ids and metadata (as JSON) that are already checked, in one commit.

    If ``ids`` is None, the batches contain ids, or documents are numbered from 0. The documents to ``delete`` are
    deleted in the same commit. ``stepwise`` commits each segment when it is full. ``reencode`` is for a new codebook.
    """
    total = len(ids) if documents.total is None and ids is not None else documents.total
    with (
        storage.writing(replace=replace, delete=delete or [], stepwise=stepwise, reencode=reencode) as writer,
        progress_bar("indexing", total, shown=progress, unit="documents") as advance,
    ):
        named = Names(ids, texts, writer.admit)
        for segment in build_segments(documents, named, storage.layout, thread_count(threads), advance):
            writer.append(segment)
            del segment  # it would stay in memory while the next one is made


class Names:
    """The ids of documents that are being added, and their metadata as JSON, in the order of the documents.

    ``ids`` is None if the batches contain ids, or if documents are numbered. ``admit`` refuses ids that can't be added.
    """

    def __init__(self, ids: list[Id] | None, texts: list[str | None] | None, admit: Callable[[list[Id]], None]) -> None:
        self._ids, self._texts, self._admit = ids, texts, admit
        self._seen: set[Id] = set()
        self._count = 0
        if ids is not None:
            admit(ids)

    def take(self, batch: Batch) -> None:
        """Takes the ids and metadata of the next batch, if it has them, and compares the numbers of all."""
        if batch.ids is not None:
            self._admit(batch.ids)
            if (twice := next((id for id in batch.ids if id in self._seen), None)) is not None:
                raise ValueError(f"ids: {twice!r} occurs twice")
            if batch.ids and self._seen and type(batch.ids[0]) is not type(next(iter(self._seen))):
                raise TypeError("ids must be all str or all int, not a mixture")
            self._seen.update(batch.ids)
            self._ids = [] if self._ids is None else self._ids
            self._ids += batch.ids
        if batch.texts is not None:
            self._texts = [] if self._texts is None else self._texts
            self._texts += batch.texts
        self._count += len(batch.lengths)
        self.check(complete=False)

    def check(self, *, complete: bool) -> None:
        """Compares the number of documents with the numbers of ids and of metadata."""
        for given, what in ((self._ids, "ids"), (self._texts, "metadata")):
            if given is not None and self._count > len(given):
                raise ValueError(f"there are more documents than the {len(given)} {what}")
            if given is not None and complete and self._count < len(given):
                raise ValueError(f"there are {self._count} documents but {len(given)} {what}")

    def name(self, document: int) -> str:
        """The name of a document in errors; documents are counted from 0."""
        return f"document {document if self._ids is None else self._ids[document]!r}"

    def ids(self, first: int, last: int) -> list[Id]:
        """The ids of some documents."""
        return list(range(first, last)) if self._ids is None else self._ids[first:last]

    def metadata(self, first: int, last: int) -> Texts:
        """The metadata of some documents."""
        given = [] if self._texts is None else self._texts[first:last]
        return Texts({i: text for i, text in enumerate(given) if text is not None})


def build_segments(
    documents: Documents, names: Names, layout: Layout, threads: int, advance: Callable[[int], None] = lambda _: None
) -> Iterator[Segment]:
    """The segments of these documents, each when it is full. All documents must be read, or an error raised."""
    waiting = _WaitingDocuments(max(1, segments.BLOCK_BYTES // (4 * layout.dim)))
    first = 0

    def next_segment() -> Segment:
        nonlocal first
        offsets, blocks = _ingest(*waiting.take(), layout, threads, lambda document: names.name(first + document))
        last = first + len(offsets) - 1
        ids, metadata = names.ids(first, last), names.metadata(first, last)
        first = last
        return Segment(layout.dim, layout.kinds, offsets, blocks, ids, metadata, np.ones(len(ids), np.bool_))

    for batch in documents.batches:
        names.take(batch)
        waiting.add(batch)
        while waiting.is_full:
            yield next_segment()
        advance(len(batch.lengths))
    names.check(complete=True)
    if waiting.documents:
        yield next_segment()


class _WaitingDocuments:
    """Documents that wait until there are enough tokens for a segment. Their arrays must not change meanwhile."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._arrays: list[FloatArray] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._tokens = 0

    @property
    def documents(self) -> int:
        return sum(map(len, self._lengths))

    @property
    def is_full(self) -> bool:
        return self._tokens > self._capacity

    def add(self, batch: Batch) -> None:
        self._arrays += [array for array in batch.arrays if len(array)]
        self._lengths.append(batch.lengths)
        self._tokens += int(batch.lengths.sum())

    def take(self) -> tuple[list[FloatArray], NDArray[np.int64]]:
        """Arrays and lengths of as many documents as fit into a segment, but at least one that has tokens."""
        lengths = np.concatenate(self._lengths)
        ends = np.cumsum(lengths)
        count = int(np.searchsorted(ends, self._capacity, side="right"))
        if count < len(ends) and not ends[:count].any():
            count += 1
        arrays, self._arrays = _split(self._arrays, int(ends[count - 1]))
        self._lengths = [lengths[count:]] if count < len(lengths) else []
        self._tokens -= int(ends[count - 1])
        return arrays, lengths[:count]


def _ingest(
    arrays: list[FloatArray], lengths: NDArray[np.int64], layout: Layout, threads: int, name: Callable[[int], str]
) -> tuple[NDArray[np.int64], Blocks]:
    """Offsets and blocks of documents, quantised. Errors call document ``i`` by ``name(i)``."""
    check_mapped(arrays)
    offsets = to_offsets(lengths)
    blocks: Blocks = {}
    for kind in layout.kinds:
        count = int(offsets[-1]) if kind.per_token else len(lengths)
        blocks[kind.name] = np.empty(count if kind.columns is None else (count, kind.columns), kind.dtype)
    writable: dict[str, Any] = {"rows": None} | {name: bits(block) for name, block in blocks.items()}
    given = [as_buffer(array) for array in arrays]
    cosine = layout.similarity == "cosine"
    rotated = layout.bits > 0
    bad = _core.ingest(given, layout.dim, offsets, **writable, cosine=cosine, threads=threads, rotated=rotated)
    if bad >= 0:
        raise _refusal(arrays, offsets, bad, name(bad), rotated=rotated)
    return offsets, blocks


def _refusal(
    arrays: list[FloatArray], offsets: NDArray[np.int64], document: int, name: str, *, rotated: bool
) -> ValueError:
    """What is wrong with a document."""
    _, rest = _split(arrays, int(offsets[document]))
    (first, *_), _ = _split(rest, int(offsets[document + 1] - offsets[document]))
    rows = to_float32(first, copy=True)
    if (row := _core.first_invalid_row(rows)) >= 0:
        return ValueError(describe_invalid(rows[row], f"{name}, row {row}"))
    if rotated:
        _core.rotate(rows)
        return ValueError(f"{name}, row {_core.first_invalid_row(rows)} is too long for a store of residuals")
    with np.errstate(all="ignore"):
        row = _core.first_invalid_row(to_float32(rows.astype(np.float16)))
    wrong = ValueError(f"{name}, row {row} has a magnitude over 65504, the largest float16")
    return hinted(wrong, "; use {}", Argument("store", "float32"))


def _split(arrays: list[FloatArray], tokens: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """Splits concatenated arrays into the first ``tokens`` rows and the others."""
    ends = np.cumsum(np.fromiter(map(len, arrays), np.int64, len(arrays)))
    whole = int(np.searchsorted(ends, tokens, side="right"))
    more = tokens - (int(ends[whole - 1]) if whole else 0)
    if not more:
        return arrays[:whole], arrays[whole:]
    return [*arrays[:whole], arrays[whole][:more]], [arrays[whole][more:], *arrays[whole + 1 :]]
