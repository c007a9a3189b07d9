"""What goes where: answers to standard output, all else to standard error, and nothing that steers a terminal."""

from __future__ import annotations

import os
import re
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
    print(printable_lines(answer))


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
    shown = ShownWarnings()
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = shown.show
        try:
            yield
        finally:
            shown.finish()


class ShownWarnings:
    """Shows each warning once. Encoders tell of cut texts batch by batch: the first is said, then the sum."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._cut: list[str] = []

    def show(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        """In place of `warnings.showwarning`."""
        text = str(message)
        if category.__name__ == "TruncationWarning":
            self._cut.append(text)
            if len(self._cut) > 1:
                return
        elif text in self._said or not (issubclass(category, UserWarning) or os.environ.get("MAXSIEVE_DEBUG")):
            return
        self._said.add(text)
        say(text)

    def finish(self) -> None:
        """Says the sum, if there was more than one warning of cut texts."""
        if len(self._cut) > 1:
            say(f"in all, {added_up(self._cut)}")


def added_up(messages: list[str]) -> str:
    """One sentence for several that differ in their numbers: how many of how many were cut, the limit, the longest.

    >>> added_up(["2 of 9 were cut at 512; the longest has 600", "1 of 5 were cut at 512; the longest has 900"])
    '3 of 14 were cut at 512; the longest has 900'
    """
    numbers = [[int(number) for number in re.findall(r"\d+", message)] for message in messages]
    if any(len(row) != 4 for row in numbers):
        return f"{len(messages)} batches had texts that were cut"
    cut, texts, limits, longest = zip(*numbers, strict=True)
    sums = iter(map(str, (sum(cut), sum(texts), limits[0], max(longest))))
    said = next((message for message in messages if "at least" in message), messages[0])
    return re.sub(r"\d+", lambda _: next(sums), said)
