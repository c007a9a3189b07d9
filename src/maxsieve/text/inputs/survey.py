"""What a folder contains: the files that are taken as documents, and what is left out, and why.

Left out are hidden files, links to folders, what ``.gitignore`` names, folders of other people's code, generated files
and large files of data or source. ``include`` takes files of any kind and size, but not from folders that are left out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from maxsieve.common.files import read_small
from maxsieve.text.inputs.definitions import missing_grammars
from maxsieve.text.inputs.document import BadInput, Place
from maxsieve.text.inputs.ignored import IgnoreRules
from maxsieve.text.inputs.isolated import READERS
from maxsieve.text.inputs.kinds import DATA, SOURCE, TEXT_SUFFIXES, kind_of, largest
from maxsieve.text.pages.rendering import PICTURES

SUFFIXES = (*TEXT_SUFFIXES, *READERS)
VENDORED = {"node_modules", "bower_components", "vendor", "third_party", "site-packages", "__pycache__"}
GENERATED_ENDS = (".min.js", ".min.css", ".map", "_pb2.py", "_pb2_grpc.py", ".pb.go", ".g.dart", ".lock")
GENERATED_NAMES = {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"}
ENVIRONMENT = "pyvenv.cfg"
"""A folder with this file is a Python environment: other people's code."""

IGNORE_FILE, LARGEST_IGNORE = ".gitignore", 1 << 20
NAMED_KINDS = 8
Rules = list[tuple[str, IgnoreRules]]
"""The rules that hold in a folder: those of its parents first, each with the folder that they are from."""


class FoundFile(NamedTuple):
    """A file of a folder. There are thousands of them: as `Path` objects, they would take longer than all else."""

    path: str
    id: str
    """Its path in the folder, with ``/``."""
    status: os.stat_result | None
    """None if it can't be examined: reading it says why."""


class Survey(NamedTuple):
    """The files to read, in order of their paths; how many files of other kinds there are; and what is left out."""

    files: list[FoundFile]
    other: Counter[str]
    ignored: int
    """How many files and folders are named by ``.gitignore``, or are vendored or generated."""
    large: list[BadInput]

    @property
    def said(self) -> list[str]:
        """What was left out, in sentences."""
        said = []
        if total := self.other.total():
            kinds = [f"{count:,} {'.' * (not kind[:1].isspace())}{kind}" for kind, count in self.other.most_common()]
            more = f" and {len(kinds) - NAMED_KINDS:,} more kinds" if len(kinds) > NAMED_KINDS else ""
            verb = "file is" if total == 1 else "files are"
            said.append(f"{total:,} {verb} of other kinds: {', '.join(kinds[:NAMED_KINDS])}{more}")
        if self.ignored:
            what = "file or folder is" if self.ignored == 1 else "files and folders are"
            said.append(f"{self.ignored:,} {what} left out: named by .gitignore, vendored or generated")
        if lost := missing_grammars([suffix_of(file.id) for file in self.files]):
            said.append(lost)
        said += [f"left out {problem}" for problem in self.large[:NAMED_KINDS]]
        if len(self.large) > NAMED_KINDS:
            said.append(f"left out {len(self.large) - NAMED_KINDS:,} more large files")
        return said


def survey(
    folder: Path,
    *,
    without: Path | None = None,
    refused: Callable[[OSError], None] | None = None,
    include: Sequence[str] = (),
    inside: bool = False,
    pages: bool = False,
) -> Survey:
    """Looks through a folder. The folder ``without`` is left out.

    If a folder can't be listed, ``refused`` is called with the error; without it, the error is raised. With ``inside``,
    links that lead out of the folder are left out. With ``pages``, pictures are documents, too.
    """
    suffixes = {*SUFFIXES, *(PICTURES if pages else ())}
    found = Survey([], Counter(), 0, [])
    ignored, start = 0, len(os.path.join(folder, ""))
    known = None if without is None else os.stat(without)
    waiting: list[tuple[str, Rules]] = [(str(folder), [])]
    while waiting:
        parent, above = waiting.pop()
        entries = _listed(parent, refused or _raise)
        names = {entry.name for entry in entries}
        if ENVIRONMENT in names and len(parent) > start:
            ignored += 1
            continue
        if IGNORE_FILE in names:
            above = [*above, (parent, _rules(parent))]
        for entry in entries:
            name, path = entry.name, entry.path
            if name.startswith("."):
                continue
            if _is_folder(entry):
                if _is(path, known):
                    continue
                if name in VENDORED or _ignores(above, path, folder=True):
                    ignored += 1
                elif not entry.is_symlink():
                    waiting.append((path, above))
                continue
            if inside and entry.is_symlink() and _leads_out(path, folder):
                continue
            included, suffix = include and _included(os.path.relpath(path, folder), name, include), suffix_of(name)
            if not included and (_ignores(above, path) or _is_generated(name)):
                ignored += 1
            elif not included and suffix not in suffixes:
                found.other[kind_of(name)] += 1
            else:
                status = _status(path)
                if not included and (reason := _too_large(name, suffix, status)):
                    found.large.append(BadInput(Place(path), reason))
                else:
                    found.files.append(FoundFile(path, path[start:].replace(os.sep, "/"), status))
    found.files.sort(key=lambda file: file.id.split("/"))
    return found._replace(ignored=ignored)


def suffix_of(name: str) -> str:
    """The suffix of a file, such as ``.py``."""
    return os.path.splitext(name)[1].lower()


def _listed(folder: str, refused: Callable[[OSError], None]) -> list[os.DirEntry[str]]:
    """The entries of a folder; none if it can't be listed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as problem:
        refused(problem)
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that can't be followed
        return False


def _leads_out(link: str, folder: Path) -> bool:
    """Whether a link leads to something outside of the folder."""
    return not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(folder))


def _rules(parent: str) -> IgnoreRules:
    try:
        content = read_small(Path(parent, IGNORE_FILE), at_most=LARGEST_IGNORE, follow_links=True)
    except (OSError, ValueError):  # unreadable, a pipe, or far too large
        return IgnoreRules("")
    return IgnoreRules(content.decode(errors="replace"))


def _ignores(above: Rules, path: str, *, folder: bool = False) -> bool:
    """Whether the innermost rule that says something about a path ignores it."""
    for parent, rules in reversed(above):
        if (found := rules.verdict(path[len(parent) + 1 :].split(os.sep), folder=folder)) is not None:
            return found
    return False


def _included(path: str, name: str, patterns: Sequence[str]) -> bool:
    posix = path.replace(os.sep, "/")
    return any(fnmatchcase(name, pattern) or fnmatchcase(posix, pattern) for pattern in patterns)


def _is_generated(name: str) -> bool:
    return name.endswith(GENERATED_ENDS) or name in GENERATED_NAMES or ".generated." in name


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _too_large(name: str, suffix: str, status: os.stat_result | None) -> str:
    """Why a file of data or source is left out; empty if it is not."""
    size = 0 if status is None else status.st_size
    if not (suffix in DATA or suffix in SOURCE) or size <= largest(suffix):
        return ""
    return f"it has {size:,} bytes, and files .{kind_of(name)} above {largest(suffix):,} are left out"


def _is(folder: str, known: os.stat_result | None) -> bool:
    """Whether it is a folder that is known. Names don't tell: on macOS and Windows `A` and `a` are the same folder."""
    try:
        return known is not None and os.path.samestat(os.stat(folder), known)
    except OSError:  # a link to nowhere, or gone by now
        return False


def _raise(problem: OSError) -> None:
    raise problem
