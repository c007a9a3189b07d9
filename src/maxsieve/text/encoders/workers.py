"""Applies a function to many items on several threads: for work that releases the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    threads: int,
    done: Callable[[Result], None],
    size: Callable[[Item], int] = lambda _: 0,
) -> list[Result]:
    """``[work(item) for item in items]``; calls ``done(result)`` after each, one at a time.

    The largest items are started first, so that no thread starts a long one when the others have finished. The threads
    end with the call. An error, or Ctrl-C, stops the other threads after their current item.

    >>> spread(len, ["a", "bcd"], threads=2, done=lambda _: None)
    [1, 3]
    """
    results: dict[int, Result] = {}
    places = iter(sorted(range(len(items)), key=lambda place: -size(items[place])))
    one_at_a_time = threading.Lock()
    stopped = threading.Event()

    def run_worker() -> None:
        try:
            while not stopped.is_set():
                with one_at_a_time:
                    place = next(places, None)
                if place is None:
                    return
                results[place] = result = work(items[place])
                with one_at_a_time:
                    done(result)
        finally:
            stopped.set()

    if threads == 1 or len(items) < 2:
        run_worker()
    else:
        with ThreadPoolExecutor(min(threads, len(items))) as crew:
            try:
                for job in [crew.submit(run_worker) for _ in range(threads)]:
                    job.result()
            finally:
                stopped.set()
    return [results[place] for place in range(len(items))]
