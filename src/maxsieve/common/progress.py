"""Progress bars, on standard error, from `rich`, which is an extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from maxsieve.common.printable import printable


@contextmanager
def progress_bar(description: str, total: int | None, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Yields a function that advances the bar by some documents; does nothing when not shown.

    The bar shows how many there are a second, the time that has passed and, with a ``total``, the time left.

    >>> with progress_bar("indexing", 10, shown=False) as advance:
    ...     advance(10)
    """
    if not shown:
        yield lambda _: None
        return
    try:
        from rich import progress
        from rich.console import Console
        from rich.text import Text
    except ImportError as missing:
        raise ImportError("progress=True needs rich: pip install 'maxsieve[progress]'") from missing

    class RateColumn(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            rate = task.finished_speed or task.speed or (task.completed / task.elapsed if task.elapsed else 0.0)
            return Text(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        RateColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(printable(description), total=total)
        yield lambda documents: bar.advance(task, documents)
