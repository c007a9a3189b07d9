"""`maxsieve sync`: makes a collection follow a folder, once or until it is stopped."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.collections import as_single, describe_encoded, describe_size, is_collection
from maxsieve.cli.console import emit, print_answer, print_line, say, shows_progress
from maxsieve.cli.failures import ExitCode, report_bad, report_left_out, sentence
from maxsieve.cli.fast_path import Calibrate, make_fast, report_fast
from maxsieve.cli.index import Include, New, OcrOption, ReadPages, Strict, create_or_open, report_ocr
from maxsieve.cli.options import AsJson, CollectionPath, Progress
from maxsieve.errors import IndexLockedError
from maxsieve.text.collection.answers import changes_text
from maxsieve.text.inputs.document import Fields
from maxsieve.text.inputs.reading import DocumentReader, Input
from maxsieve.text.pages.ocr import decide_ocr

if TYPE_CHECKING:
    from maxsieve.text.sync.folder_sync import FolderSync
    from maxsieve.text.sync.run import Synced

EVERY = 2.0
"""Seconds between two scans of the folder."""


def sync(
    collection: CollectionPath,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to follow.", show_default=False)],
    watch: Annotated[bool, typer.Option("--watch", help="Keep watching for changed files, until Ctrl-C.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Put this before each id.",
            show_default="as last time; at first none, or the folder's name if another folder is followed",
        ),
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Replace documents that have a file's id but were not added by sync.")
    ] = False,
    moved_from: Annotated[
        Path | None, typer.Option(help="The folder's previous path, under which its documents are recorded.")
    ] = None,
    allow_deletes: Annotated[
        bool,
        typer.Option(
            "--allow-deletes", help="Delete even if the folder is empty or has lost more than half its files."
        ),
    ] = False,
    ocr: OcrOption = None,
    *,
    new: New,
    include: Include = None,
    calibrate: Calibrate = None,
    strict: Strict = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a collection follow a folder: new, changed and deleted files.

    Unchanged files are not encoded again. Only documents that came from the folder are deleted. Creates the collection
    if there is none. After an interruption, run the same command again to continue.
    """
    from maxsieve.text.sync.folder_sync import FolderSync, check_folder

    if watch and dry_run:
        raise typer.BadParameter("give --watch or --dry-run, not both")
    check_folder(folder)
    if not is_collection(collection):
        pages = ReadPages.of(collection, new.pages, new.encoder)
        options: dict[str, Any] = {"prefix": prefix or "", "include": tuple(include or ())}
        options |= {"pages": pages is not ReadPages.NO, "ocr": decide_ocr(ocr, visual=pages is ReadPages.ONLY)}
        source = Input(str(folder), **options)
        reader = DocumentReader([source], Fields(), strict=strict, pages_only=pages is ReadPages.ONLY)
        found = iter(reader)
        if next(found, None) is None:
            raise ValueError(f"no file in {folder} can be read; the first: {next(iter(reader.problems), None)}")
        if dry_run:
            _preview(collection, 1 + sum(1 for _ in found), reader, as_json)
            return
    with as_single(create_or_open(collection, new)) as target:
        follower = FolderSync(
            target,
            folder,
            prefix=prefix,
            include=include,
            adopt=adopt,
            allow_deletes=allow_deletes,
            moved_from=moved_from,
            ocr=ocr,
        )
        command = _Command(follower, collection, calibrate, shows_progress(progress), as_json)
        try:
            try:
                bad = command.run(strict=strict and not watch, dry_run=dry_run)
                if bad and not watch:
                    raise typer.Exit(ExitCode.SKIPPED)
            except IndexLockedError as locked:
                if not watch:
                    raise
                command.report_once(locked)
            while watch:
                time.sleep(EVERY)
                command.look_again()
        except KeyboardInterrupt:
            stopped = f"{collection} is valid and has {len(target):,} documents"
            if not watch:
                raise KeyboardInterrupt(f"interrupted; {stopped}: run the same command again to continue") from None
            say(f"stopped; {stopped}")


class _Command:
    """Runs the sync and reports what was done."""

    def __init__(
        self, follower: FolderSync, collection: Path, calibrate: bool | None, progress: bool, as_json: bool
    ) -> None:
        self._follower, self._path, self._progress, self._as_json = follower, collection, progress, as_json
        self._calibrate = calibrate
        self._failure = ""

    def run(self, *, strict: bool, dry_run: bool) -> int:
        """One run. Returns how many files could not be read."""
        started = perf_counter()
        done = self._follower.run(strict=strict, dry_run=dry_run, progress=self._progress)
        self._tell(done, perf_counter() - started, dry_run=dry_run)
        report_left_out(self._follower.survey)
        return done.bad

    def look_again(self) -> None:
        """Another run, while watching. Reports only changes. A failure is reported once, and the next run retries."""
        started = perf_counter()
        try:
            done = self._follower.run(settled=True, progress=self._progress)
        except Exception as failure:
            self.report_once(failure)
            return
        self._failure = ""
        if done.added or done.changed or done.deleted or done.bad or self._follower.recalibrated:
            self._tell(done, perf_counter() - started)

    def report_once(self, failure: Exception) -> None:
        """Reports why a run failed, unless the previous one failed for the same reason."""
        said = sentence(failure)
        if said != self._failure:
            say(f"{said}; trying again")
        self._failure = said

    def _tell(self, done: Synced, seconds: float, *, dry_run: bool = False) -> None:
        report_bad(done.bad, self._follower.problems, self._follower.encodings)
        report_ocr(self._follower.by_ocr)
        target, counts = self._follower.collection, done._asdict()
        del counts["waiting"]
        calibrated = partial(make_fast, target, not dry_run and self._calibrate, seconds, progress=self._progress)
        if self._as_json:
            size: dict[str, Any] = {"documents": len(target), "tokens": target.index.tokens}
            mode = {"dry_run": True} if dry_run else {}
            taken = {"recalibrated": self._follower.recalibrated is not None, "seconds": round(seconds, 3)}
            taken |= {"encoded": True} if self._follower.encoded else {}
            size |= {"calibration": facts} if (facts := calibrated()) else {}
            emit({"collection": str(self._path), **mode, **counts, **size, **taken})
            return
        parts = [f"{count:,} {what}" for what, count in counts.items() if what != "bad" and (count or what == "added")]
        text = ", ".join(parts)
        if dry_run:
            print_line(f"{self._path}: there would be {text}")
        else:
            print_line(f"{self._path}: {text} in {seconds:.1f} s; {describe_size(target)}")
            if self._follower.encoded:
                print_line(f"  {describe_encoded(target)}")
            report_fast(calibrated())
        if self._follower.recalibrated is not None:
            unit = "passage" if len(target.index) > len(target) else "document"
            print_line(
                f"  calibrated again, after {changes_text(*self._follower.recalibrated, unit)} since the last time"
            )


def _preview(collection: Path, documents: int, reader: DocumentReader, as_json: bool) -> None:
    """Reports what a first run would do, when there is no collection yet."""
    report_bad(reader.bad, reader.problems, reader.encodings)
    report_left_out(reader.inputs[0].survey())
    counts = {"added": documents, "changed": 0, "deleted": 0, "unchanged": 0, "bad": reader.bad}
    answer = {"collection": str(collection), "dry_run": True, **counts}
    print_answer(answer, f"{collection}: would be created with {documents:,} documents", as_json=as_json)
    if reader.bad:
        raise typer.Exit(ExitCode.SKIPPED)
