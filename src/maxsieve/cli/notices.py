"""Python's warnings as sentences on standard error: each once, and those about cut texts added up."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maxsieve.cli.console import say


class Notices:
    """Shows warnings as they come. Encoders tell of cut texts batch by batch: the first is said, then the sum."""

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
    return re.sub(r"\d+", lambda _: next(sums), messages[0])


@contextmanager
def noticing() -> Iterator[None]:
    """Warnings are notices inside; with ``python -W error`` they stay errors."""
    notices = Notices()
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = notices.show
        try:
            yield
        finally:
            notices.finish()
