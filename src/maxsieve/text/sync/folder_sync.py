"""Makes a collection follow a folder: new files are added, changed files replaced, removed files deleted.

A file with the same size and time as before is not read; a document with the same text is not encoded. A sync replaces
and deletes only documents that a sync of the same folder added: `sync_record` says how that is known. It may be killed
at any moment; the next run continues.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from maxsieve.errors import Argument, hinted
from maxsieve.storage.calibration import Changes
from maxsieve.text.collection.collection import Collection
from maxsieve.text.encoders.encoder import Visual
from maxsieve.text.inputs.document import BadInput
from maxsieve.text.inputs.folder import no_documents
from maxsieve.text.inputs.survey import Survey
from maxsieve.text.pages.ocr import decide_ocr
from maxsieve.text.sync.record import Seen, SyncRecord, read_records, record_path, sync_lock
from maxsieve.text.sync.run import Scan, Synced, SyncRun

FEW = 10
"""This many documents may disappear at once, even if few are left."""


class FolderSync:
    """Makes a collection follow a folder, once or repeatedly.

    collection, folder
        each file below the folder is a document, and its path in the folder is the id.
    prefix
        put before each id. By default, the prefix of the last run; at first none, or the folder's name if the
        collection follows another folder already.
    include
        patterns of files to read as text, whatever their kind, such as ``"*.conf"``. By default, those of the last run.
    adopt
        normally a file is refused if its id belongs to a document that was not added by sync; with ``adopt`` the file
        replaces that document. A document with the same text and metadata as the file is adopted in any case.
    allow_deletes
        normally a folder that is empty, or has lost more than half of its documents, is refused, because its disk may
        not be mounted. True allows it.
    moved_from
        the folder's previous path: documents that came from it now belong to this folder.
    inside
        whether links to files outside of the folder are left out.
    ocr
        whether pages without text are read by OCR; by default if it is installed, and the model is not visual.

    In a collection of pages, each page of a PDF is a document: ``file.pdf#page=3``.

    >>> import tempfile, numpy as np
    >>> class Lengths:
    ...     name, dim, fingerprint = "lengths", 2, {}
    ...     def encode_documents(self, texts, *, progress=False):
    ...         return [np.array([[1, len(text)]], np.float32) for text in texts]
    ...     encode_queries = encode_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "fox.md").write_text("A red fox.")
    ...     collection = Collection.create(f"{folder}/it.ms", Lengths())
    ...     FolderSync(collection, folder).run().added, collection.ids
    (1, ['fox.md'])
    """

    def __init__(
        self,
        collection: Collection,
        folder: str | os.PathLike[str],
        *,
        prefix: str | None = None,
        include: Sequence[str] | None = None,
        adopt: bool = False,
        allow_deletes: bool = False,
        moved_from: str | os.PathLike[str] | None = None,
        inside: bool = False,
        ocr: bool | None = None,
    ) -> None:
        self._ocr = ocr
        self.by_ocr = 0
        """How many pages were read by OCR in the last run."""
        self.recalibrated: Changes | None = None
        """What the last run took into calibrations: documents added and deleted; None if it left them."""
        self.encoded = False
        """Whether the last run encoded the vectors of a store of residuals, so that scores changed."""
        self.collection, self.folder = collection, check_folder(folder)
        self.problems: list[BadInput] = []
        """The files that could not be read in the last run."""
        self.encodings: dict[str, str] = {}
        """The files that are not UTF-8 in the last run, and how they were read."""
        self.survey: Survey | None = None
        """What the last run saw in the folder, and left out."""
        self._prefix, self._adopt, self._allow_deletes = prefix, adopt, allow_deletes
        self._inside = inside
        self._include = None if include is None else tuple(include)
        self._moved_from = None if moved_from is None else os.path.realpath(moved_from)
        self._earlier: dict[str, Seen] | None = None
        self._bad: dict[str, Seen] = {}
        self._idle = False

    def run(
        self, *, strict: bool = False, dry_run: bool = False, settled: bool = False, progress: bool = False
    ) -> Synced:
        """Runs the sync once. Then calibrations are brought up to date, if that makes searches clearly faster.

        strict
            the first file that can't be read ends the run with a `BadInput`; otherwise such files are skipped, and
            `problems` names them. A document that was made earlier from such a file stays.
        dry_run
            changes nothing, and encodes nothing.
        settled
            for repeated runs: files that have changed since the previous run are left to the next one, because they may
            still be written; bad files that have not changed are not read again.
        """
        self.problems, self.recalibrated, self.encoded = [], None, False
        if settled and self._idle and self._scan(self._prefix or "").seen == self._earlier:
            return Synced(unchanged=len(self._earlier))
        self._idle = False
        with self._record(dry_run) as record:
            self._prefix, self._include = record.prefix, record.include
            scan = self._scan(record.prefix)
            self.survey = scan.survey
            files = {id: scan.file_of(id) for id in record.entries}
            left = sum(file in scan.seen or scan.hides(id) for id, file in files.items())
            self._check_size(record, left + len(scan.seen.keys() - set(files.values())))
            self.collection.refresh()
            visual = self.collection.has_pages and isinstance(self.collection.encoder, Visual)
            ocr = decide_ocr(self._ocr, visual=visual)
            options = {"adopt": self._adopt, "strict": strict, "dry_run": dry_run, "ocr": ocr}
            run = SyncRun(self.collection, record, self._others(record), scan, **options)
            run.plan(self._earlier if settled else None, self._bad if settled else {})
            done = run.carry_out(progress)
            if not dry_run:
                self.encoded = self.collection.encode_store(progress=progress)
                self._recalibrate(progress)
        self.problems, self._earlier, self._bad = run.problems, scan.seen, run.bad
        self.encodings = run.encodings
        self.by_ocr = run.by_ocr
        self._prefix, self._idle = record.prefix, not (done.waiting or scan.unlisted)
        return done

    def _recalibrate(self, progress: bool) -> None:
        """Brings calibrations up to date, if searches follow up more new documents than others."""
        if self.collection.index.recalibration_pays:
            changes = self.collection.index.storage.snapshot.changes
            self.collection.recalibrate(progress=progress)
            self.recalibrated = changes

    def changes(self) -> tuple[int, int]:
        """How many files are new, changed or gone by their sizes and times, and the bytes of those to be read."""
        with self._record(dry_run=True) as record:
            scan = self._scan(record.prefix)
        known = {scan.file_of(id): entry.seen for id, entry in record.entries.items()}
        new = [seen.size for id, seen in scan.seen.items() if seen not in (known.get(id), record.bad.get(id))]
        return len(new) + len(known.keys() - scan.seen.keys()), sum(new)

    def _scan(self, prefix: str) -> Scan:
        options: dict[str, Any] = {"inside": self._inside, "pages": self.collection.has_pages}
        return Scan(self.folder, prefix, self.collection.path, include=self._include or (), **options)

    @contextmanager
    def _record(self, dry_run: bool) -> Iterator[SyncRecord]:
        """The record of this folder, under the lock (a dry run needs no lock)."""
        with ExitStack() as stack:
            if not dry_run:
                stack.enter_context(sync_lock(self.collection.path))
            path = record_path(self.collection.path, str(self.folder))
            record = SyncRecord.read(path)
            if record is None:
                record = SyncRecord(path, str(self.folder), "" if self._moved_from else self._free_prefix())
            record.rename(record.prefix if self._prefix is None else self._prefix, self._include)
            if self._moved_from is not None:
                self._take_over(record, dry_run)
            yield record

    def _free_prefix(self) -> str:
        """None if no other folder is followed; else the folder's name, with more of its path if ids begin with that."""
        others = [other for other in read_records(self.collection.path) if other.folder != str(self.folder)]
        if not others:
            return ""
        ids = [id for id in self.collection.ids if isinstance(id, str)]
        parts = [part for part in self.folder.parts if part != self.folder.anchor]
        prefixes = ("/".join(parts[-count:]) + "/" for count in range(1, len(parts) + 1))
        return next((prefix for prefix in prefixes if not any(id.startswith(prefix) for id in ids)), "")

    def _take_over(self, record: SyncRecord, dry_run: bool) -> None:
        """Moves the entries of the folder's previous path to this record. A second call has no effect."""
        assert self._moved_from is not None
        former = SyncRecord.read(record_path(self.collection.path, self._moved_from))
        if former is None and not record.entries:
            raise ValueError(f"{self.collection.path} has no record of documents from {self._moved_from}")
        if former is None or former.folder == record.folder:
            return
        record.entries = {**former.entries, **record.entries}
        record.rename(former.prefix if self._prefix is None else self._prefix, self._include or former.include)
        if not dry_run:
            record.write()
            former.path.unlink()
            self._moved_from = None

    def _others(self, record: SyncRecord) -> list[SyncRecord]:
        return [
            other
            for other in read_records(self.collection.path)
            if other.folder not in (record.folder, self._moved_from)
        ]

    def _check_size(self, record: SyncRecord, found: int) -> None:
        """Refuses a folder that has lost so many files that something else may be wrong."""
        known = len(record.entries)
        if not known and not found:
            raise ValueError(no_documents(self.folder))
        if not self._allow_deletes and known and (not found or (known - found > FEW and 2 * found < known)):
            wrong = ValueError(
                f"{self.folder} has {found:,} documents, but {known:,} came from it: is a disk not mounted?"
            )
            raise hinted(wrong, " If they should be deleted: {}", Argument("allow_deletes", True))


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder's path with links resolved, which identifies it in the record."""
    path = Path(os.path.realpath(folder))
    if not path.exists():
        raise FileNotFoundError(f"there is no folder {os.fspath(folder)}")
    if not path.is_dir():
        raise NotADirectoryError(f"{os.fspath(folder)} is a file; sync follows folders")
    return path
