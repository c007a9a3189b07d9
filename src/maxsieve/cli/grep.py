"""`maxsieve grep`: finds the lines of a folder's files that answer a question, without set-up.

It is called often, and by programs. So its options are read by argparse, and rich is loaded only for a terminal: typer
and rich would take longer to import than an answer takes to find.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from maxsieve.cli.console import emit, prepare_streams, print_line, say, showing_warnings, shows_progress
from maxsieve.cli.failures import ExitCode, report_failure
from maxsieve.common.printable import for_shell, printable
from maxsieve.text.collection.snippets import Mark, marks_of
from maxsieve.text.encoders.truncation_warning import counting_truncations

if TYPE_CHECKING:
    from maxsieve.text.grep.line_answer import LineAnswer, LineHit
    from maxsieve.text.grep.pattern import Pattern

EXAMPLE = "maxsieve grep 'where are passages split' src"

SHOWN_LINES = 3
"""How many lines of a passage are shown: those that match best."""

PATTERN = 1.0
"""The strength of a match of the pattern, compared with matches of words."""

SUMMARY = "Find the lines that answer a question in a folder's files."
DESCRIPTION = f"""{SUMMARY}

Without --index, BM25 selects the passages that are encoded and ranked. With it, all passages are: once for the
whole folder, later only for files that have changed. The exit code is 0 if something was found, 1 if nothing was,
and 2 or more after an error."""


class UsageError(ValueError):
    """The options are wrong."""


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are errors: the caller reports them."""

    def error(self, message: str) -> NoReturn:
        """In place of ending the process."""
        raise UsageError(message)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(
        prog="maxsieve grep",
        description=DESCRIPTION,
        epilog=f"Example:  {EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("question", metavar="QUESTION", help="what to search for")
    made.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, default=Path("."), help="the folder to search")
    made.add_argument("-k", "--k", type=_at_least_one, default=10, help="how many passages to find (default: 10)")
    made.add_argument("-t", "--type", metavar="SUFFIX", action="append", help="search only files such as *.py")
    made.add_argument("-e", "--regexp", metavar="REGEX", help="find only passages with a match of it")
    made.add_argument("-l", "--files-with-matches", action="store_true", help="print only the files")
    made.add_argument(
        "--index", action="store_true", help="encode all files first, and keep that in the cache for later searches"
    )
    made.add_argument("--encoder", metavar="NAME", help="a model's name, a folder, or st:NAME")
    made.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show progress on standard error: a bar on a terminal, otherwise one line per minute",
    )
    made.add_argument("--json", action="store_true", help="print JSON, one object per line, for scripts")
    return made


def main(arguments: list[str]) -> int:
    """Runs the command, and returns its exit code."""
    return copy_context().run(_run, arguments)  # context variables that it sets do not outlive it


def _run(arguments: list[str]) -> int:
    try:
        prepare_streams()
        with showing_warnings(), counting_truncations():
            code = _grep(parser().parse_args(list(_joined(arguments))))
        sys.stdout.flush()
        return code
    except UsageError as wrong:
        say(f"{wrong}; see maxsieve grep --help")
        return ExitCode.USAGE
    except SystemExit:  # the help was shown
        return ExitCode.FINE
    except (Exception, KeyboardInterrupt) as failure:
        return max(report_failure(failure), ExitCode.USAGE)  # 1 means that nothing was found


def _grep(given: argparse.Namespace) -> int:
    if not given.question.strip():
        raise UsageError("the question is empty")
    from maxsieve.text.encoders.encoder import DEFAULT_ENCODER
    from maxsieve.text.grep.folder_search import FolderSearch
    from maxsieve.text.grep.pattern import Pattern

    try:
        pattern = None if given.regexp is None else Pattern(given.regexp)
    except ValueError as wrong:
        raise UsageError(f"-e: {wrong}") from None
    search = FolderSearch(given.folder, given.encoder or DEFAULT_ENCODER)
    if given.index:
        done = search.index(progress=shows_progress(given.progress))
        say(f"indexed: {done.added + done.changed:,} files added or changed, {done.unchanged:,} unchanged")
        for sentence in search.left_out:
            say(sentence)
    answer = search.answer(given.question, given.k, types=given.type or (), pattern=pattern)
    _show(answer, given.folder, pattern, files=given.files_with_matches, as_json=given.json)
    if answer.files and not answer.indexed and not given.json:
        say(f"to search all passages, encode them once: maxsieve grep --index QUESTION {for_shell(str(given.folder))}")
    return ExitCode.FINE if answer.hits else ExitCode.FAILED


