"""What a folder contains: the files that are taken as documents, and what is left out, and why.

Left out are hidden files, links to folders, what ``.gitignore`` names, folders of other people's code, generated files
and large files of data or source. ``include`` takes files of any kind and size, but not from folders that are left out.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase, translate
from pathlib import Path
from typing import NamedTuple

from maxsieve.common.files import read_small
from maxsieve.text.inputs.definitions import missing_grammars
from maxsieve.text.inputs.document import BadInput, Place
from maxsieve.text.inputs.ignored import IgnoreRule, read_rules, verdict
from maxsieve.text.inputs.isolated import READERS
from maxsieve.text.inputs.kinds import DATA, SOURCE, TEXT_SUFFIXES, kind_of, largest
from maxsieve.text.pages.rendering import PICTURES

SUFFIXES = (*TEXT_SUFFIXES, *READERS)
VENDORED = {"node_modules", "bower_components", "vendor", "third_party", "site-packages", "__pycache__"}
GENERATED = (
    *("*.min.js", "*.min.css", "*.map", "*_pb2.py", "*_pb2_grpc.py", "*.pb.go", "*.g.dart", "*.generated.*", "*.lock"),
    *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"),
)
_IS_GENERATED = re.compile("|".join(map(translate, GENERATED))).match
IGNORE_FILE, LARGEST_IGNORE = ".gitignore", 1 << 20
NAMED_KINDS = 8


class Survey(NamedTuple):
    """The files to read, in order of their paths; how many files of other kinds there are; and what is left out."""

    files: list[Path]
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
        if lost := missing_grammars([path.suffix.lower() for path in self.files]):
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
    files, ignored = list[str](), 0  # thousands of paths: as objects they take longer than all else
    known = None if without is None else os.stat(without)
    rules: dict[str, list[tuple[str, list[IgnoreRule]]]] = {}
    for parent, folders, names in os.walk(folder, onerror=refused or _raise):
        inherited = rules.pop(parent, [])
        above = [*inherited, (parent, _rules(parent))] if IGNORE_FILE in names else inherited
        kept = []
        for name in folders:
            path = os.path.join(parent, name)
            if name.startswith(".") or _is(path, known):
                continue
            if (
                name in VENDORED
                or os.path.exists(os.path.join(path, "pyvenv.cfg"))
                or _ignores(above, path, folder=True)
            ):
                ignored += 1
                continue
            rules[path] = above
            kept.append(name)
        folders[:] = kept
        for name in names:
            path = os.path.join(parent, name)
            suffix = os.path.splitext(name)[1].lower()
            if name.startswith(".") or (inside and leads_out(path, folder)):
                continue
            if include and _included(os.path.relpath(path, folder), name, include):
                files.append(path)
            elif _ignores(above, path) or _IS_GENERATED(name):
                ignored += 1
            elif suffix not in suffixes:
                found.other[kind_of(name)] += 1
            elif (suffix in DATA or suffix in SOURCE) and _size(path) > largest(suffix):
                reason = (
                    f"it has {_size(path):,} bytes, and files .{kind_of(name)} above {largest(suffix):,} are left out"
                )
                found.large.append(BadInput(Place(path), reason))
            else:
                files.append(path)
    files.sort(key=lambda path: path.split(os.sep))
    found.files.extend(map(Path, files))
    return found._replace(ignored=ignored)


def leads_out(path: str | Path, folder: Path) -> bool:
    """Whether a file is a link to something outside of the folder."""
    return os.path.islink(path) and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _rules(parent: str) -> list[IgnoreRule]:
    try:
        content = read_small(Path(parent, IGNORE_FILE), at_most=LARGEST_IGNORE, follow_links=True)
    except (OSError, ValueError):  # unreadable, a pipe, or far too large
        return []
    return read_rules(content.decode(errors="replace"))


def _ignores(above: Sequence[tuple[str, list[IgnoreRule]]], path: str, *, folder: bool = False) -> bool:
    """Whether the innermost rule that says something about a path ignores it."""
    for parent, rules in reversed(above):
        if (found := verdict(rules, path[len(parent) + 1 :].split(os.sep), folder=folder)) is not None:
            return found
    return False


def _included(path: str, name: str, patterns: Sequence[str]) -> bool:
    posix = path.replace(os.sep, "/")
    return any(fnmatchcase(name, pattern) or fnmatchcase(posix, pattern) for pattern in patterns)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:  # reading it says why
        return 0


def _is(folder: str, known: os.stat_result | None) -> bool:
    """Whether it is a folder that is known. Names don't tell: on macOS and Windows `A` and `a` are the same folder."""
    try:
        return known is not None and os.path.samestat(os.stat(folder), known)
    except OSError:  # a link to nowhere, or gone by now
        return False


def _raise(problem: OSError) -> None:
    raise problem
