"""What goes where: answers to standard output, all else to standard error, and nothing that steers a terminal."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from maxsieve.common.printable import printable_json, printable_lines
from maxsieve.common.progress import only_if_long


class Output(Console):
    """Standard output. When its reader goes away, `BrokenPipeError` comes through, to end the command."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is drawn, colours and all, with text that is printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))

    def on_broken_pipe(self) -> None:
        """Passes the error on."""
        raise BrokenPipeError


def prepare_streams() -> None:
    """Text that the terminal's encoding lacks is replaced, not fatal."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def say(message: str) -> None:
    """A message for people, on standard error."""
    print(f"maxsieve: {printable_lines(message)}", file=sys.stderr, flush=True)


def print_line(answer: str) -> None:
    """An answer for people: a line on standard output."""
    print(printable_lines(answer), flush=True)


def emit(answer: Any) -> None:
    """An answer for programs: one line of JSON on standard output."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(printable_json(answer, ascii_only=not plain), flush=True)


def shows_progress(wanted: bool | None) -> bool:
    """Whether to show progress: unless it is not wanted. Where nobody asked for it, only long work tells of itself."""
    if wanted is None:
        only_if_long()
    return wanted is not False


@contextmanager
def showing_warnings() -> Iterator[None]:
    """Python's warnings are sentences on standard error inside; with ``python -W error`` they stay errors."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = ShownWarnings().show
        yield


class ShownWarnings:
    """Shows each warning once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def show(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        """In place of `warnings.showwarning`."""
        text = str(message)
        if text in self._said or not (issubclass(category, UserWarning) or os.environ.get("MAXSIEVE_DEBUG")):
            return
        self._said.add(text)
        say(text)
