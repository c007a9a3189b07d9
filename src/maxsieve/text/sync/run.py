"""One run of a sync: finds what has changed in a folder, and updates the collection."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from maxsieve.errors import Argument, hinted
from maxsieve.text.collection.collection import Collection
from maxsieve.text.encoders.encoder import Visual
from maxsieve.text.inputs.columns import as_columns
from maxsieve.text.inputs.document import NO_PAGE, BadInput, InputDocument
from maxsieve.text.inputs.files import FACTS, read_documents_of
from maxsieve.text.inputs.folder import unlisted_folder
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.reading import note_encoding
from maxsieve.text.inputs.survey import survey
from maxsieve.text.pages.page import file_of
from maxsieve.text.sync.record import FORGOTTEN, Entry, Seen, SyncRecord, digest_of

GROUP_DOCUMENTS, GROUP_CHARACTERS, GROUP_PAGES = 64, 1 << 20, 16
"""How much is written to the record at a time, before it is added to the collection."""

TICK, COARSE_TICK = 20_000_000, 2_000_000_000
"""Nanoseconds in which a file may change twice with the same time; the second if times are whole seconds."""


class Synced(NamedTuple):
    """How many documents were added, changed, deleted and unchanged, and how many files could not be read."""

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    bad: int = 0
    waiting: int = 0
    """Files that are still being written, and are left to the next run."""


class Scan:
    """The present files of a folder, by the ids of their documents; with ``pages``, by what those begin with."""

    def __init__(
        self,
        folder: Path,
        prefix: str,
        without: Path,
        *,
        include: tuple[str, ...] = (),
        inside: bool = False,
        pages: bool = False,
    ) -> None:
        self._folder, self._prefix, self._pages = folder, prefix, pages
        self.paths: dict[str, str] = {}
        self.seen: dict[str, Seen] = {}
        self.unlisted: dict[str, BadInput] = {}
        """Folders that could not be listed, whose documents stay, by what the ids of those start with."""
        self._at = time.time_ns()
        outside = Path(os.path.realpath(without))
        options: dict[str, Any] = {"inside": inside, "pages": pages, "include": include}
        self.survey = survey(folder, without=outside, refused=self._note, **options)
        for path, id, status in self.survey.files:
            seen = self._look(path) if status is None else Seen(status.st_size, status.st_mtime_ns)
            if seen is not None:
                self.paths[prefix + id], self.seen[prefix + id] = path, seen

    def file_of(self, id: str) -> str:
        """The key of a document's file in `paths`."""
        return id if not self._pages or id in self.paths else file_of(id)

    def hides(self, id: str) -> bool:
        """Whether the document came from a folder that could not be listed."""
        return id.startswith(tuple(self.unlisted))

    def is_gone(self, id: str) -> bool:
        """Whether the file of a document is gone now."""
        path = self._folder / self.file_of(id).removeprefix(self._prefix)
        return is_gone(path) and not is_gone(self._folder)

    def _look(self, path: str) -> Seen | None:
        """The state of a file that could not be examined; None if it was removed since its folder was listed."""
        try:
            status = os.stat(path)
            return Seen(status.st_size, status.st_mtime_ns)
        except OSError as problem:
            if not is_gone(path):
                return Seen(-1, -1)  # a link to nowhere, or it can't be examined: reading it says why
            if is_gone(parent := os.path.dirname(path)):
                self._note(OSError(problem.errno, problem.strerror, parent))
            return None

    def _note(self, problem: OSError) -> None:
        """Remembers a folder that can't be listed: it may have been removed or moved since its name was read."""
        if (folder := Path(problem.filename)) == self._folder:
            raise unlisted_folder(problem)
        self.unlisted[f"{self._prefix}{folder.relative_to(self._folder).as_posix()}/"] = unlisted_folder(problem)

    def lasting(self, id: str) -> Seen | None:
        """The state that detects later changes; None if the file is so new that a change could have the same time."""
        seen = self.seen[self.file_of(id)]
        tick = TICK if seen.mtime % 1_000_000_000 else COARSE_TICK
        return seen if seen.mtime + tick < self._at else None


