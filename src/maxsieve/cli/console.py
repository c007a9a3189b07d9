"""What goes where: answers to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console


class Output(Console):
    """Standard output. When its reader goes away, `BrokenPipeError` comes through, to end the command."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

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
    print(f"maxsieve: {message}", file=sys.stderr, flush=True)


def emit(answer: Any) -> None:
    """An answer for programs: one line of JSON on standard output."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(answer, ensure_ascii=not plain, allow_nan=False), flush=True)


def shows_progress(wanted: bool | None) -> bool:
    """Whether to draw progress bars: as asked, else if standard error is a terminal."""
    return sys.stderr.isatty() if wanted is None else wanted
