"""The interactive session: one query per line, with line editing and a saved history."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from maxsieve.cli import options
from maxsieve.cli.answers import STYLES, heading, place_of, show_answer
from maxsieve.cli.console import say
from maxsieve.cli.failures import sentence
from maxsieve.common.printable import printable
from maxsieve.text.collection.snippets import marks_of

if TYPE_CHECKING:
    from maxsieve.text import TextHits

PROMPT = "> "
HISTORY_LINES = 1000
HELP = "Type a query. :show N shows hit N in full, :k N asks for N hits, :where JSON sets a filter, :quit ends."


class Conversation:
    """Answers queries until the input ends."""

    def __init__(
        self,
        console: Console,
        search: Callable[[str, int, Any], TextHits],
        k: int,
        where: Any = None,
        show: Callable[[Console, TextHits], None] = show_answer,
    ) -> None:
        self._console, self._search, self._k, self._where, self._show = console, search, k, where, show
        self._last: TextHits | None = None

    def run(self) -> None:
        """Runs until :quit or the end of the input. Ctrl-C cancels the line or the search, not the session."""
        self._console.print(Text(HELP, "dim"), soft_wrap=True)
        with _history():
            while self._go_on():
                pass

    def _go_on(self) -> bool:
        """Answers one line; False at the end."""
        try:
            line = input(PROMPT).strip()
            if line in (":quit", ":q", ":exit"):
                return False
            self._answer(line)
        except EOFError:
            self._console.print()
            return False
        except KeyboardInterrupt:
            self._console.print()
        return True

    def _answer(self, line: str) -> None:
        command, _, argument = line.partition(" ")
        if not line:
            return
        try:
            if command == ":k":
                self._k = _positive(argument)
            elif command == ":where":
                self._set_filter(argument.strip())
            elif command == ":show":
                self._show_in_full(_positive(argument))
            elif command.startswith(":"):
                self._console.print(HELP, soft_wrap=True)
            else:
                self._last = self._search(line, self._k, self._where)
                self._show(self._console, self._last)
        except (ValueError, OSError) as problem:
            say(sentence(problem))

    def _set_filter(self, written: str) -> None:
        """Sets the filter of later queries; an empty argument removes it."""
        try:
            self._where = options.to_filter(written or None)
        except typer.BadParameter as problem:
            raise ValueError(problem.message) from None

    def _show_in_full(self, rank: int) -> None:
        if self._last is None or rank > len(self._last):
            raise ValueError(f"there is no hit {rank}; search first")
        hit = self._last[rank - 1]
        name, skip = heading(hit.id, hit.text, hit.metadata, place_of(hit))
        if not skip:
            self._console.print(Text(printable(name), "bold"))
        shown = Text("\n".join(map(printable, hit.text.split("\n"))))
        for mark in marks_of(hit.explain()):
            shown.stylize(STYLES[mark.grade], mark.start, mark.end)
        self._console.print(shown)


def _positive(argument: str) -> int:
    if not argument.strip().isdecimal() or int(argument) < 1:
        raise ValueError(f"a whole number of at least 1 is expected, not {argument.strip()!r}")
    return int(argument)


@contextmanager
def _history() -> Iterator[None]:
    """Line editing, if Python has it, and the lines of earlier sessions."""
    try:
        readline = importlib.import_module("readline")
    except ImportError:
        yield
        return
    from maxsieve.common.cache import cache_folder

    path = cache_folder() / "history"
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LINES)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
