"""What experiments share: options, and the record of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.results import Result


@dataclass(frozen=True)
class Options:
    """The options of every experiment."""

    queries: int | None = None
    """How many of the judged queries to use; None: all, or the number of ``quick``."""
    threads: int | None = None
    """Threads for work that is not timed; timed runs set their own."""
    quick: bool = False
    """Fewer queries and settings, for a quick look."""
    progress: bool = False

    QUICK_QUERIES = 20

    @property
    def count(self) -> int | None:
        """How many queries to run."""
        return self.QUICK_QUERIES if self.queries is None and self.quick else self.queries

    @property
    def cores(self) -> int:
        """Threads for work that is not timed."""
        return thread_count(self.threads)

    @contextmanager
    def bar(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        """A progress bar, if wanted."""
        with progress_bar(description, total, shown=self.progress) as advance:
            yield advance


@dataclass(frozen=True)
class Experiment:
    """A name, a summary, and the function that runs the experiment."""

    name: str
    summary: str
    run: Callable[[Dataset, Options], Result]
