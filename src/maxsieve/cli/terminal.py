"""Standard output with styles, by rich. Control characters never reach the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from maxsieve.common.printable import printable_lines


class Output(Console):
    """Standard output. When its reader closes the pipe, `BrokenPipeError` is raised and ends the command."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments to draw, with their styles; control characters in their text are replaced."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))

    def on_broken_pipe(self) -> None:
        """Passes the error on."""
        raise BrokenPipeError