class SyncRun:
    """One run: plans what to do, and does it."""

    def __init__(
        self,
        collection: Collection,
        record: SyncRecord,
        others: list[SyncRecord],
        scan: Scan,
        *,
        adopt: bool,
        strict: bool,
        dry_run: bool,
        ocr: bool = False,
    ) -> None:
        self._ocr = ocr
        self.by_ocr = 0
        """How many pages were read by OCR."""
        self._read: set[str] = set()
        """The documents that were found in files."""
        self._whole: set[str] = set()
        """The files that were read to their end."""
        self._vanished: set[str] = set()
        self._collection, self._record, self._others, self._scan = collection, record, others, scan
        self._adopt, self._strict, self._dry_run = adopt, strict, dry_run
        self._pending: list[str] = []
        self._gone: list[str] = []
        self._settled: dict[str, Entry] = {}
        """The entries to write into the record at the end."""
        self.problems: list[BadInput] = []
        self.encodings: dict[str, str] = {}
        """The files that are not UTF-8, and how they were read."""
        self.bad: dict[str, Seen] = {}
        """The files that could not be read."""
        self._counts: Counter[str] = Counter()

    def plan(self, earlier: Mapping[str, Seen] | None, bad: Mapping[str, Seen]) -> None:
        """Decides what to do, by sizes and times of files only."""
        inside, entries, seen = set(self._collection.ids), self._record.entries, self._scan.seen
        counts = self._counts
        own: dict[str, list[str]] = {}
        for id in entries:
            own.setdefault(self._scan.file_of(id), []).append(id)
        for id, now in seen.items():
            known = own.get(id, [])
            if known and all(entries[one].seen == now and one in inside for one in known):
                counts["unchanged"] += len(known)
            elif bad.get(id) == now:
                self.bad[id] = now
            elif earlier is not None and earlier.get(id) != now:
                counts["waiting"] += 1
            else:
                self._pending.append(id)
        for start, problem in self._scan.unlisted.items():
            if start not in bad:
                self.problems.append(problem)
                counts["bad"] += 1
            self.bad[start] = Seen(-1, -1)
        for id in entries:
            if (file := self._scan.file_of(id)) in seen:
                continue
            rewritten = (
                earlier is not None and file in earlier
            )  # some programs remove a file before they write it again
            if rewritten or self._scan.hides(id):
                counts["waiting"] += 1
            else:
                self._gone.append(id)

    def carry_out(self, progress: bool) -> Synced:
        """Reads pending files, adds new documents, deletes those of removed files, and writes the record."""
        if not (self._pending or self._gone):
            return Synced(**self._counts)
        documents = self._documents()
        first = next(documents, None)
        if self._dry_run:
            for _ in documents:
                pass
        elif first is not None:
            expected = None if self._collection.has_pages else len(self._pending)
            columns = as_columns(chain([first], documents), expected, str)
            self._collection.add(**columns, replace=True, progress=progress)
        self._delete()
        if not self._dry_run:
            for file in self.bad.keys() & self._scan.seen.keys():
                if (seen := self._scan.lasting(file)) is not None:
                    self._settled[file] = Entry((), seen)
            self._record.note(self._settled)
        return Synced(**self._counts)

    def _documents(self) -> Iterator[InputDocument]:
        """The documents that are new or changed. Each is written to the record before it is yielded."""
        group: list[InputDocument] = []
        claims: dict[str, Entry] = {}
        characters = 0
        with IsolatedReader(ocr=self._ocr) as reader:
            for document in self._found(reader):
                id = document.id or ""
                try:
                    claim = self._claim(id, document)
                    note_encoding(document, self.encodings)
                except BadInput as bad:
                    self._refuse(bad, self._scan.file_of(id))
                    continue
                self.by_ocr += document.by_ocr
                if claim is None:
                    continue
                group.append(document)
                claims[id] = claim
                characters += len(document.text) + (GROUP_CHARACTERS // GROUP_PAGES if document.page else 0)
                if len(group) >= GROUP_DOCUMENTS or characters >= GROUP_CHARACTERS:
                    yield from self._noted(group, claims)
                    group, claims, characters = [], {}, 0
            yield from self._noted(group, claims)

    def _found(self, reader: IsolatedReader) -> Iterator[InputDocument]:
        """The documents of pending files."""
        pages = self._collection.has_pages
        visual = pages and isinstance(self._collection.encoder, Visual)
        for file in self._pending:
            for found in read_documents_of(Path(self._scan.paths[file]), file, reader, pages=pages):
                if isinstance(found, BadInput):
                    self._refuse(found, file)
                elif visual and found.page is None:
                    self._refuse(BadInput(found.place, NO_PAGE), file)
                else:
                    self._read.add(found.id or "")
                    yield found
            if file not in self.bad and file not in self._vanished:
                self._whole.add(file)

    def _noted(self, group: list[InputDocument], claims: dict[str, Entry]) -> list[InputDocument]:
        if not self._dry_run:
            self._record.note(claims)
        return group

    def _claim(self, id: str, document: InputDocument) -> Entry | None:
        """The entry to write before the document is added; None if it is stored. `BadInput` if its id is taken."""
        picture = None if document.page is None else document.page.digest
        stored, same = self._stored(id, document)
        new = stored if same and stored is not None else digest_of(document.text, document.metadata, picture)
        entry = self._record.entries.get(id)
        own = stored is None or (entry is not None and stored in entry.digests)
        if not own and (other := next((it.folder for it in self._others if _has(it, id, stored)), None)):
            bad = BadInput(document.place, f"the document {id!r} came from {other}")
            ending = "; {} gives the files of this folder other ids; if it is the same folder, {} says so"
            raise hinted(bad, ending, Argument("prefix"), Argument("moved_from"))
        if not (own or self._adopt or stored == new):
            bad = BadInput(document.place, f"there is another document {id!r}, which was not added by sync")
            raise hinted(bad, "; {} replaces it", Argument("adopt", True))
        self._settled[id] = Entry((new,), self._scan.lasting(id))
        if stored == new:
            self._counts["unchanged"] += 1
            return None
        self._counts["added" if stored is None else "changed"] += 1
        return Entry((new,) if stored is None else (stored, new), None)

    def _refuse(self, bad: BadInput, id: str) -> None:
        if is_gone(self._scan.paths[id]):  # just removed: the next run looks at it again
            self._vanished.add(id)
            self._counts["waiting"] += 1
            return
        if self._strict:
            raise bad
        self.problems.append(bad)
        self.bad[id] = self._scan.seen[id]
        self._counts["bad"] += 1

    def _delete(self) -> None:
        """Deletes the documents of removed files, if they are still as a sync added them."""
        entries = self._record.entries
        gone = [id for id in self._gone if self._scan.is_gone(id)]  # some may be back
        self._counts["waiting"] += len(self._gone) - len(gone)
        gone += [id for id in entries if id not in self._read and self._scan.file_of(id) in self._whole]
        deleted = [id for id in gone if self._stored(id)[0] in entries[id].digests]
        self._counts["deleted"] += len(deleted)
        if self._dry_run:
            return
        if deleted:
            self._collection.delete(deleted)
        self._settled.update(dict.fromkeys(gone, FORGOTTEN))

    def _stored(self, id: str, other: InputDocument | None = None) -> tuple[str | None, bool]:
        """The digest of the stored document with this id, and whether it is the other one but for facts of its file."""
        with suppress(KeyError):
            page = self._collection.page_facts(id)
            picture = None if page is None else page.digest
            text, metadata = self._collection.text(id), self._collection.metadata(id)
            same = (
                other is not None
                and text == other.text
                and _lasting(metadata) == _lasting(other.metadata)
                and picture == (None if other.page is None else other.page.digest)
            )
            return digest_of(text, metadata, picture), same
        return None, False


def is_gone(path: str | Path) -> bool:
    """Whether nothing has this name. Another failure, such as a disk that does not answer, says nothing about that."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):  # the second: a file is where its folder was
        return True
    except OSError:
        return False
    return False


def _lasting(metadata: Any) -> Any:
    """Metadata without the facts about a file: some change when it is only touched, and earlier versions had none."""
    kept = {name: metadata[name] for name in metadata if name not in FACTS} if isinstance(metadata, dict) else metadata
    return kept or None


def _has(record: SyncRecord, id: str, digest: str | None) -> bool:
    return id in record.entries and digest in record.entries[id].digests