def _joined(words: list[str]) -> Iterator[str]:
    """The arguments, in which what follows ``-e`` is a pattern, even if it begins with ``-``, as grep has it.

    >>> list(_joined(["red", "-e", "-x", "--", "-e", "y"]))
    ['red', '--regexp=-x', '--', '-e', 'y']
    """
    rest = iter(words)
    for word in rest:
        pattern = next(rest, None) if word in ("-e", "--regexp") else None
        yield word if pattern is None else f"--regexp={pattern}"
        if word == "--":
            yield from rest


def _at_least_one(word: str) -> int:
    if not (word.isdecimal() and len(word) < 10 and int(word) > 0):
        raise argparse.ArgumentTypeError(f"it must be a number from 1 to 999999999, not {word[:20]}")
    return int(word)


def _show(answer: LineAnswer, folder: Path, pattern: Pattern | None, *, files: bool, as_json: bool) -> None:
    if as_json:
        plain = answer.to_plain()
        for hit in plain["hits"]:
            hit["path"] = str(folder / str(hit.pop("id")))
        emit(plain)
        return
    if files:
        for path in dict.fromkeys(str(hit.id) for hit in answer.hits):
            print_line(printable(str(folder / path)))
    else:
        rows = (row for hit in answer.hits for row in _rows(hit, str(folder / str(hit.id)), pattern))
        if sys.stdout.isatty() or os.environ.get("FORCE_COLOR"):
            _print_styled(rows)
        else:
            for row in rows:
                print_line(row.place + row.text)
    for remark in answer.remarks:
        say(remark)
    say(answer.guarantee)


class Row(NamedTuple):
    """A line of output: a place, and what is there with its marks."""

    place: str
    text: str
    style: str
    """The style of the place."""
    marks: list[Mark]


def _print_styled(rows: Iterator[Row]) -> None:
    from rich.text import Text

    from maxsieve.cli.answers import STYLES
    from maxsieve.cli.terminal import Output

    console = Output()
    for row in rows:
        shown = Text(row.text)
        for mark in row.marks:
            shown.stylize(STYLES[mark.grade], mark.start, mark.end)
        console.print(Text.assemble((row.place, row.style), shown), soft_wrap=True)


def _rows(hit: LineHit, path: str, pattern: Pattern | None) -> Iterator[Row]:
    """The place of a hit, then its best lines with their numbers."""
    heading = f" {hit.heading}" if hit.heading else ""
    yield Row(f"{printable(path)}:{hit.first}-{hit.last}:", printable(heading), "bold", [])
    marks = marks_of(hit.matches)
    if pattern is not None:
        marks += [Mark(*place, PATTERN) for place in pattern.places_in(hit.text)]
    start, lines = best_lines(hit.text, marks)
    width = len(str(hit.last))
    offset = len("\n".join(hit.text.split("\n")[:start])) + (start > 0)
    for number, line in enumerate(lines, hit.first + start):
        own = [mark for mark in marks if mark.grade and offset <= mark.start < offset + len(line)]
        moved = [mark._replace(start=mark.start - offset, end=mark.end - offset) for mark in own]
        if line.strip():
            yield Row(f"  {number:>{width}}: ", printable(line), "dim", moved)
        offset += len(line) + 1


def best_lines(text: str, marks: list[Mark], most: int = SHOWN_LINES) -> tuple[int, list[str]]:
    r"""The consecutive lines with the strongest marks, and the position of the first.

    >>> best_lines("a\nb c\nd\ne", [Mark(2, 3, 1.0), Mark(4, 5, 1.0)], 2)
    (0, ['a', 'b c'])
    >>> best_lines("a\nb c\nd\ne", [Mark(8, 9, 1.0)], 1)
    (3, ['e'])
    """
    lines = text.split("\n")
    strengths = [0.0] * len(lines)
    for mark in marks:
        strengths[text.count("\n", 0, mark.start)] += mark.strength
    starts = range(max(1, len(lines) - most + 1))
    best = max(starts, key=lambda start: (sum(strengths[start : start + most]), -start))
    return best, lines[best : best + most]
