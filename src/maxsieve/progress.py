"""Progress bars, on standard error, from `rich`, which is an extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(description: str, total: int | None, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Yields a function that advances the bar by some documents; does nothing when not shown.

    >>> with progress_bar("indexing", 10, shown=False) as advance:
    ...     advance(10)
    """
    if not shown:
        yield lambda _: None
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError as missing:
        raise ImportError("progress=True needs rich: pip install 'maxsieve[progress]'") from missing
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total)
        yield lambda documents: bar.advance(task, documents)
