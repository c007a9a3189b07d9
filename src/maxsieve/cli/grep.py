"""`maxsieve grep`: finds the lines of a folder's files that answer a question, without set-up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from maxsieve.cli.answers import STYLES
from maxsieve.cli.console import Output, emit, print_line, say, shows_progress
from maxsieve.cli.failures import ExitCode, report_failure
from maxsieve.cli.options import AsJson, Progress
from maxsieve.common.printable import for_shell, printable
from maxsieve.text.collection.snippets import Mark, marks_of

if TYPE_CHECKING:
    from maxsieve.text.grep.line_answer import LineAnswer, LineHit
    from maxsieve.text.grep.pattern import Pattern

SHOWN_LINES = 3
"""How many lines of a passage are shown: those that match best."""

PATTERN = 1.0
"""The strength of a match of the pattern, compared with matches of words."""


def grep(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to search for.", show_default=False)],
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="The folder to search.")] = Path("."),
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many passages to find.")] = 10,
    type_: Annotated[
        list[str] | None, typer.Option("--type", "-t", metavar="SUFFIX", help="Search only files such as *.py.")
    ] = None,
    regexp: Annotated[
        str | None, typer.Option("--regexp", "-e", metavar="REGEX", help="Find only passages with a match of it.")
    ] = None,
    files: Annotated[bool, typer.Option("--files-with-matches", "-l", help="Print only the files.")] = False,
    index: Annotated[
        bool, typer.Option("--index", help="Encode all files first, and keep that in the cache for later searches.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(help="A model's name, a folder, or st:NAME.", show_default="the default model"),
    ] = None,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Find the lines that answer a question in a folder's files.

    Without --index, BM25 selects the passages that are encoded and ranked. With it, all passages are: once for the
    whole folder, later only for files that have changed. The exit code is 0 if something was found, 1 if nothing was,
    and 2 or more after an error.
    """
    with _failing_like_grep():
        if not question.strip():
            raise typer.BadParameter("the question is empty")
        from maxsieve.text.encoders.encoder import DEFAULT_ENCODER
        from maxsieve.text.grep.folder_search import FolderSearch
        from maxsieve.text.grep.pattern import Pattern

        try:
            pattern = None if regexp is None else Pattern(regexp)
        except ValueError as wrong:
            raise typer.BadParameter(f"-e: {wrong}") from None
        search = FolderSearch(folder, encoder or DEFAULT_ENCODER)
        if index:
            done = search.index(progress=shows_progress(progress))
            say(f"indexed: {done.added + done.changed:,} files added or changed, {done.unchanged:,} unchanged")
            for sentence in search.left_out:
                say(sentence)
        answer = search.answer(question, k, types=type_ or (), pattern=pattern)
        _show(answer, folder, pattern, files=files, as_json=as_json)
        if not answer.indexed and not as_json:
            say(f"to search all passages, encode them once: maxsieve grep --index QUESTION {for_shell(str(folder))}")
    if not answer.hits:
        raise typer.Exit(ExitCode.FAILED)


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
        console = Output()
        for hit in answer.hits:
            for row in _rows(hit, str(folder / str(hit.id)), pattern):
                console.print(row, soft_wrap=True)
    for remark in answer.remarks:
        say(remark)
    say(answer.guarantee)


def _rows(hit: LineHit, path: str, pattern: Pattern | None) -> Iterator[Text]:
    """The place of a hit, then its best lines with their numbers."""
    heading = f" {hit.heading}" if hit.heading else ""
    yield Text.assemble((f"{printable(path)}:{hit.first}-{hit.last}:", "bold"), printable(heading))
    marks = marks_of(hit.matches)
    if pattern is not None:
        marks += [Mark(*place, PATTERN) for place in pattern.places_in(hit.text)]
    start, lines = best_lines(hit.text, marks)
    width = len(str(hit.last))
    offset = len("\n".join(hit.text.split("\n")[:start])) + (start > 0)
    for number, line in enumerate(lines, hit.first + start):
        shown = Text(printable(line))
        for mark in marks:
            if mark.grade and offset <= mark.start < offset + len(line):
                shown.stylize(STYLES[mark.grade], mark.start - offset, mark.end - offset)
        if line.strip():
            yield Text.assemble((f"  {number:>{width}}: ", "dim"), shown)
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


@contextmanager
def _failing_like_grep() -> Iterator[None]:
    """An error has the exit code 2 if it would have 1, which means that nothing was found."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except (Exception, KeyboardInterrupt) as failure:
        raise typer.Exit(max(report_failure(failure), ExitCode.USAGE)) from failure
