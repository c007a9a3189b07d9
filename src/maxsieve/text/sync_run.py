"""One run of a sync: what has changed in a folder, and bringing it into the collection."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from maxsieve.text.collection import Collection
from maxsieve.text.inputs.apart import Apart
from maxsieve.text.inputs.columns import as_columns
from maxsieve.text.inputs.document import BadInput, InputDocument
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.folder import document_files
from maxsieve.text.sync_record import FORGOTTEN, Entry, Seen, SyncRecord, digest_of

GROUP_DOCUMENTS, GROUP_CHARACTERS = 64, 1 << 20
"""Documents that are noted in the record at a time, before they go into the collection."""

TICK, COARSE_TICK = 20_000_000, 2_000_000_000
"""Nanoseconds in which a file may change twice and have the same time. The latter where times are whole seconds."""


class Synced(NamedTuple):
    """How many documents were new, changed, deleted; how many were as before; how many files are no documents."""

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    bad: int = 0
    waiting: int = 0
    """Files that are still being written, and were left for the next time."""


class Scan:
    """The files of a folder as they are now, by the ids of their documents."""

    def __init__(self, folder: Path, prefix: str, without: Path) -> None:
        self.paths: dict[str, Path] = {}
        self.seen: dict[str, Seen] = {}
        self._at = time.time_ns()
        for path in document_files(folder, without=Path(os.path.realpath(without))):
            one = prefix + path.relative_to(folder).as_posix()
            try:
                status = os.stat(path)
            except OSError:  # a link to nowhere is to be named; what has just been removed is not there
                if not path.is_symlink():
                    continue
                self.paths[one], self.seen[one] = path, Seen(-1, -1)
            else:
                self.paths[one], self.seen[one] = path, Seen(status.st_size, status.st_mtime_ns)

    def lasting(self, one: str) -> Seen | None:
        """What will tell a change of the file; None if it was written just now and may be, unseen, once more."""
        seen = self.seen[one]
        tick = TICK if seen.mtime % 1_000_000_000 else COARSE_TICK
        return seen if seen.mtime + tick < self._at else None


class SyncRun:
    """One run: what is to be done, and doing it."""

    def __init__(
        self,
        collection: Collection,
        record: SyncRecord,
        others: list[SyncRecord],
        scan: Scan,
        *,
        adopt: bool,
        skip_bad: bool,
        dry_run: bool,
    ) -> None:
        self._collection, self._record, self._others, self._scan = collection, record, others, scan
        self._adopt, self._skip_bad, self._dry_run = adopt, skip_bad, dry_run
        self._pending: list[str] = []
        self._gone: list[str] = []
        self._settled: dict[str, Entry] = {}
        """What the record is to say of documents when all is done."""
        self.problems: list[BadInput] = []
        self.bad: dict[str, Seen] = {}
        """The files that are no documents."""
        self._counts: Counter[str] = Counter()

    def plan(self, earlier: Mapping[str, Seen] | None, bad: Mapping[str, Seen]) -> None:
        """Looks at sizes and times only."""
        inside, entries, seen = set(self._collection.ids), self._record.entries, self._scan.seen
        counts = self._counts
        for one, now in seen.items():
            if one in entries and entries[one].seen == now and one in inside:
                counts["unchanged"] += 1
            elif bad.get(one) == now:
                self.bad[one] = now
            elif earlier is not None and earlier.get(one) != now:
                counts["waiting"] += 1
            else:
                self._pending.append(one)
        for one in entries:
            if one in seen:
                continue
            if earlier is not None and one in earlier:  # some programs remove a file to write it anew
                counts["waiting"] += 1
            else:
                self._gone.append(one)

    def carry_out(self, progress: bool) -> Synced:
        """Reads what is pending, adds what is new, deletes what is gone, and writes the record."""
        if not (self._pending or self._gone):
            return Synced(**self._counts)
        documents = self._documents()
        first = next(documents, None)
        if self._dry_run:
            for _ in documents:
                pass
        elif first is not None:
            columns = as_columns(chain([first], documents), len(self._pending), str)
            self._collection.add(**columns, replace=True, progress=progress)
        self._delete()
        if not self._dry_run:
            self._record.note(self._settled)
        return Synced(**self._counts)

    def _documents(self) -> Iterator[InputDocument]:
        """The documents that are new or changed. Each is noted in the record before it is handed on."""
        group: list[InputDocument] = []
        claims: dict[str, Entry] = {}
        characters = 0
        with Apart() as apart:
            for one in self._pending:
                try:
                    document = _read(self._scan.paths[one], one, apart)
                    claim = self._claim(one, document)
                except BadInput as bad:
                    self._refuse(bad, one)
                    continue
                if claim is None:
                    continue
                group.append(document)
                claims[one] = claim
                characters += len(document.text)
                if len(group) >= GROUP_DOCUMENTS or characters >= GROUP_CHARACTERS:
                    yield from self._noted(group, claims)
                    group, claims, characters = [], {}, 0
            yield from self._noted(group, claims)

    def _noted(self, group: list[InputDocument], claims: dict[str, Entry]) -> list[InputDocument]:
        if not self._dry_run:
            self._record.note(claims)
        return group

    def _claim(self, one: str, document: InputDocument) -> Entry | None:
        """What to note before the document goes in; None if it is in. `BadInput` if something else is in its place."""
        new, stored = digest_of(document.text, document.metadata), self._stored(one)
        entry = self._record.entries.get(one)
        own = stored is None or (entry is not None and stored in entry.digests)
        if not own and (other := next((it.folder for it in self._others if _has(it, one, stored)), None)):
            raise BadInput(
                document.place,
                f"the document {one!r} came from {other}; prefix= gives the files of this folder other ids, and if it "
                "is the same folder, moved_from= says so",
            )
        if not (own or self._adopt or stored == new):
            problem = f"there is another document {one!r}, which no sync put there; adopt=True replaces it"
            raise BadInput(document.place, problem)
        self._settled[one] = Entry((new,), self._scan.lasting(one))
        if stored == new:
            self._counts["unchanged"] += 1
            return None
        self._counts["added" if stored is None else "changed"] += 1
        return Entry((new,) if stored is None else (stored, new), None)

    def _refuse(self, bad: BadInput, one: str) -> None:
        if not os.path.lexists(self._scan.paths[one]):  # removed a moment ago: the next run looks whether all is well
            self._counts["waiting"] += 1
            return
        if not self._skip_bad:
            raise bad
        self.problems.append(bad)
        self.bad[one] = self._scan.seen[one]
        self._counts["bad"] += 1

    def _delete(self) -> None:
        """Deletes the documents of files that are gone, if they are still what a sync has put there."""
        entries = self._record.entries
        doomed = [one for one in self._gone if self._stored(one) in entries[one].digests]
        self._counts["deleted"] += len(doomed)
        if self._dry_run:
            return
        if doomed:
            self._collection.delete(doomed)
        self._settled.update(dict.fromkeys(self._gone, FORGOTTEN))

    def _stored(self, one: str) -> str | None:
        """The digest of the document that is in under an id."""
        with suppress(KeyError):
            return digest_of(self._collection.text(one), self._collection.metadata(one))
        return None


def _read(path: Path, one: str, apart: Apart) -> InputDocument:
    document = read_file(path, one, apart)
    if isinstance(document, BadInput):
        raise document
    return document


def _has(record: SyncRecord, one: str, digest: str | None) -> bool:
    return one in record.entries and digest in record.entries[one].digests
