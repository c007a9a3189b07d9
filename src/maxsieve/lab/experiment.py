"""What experiments share: their options, and what names them."""

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
    """What a user can set for every experiment."""

    queries: int | None = None
    """Only the first so many judged queries; None: all, or as many as ``quick`` takes."""
    threads: int | None = None
    """For what isn't timed; timed runs say their own."""
    quick: bool = False
    """Fewer queries and settings: to see that it works, and the shape of the answer."""
    progress: bool = False

    QUICK_QUERIES = 20

    @property
    def count(self) -> int | None:
        """How many queries to run."""
        return self.QUICK_QUERIES if self.queries is None and self.quick else self.queries

    @property
    def cores(self) -> int:
        """Threads for what isn't timed."""
        return thread_count(self.threads)

    @contextmanager
    def bar(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        """A progress bar, if wanted."""
        with progress_bar(description, total, shown=self.progress) as advance:
            yield advance


@dataclass(frozen=True)
class Experiment:
    """A name, a sentence, and the function that runs it."""

    name: str
    summary: str
    run: Callable[[Dataset, Options], Result]
