"""Answers go to standard output, everything else to standard error. Control characters never reach the terminal."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maxsieve.common.printable import printable_json, printable_lines
from maxsieve.common.progress import only_if_long


def prepare_streams() -> None:
    """Characters that the terminal's encoding lacks are replaced instead of raising an error."""
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


def print_answer(answer: Any, line: str, *, as_json: bool) -> None:
    """Prints the answer of a command: as JSON, or as a line for a reader."""
    if as_json:
        emit(answer)
    else:
        print_line(line)


def shows_progress(wanted: bool | None) -> bool:
    """Whether to show progress. By default (`None`), lines are printed only for work that takes over a minute."""
    if wanted is None:
        only_if_long()
    return wanted is not False


@contextmanager
def showing_warnings() -> Iterator[None]:
    """Inside, warnings are printed as messages on standard error; with ``python -W error`` they stay errors."""
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
