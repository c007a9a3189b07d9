"""`maxsieve sync`: a collection that follows a folder, once or as long as it runs."""

from __future__ import annotations

import time
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.failures import sentence
from maxsieve.cli.indexing import New, SkipBad, create_or_open
from maxsieve.cli.opening import describe_size, is_collection
from maxsieve.cli.options import AsJson, CollectionPath, Progress, with_groups
from maxsieve.cli.wording import as_options
from maxsieve.text.inputs import DocumentReader, Fields, Input

if TYPE_CHECKING:
    from maxsieve.text.sync_run import Synced
    from maxsieve.text.syncing import FolderSync

EVERY = 2.0
"""Seconds between two looks at the folder."""


def register(app: typer.Typer) -> None:
    """Puts the command into the tree."""
    app.command(epilog="Example:  maxsieve sync notes.ms ~/notes --watch")(with_groups(sync))


def sync(
    collection: CollectionPath,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to follow.", show_default=False)],
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C, as files change.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Put before each id, so that one collection can follow two folders.", show_default="the last"
        ),
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Replace documents with a file's id that no sync put there.")
    ] = False,
    moved_from: Annotated[
        Path | None, typer.Option(help="Where the folder was before; its documents are known by that.")
    ] = None,
    allow_deletes: Annotated[
        bool, typer.Option("--allow-deletes", help="Also if the folder is empty or has lost more than half.")
    ] = False,
    *,
    new: New,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a collection follow a folder: new, changed and deleted files.

    What has not changed is not encoded again, and nothing is deleted that did not come from the folder. Makes the
    collection if there is none. It may be interrupted: the same command goes on.
    """
    from maxsieve.text.syncing import FolderSync, check_folder

    if watch and dry_run:
        raise typer.BadParameter("--watch and --dry-run exclude each other")
    check_folder(folder)
    if not is_collection(collection):
        reader = DocumentReader([Input(str(folder))], Fields(), skip_bad=skip_bad)
        found = iter(reader)
        if next(found, None) is None:
            raise ValueError(f"no file in {folder} can be read; the first: {reader.first_bad}")
        if dry_run:
            _preview(collection, 1 + sum(1 for _ in found), reader, as_json)
            return
    with create_or_open(collection, new) as target:
        follower = FolderSync(
            target, folder, prefix=prefix, adopt=adopt, allow_deletes=allow_deletes, moved_from=moved_from
        )
        command = _Command(follower, collection, shows_progress(progress), as_json)
        try:
            command.run(skip_bad=skip_bad or watch, dry_run=dry_run)
            while watch:
                time.sleep(EVERY)
                command.look_again()
        except KeyboardInterrupt:
            stopped = f"{collection} is valid and has {len(target):,} documents"
            if not watch:
                raise KeyboardInterrupt(f"interrupted; {stopped}: the same command goes on from there") from None
            say(f"stopped; {stopped}")


class _Command:
    """Runs and tells what was done."""

    def __init__(self, follower: FolderSync, collection: Path, progress: bool, as_json: bool) -> None:
        self._follower, self._path, self._progress, self._as_json = follower, collection, progress, as_json
        self._failure = ""

    def run(self, *, skip_bad: bool, dry_run: bool) -> None:
        """Once."""
        started = perf_counter()
        done = self._follower.run(skip_bad=skip_bad, dry_run=dry_run, progress=self._progress)
        self._tell(done, perf_counter() - started, dry_run=dry_run)

    def look_again(self) -> None:
        """Once more, while watching: only changes are told, and a failure is told once and tried again."""
        started = perf_counter()
        try:
            done = self._follower.run(skip_bad=True, settled=True, progress=self._progress)
        except Exception as failure:
            said = sentence(failure)
            if said != self._failure:
                say(f"{said}; trying again")
            self._failure = said
            return
        self._failure = ""
        if done.added or done.changed or done.deleted or done.bad:
            self._tell(done, perf_counter() - started)

    def _tell(self, done: Synced, seconds: float, *, dry_run: bool = False) -> None:
        if self._follower.problems:
            first = as_options(str(self._follower.problems[0]))
            say(f"skipped {done.bad:,} that are no documents; the first: {first}")
        target, counts = self._follower.collection, done._asdict()
        del counts["waiting"]
        if self._as_json:
            size = {"documents": len(target), "tokens": target.index.tokens}
            mode = {"dry_run": True} if dry_run else {}
            emit({"collection": str(self._path), **mode, **counts, **size, "seconds": round(seconds, 3)})
            return
        parts = [f"{count:,} {what}" for what, count in counts.items() if what != "bad" and (count or what == "added")]
        text = ", ".join(parts)
        if dry_run:
            print_line(f"{self._path}: there would be {text}")
        else:
            print_line(f"{self._path}: {text} in {seconds:.1f} s; {describe_size(target)}")


def _preview(collection: Path, documents: int, reader: DocumentReader, as_json: bool) -> None:
    """What would be done where there is no collection yet."""
    if reader.bad:
        say(f"skipped {reader.bad:,} that are no documents; the first: {reader.first_bad}")
    if as_json:
        counts = {"added": documents, "changed": 0, "deleted": 0, "unchanged": 0, "bad": reader.bad}
        emit({"collection": str(collection), "dry_run": True, **counts})
    else:
        print_line(f"{collection}: would be made, with {documents:,} documents")
