"""Batches of documents that are encoded, but not in the corpus yet. They are in the folder `STAGING` of the corpus.

A batch is one segment (or several, if it is large) in the format of shards, and a receipt. The receipt is written last:
a batch without one is not valid. The name of a batch begins with a digest of everything that determines its content. So
after any interruption, a process that has to encode the same batch finds it. The name ends with random digits, so that
two processes that write the same batch at the same time use different files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxsieve.arrays import Batch, Documents
from maxsieve.common.files import check_own_folder, sync_folder
from maxsieve.errors import MaxsieveError
from maxsieve.ids import Id
from maxsieve.storage.builder import Names, build_segments
from maxsieve.storage.manifest import Manifest, SegmentEntry
from maxsieve.storage.metadata import to_json
from maxsieve.storage.sealed_json import read_sealed, reading_fields, write_sealed
from maxsieve.storage.segment_file import StoredSegment, map_segment, write_segment
from maxsieve.storage.segments import Layout, living
from maxsieve.text.collection.additions import Encode, Pieces, batches, length_of
from maxsieve.text.collection.description import STAGING, Description
from maxsieve.text.passages import Document, Keys, as_stored

FORMAT, VERSION = "maxsieve staged batch", 1
RECEIPT = ".json"
_OURS = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}(-[0-9]+)?\.(json|segment|records)(\.tmp)?", re.ASCII)


class Form(NamedTuple):
    """How vectors are stored in the corpus, and how they are made from texts."""

    layout: Layout
    description: Description

    @property
    def keys(self) -> Keys:
        """The keys under which passages are stored."""
        return Keys(passages=self.description.passages is not None)


class StagedDocument(NamedTuple):
    """A document of a batch: its number of passages, and a digest of its text and metadata."""

    id: Id
    passages: int
    digest: str


class StagedBatch(NamedTuple):
    """An encoded batch: its documents in order, and the segments that contain their passages in the same order."""

    name: str
    documents: tuple[StagedDocument, ...]
    segments: tuple[SegmentEntry, ...]
    nbytes: int

    @property
    def tokens(self) -> int:
        """The number of vectors of all its documents."""
        return sum(entry.tokens for entry in self.segments)

    def keys(self, keys: Keys) -> list[Id]:
        """The keys of all its passages, in the order of the segments."""
        return [keys.key(document.id, number) for document in self.documents for number in range(document.passages)]


def document_digest(document: Document) -> str:
    """A digest of a document's text and metadata, as they are stored.

    >>> document_digest(Document("a", "A fox", {"b": (1,), "a": 2})) == document_digest(
    ...     Document("z", "A fox", {"a": 2, "b": [1]})
    ... )
    True
    """
    content = json.dumps(as_stored([document.text, document.metadata]), sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def batch_digest(documents: Iterable[Document], form: Form) -> str:
    """A digest of everything that determines the staged batch of some documents."""
    described = [FORMAT, VERSION, form.layout.store, form.layout.similarity, asdict(form.description)]
    digest = hashlib.blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=16)
    for document in documents:
        digest.update(f"\n{json.dumps(document.id)} {document_digest(document)}".encode())
    return digest.hexdigest()


def stage(
    root: Path, digest: str, documents: Sequence[Document], pieces: Pieces, form: Form, encode: Encode, threads: int
) -> StagedBatch:
    """Encodes a batch, a few passages at a time, and writes it. A failure leaves no valid batch."""
    folder = staging_folder(root)
    folder.mkdir(exist_ok=True)
    name = f"{digest}-{secrets.token_hex(8)}"
    entries: list[SegmentEntry] = []

    def encoded() -> Iterable[Batch]:
        for some in batches(pieces.texts, length_of):
            vectors = list(encode(some))
            yield Batch(vectors, np.fromiter(map(len, vectors), np.int64, len(vectors)))

    keys = list(pieces.records)
    names = Names(keys, [to_json(record) for record in pieces.records.values()], lambda _: None)
    try:
        rows = Documents(iter(encoded()), len(keys), form.layout.dim)
        for segment in build_segments(rows, names, form.layout, threads):
            entries.append(write_segment(folder / f"{name}-{len(entries)}.segment", living([segment])))
        counts = Counter(map(form.keys.document, keys))
        staged = tuple(StagedDocument(new.id, counts[new.id], document_digest(new)) for new in documents)
        nbytes = sum((folder / file).stat().st_size for entry in entries for file in entry.files.values())
        batch = StagedBatch(name, staged, tuple(entries), nbytes)
        write_sealed(folder / f"{name}{RECEIPT}", _to_content(batch))
        sync_folder(folder)
    except BaseException:
        remove_staged(root, [name])
        raise
    return batch


def find_staged(root: Path, digest: str, documents: Iterable[Document], form: Form) -> StagedBatch | None:
    """The batch of some documents that was staged before, if there is one and it is complete and undamaged."""
    wanted = [(document.id, document_digest(document)) for document in documents]
    for name in _receipts(root):
        if name.startswith(digest):
            with suppress(OSError, MaxsieveError):  # being removed, or damaged: it is encoded again
                batch = _from_content(staging_folder(root) / f"{name}{RECEIPT}", name)
                if [(document.id, document.digest) for document in batch.documents] != wanted:
                    continue
                segments = open_staged(root, batch, form)
                for segment in segments:
                    segment.verify_checksums()
                if [id for segment in segments for id in segment.ids] == batch.keys(form.keys):
                    return batch
    return None


def open_staged(root: Path, batch: StagedBatch, form: Form) -> list[StoredSegment]:
    """The segments of a batch, mapped."""
    manifest = Manifest(form.layout.dim, form.layout.store, form.layout.similarity, "")
    return [map_segment(staging_folder(root), entry, manifest) for entry in batch.segments]


def remove_staged(root: Path, names: Iterable[str] | None = None) -> None:
    """Removes the named batches, or all batches and all unfinished files."""
    wanted = None if names is None else set(names)
    for path, name in _files(root):
        if wanted is None or name in wanted:
            with suppress(OSError):
                path.unlink()


def staged_bytes(root: Path) -> int:
    """The size of all batches on disk."""
    total = 0
    for path, _ in _files(root):
        with suppress(OSError):
            total += path.lstat().st_size
    return total


def remove_oldest(root: Path, most: int) -> None:
    """Removes batches of earlier runs, the oldest first, until the others take at most ``most`` bytes."""
    ages: dict[str, tuple[float, int]] = {}
    for path, name in _files(root):
        with suppress(OSError):
            status = path.lstat()
            newest, size = ages.get(name, (0.0, 0))
            ages[name] = max(newest, status.st_mtime), size + status.st_size
    total = sum(size for _, size in ages.values())
    gone = []
    for name in sorted(ages, key=ages.__getitem__):
        if total <= most:
            break
        gone.append(name)
        total -= ages[name][1]
    if gone:
        remove_staged(root, gone)


def staging_folder(root: Path) -> Path:
    """The folder of staged batches; a link in place of it is damage."""
    return check_own_folder(root / STAGING)


def _files(root: Path) -> list[tuple[Path, str]]:
    """All staged files, with the names of their batches. Only files with names that maxsieve gives are included."""
    try:
        with os.scandir(staging_folder(root)) as entries:
            ours = [
                entry for entry in entries if _OURS.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return []
    return [(Path(entry.path), entry.name[: 32 + 1 + 16]) for entry in ours]


def _receipts(root: Path) -> list[str]:
    return [name for path, name in _files(root) if path.name == f"{name}{RECEIPT}"]


def _to_content(batch: StagedBatch) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "documents": [list(document) for document in batch.documents],
        "segments": [[entry.documents, entry.tokens, entry.records_crc] for entry in batch.segments],
        "bytes": batch.nbytes,
    }


def _from_content(path: Path, name: str) -> StagedBatch:
    """The batch of a receipt. The names of its files are derived from the batch name, not read from the receipt."""
    content = read_sealed(path, {FORMAT: VERSION}).content
    with reading_fields(path):
        documents = tuple(StagedDocument(*document) for document in content["documents"])
        entries = []
        for number, (count, tokens, crc) in enumerate(content["segments"]):
            if not all(type(value) is int and value >= 0 for value in (count, tokens, crc)):
                raise ValueError(f"segment {number} has an invalid count or checksum")
            file = f"{name}-{number}"
            entries.append(SegmentEntry(f"{file}.segment", count, tokens, records=f"{file}.records", records_crc=crc))
        passages = 0
        for document in documents:
            if type(document.id) not in (str, int) or type(document.passages) is not int or document.passages < 1:
                raise ValueError(f"the document {document.id!r} has an invalid id or number of passages")
            passages += document.passages
        if passages != sum(entry.documents for entry in entries) or type(content["bytes"]) is not int:
            raise ValueError("the counts of documents, segments and bytes are inconsistent")
        return StagedBatch(name, documents, tuple(entries), content["bytes"])
