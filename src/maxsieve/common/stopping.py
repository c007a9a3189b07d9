"""Work on another thread that may be told to end early."""

from __future__ import annotations

import threading


class Stopped(Exception):  # noqa: N818 - nothing is wrong: it was asked for
    """The work was told to end before it was done."""


class Stop:
    """A flag that any thread may raise, and that work looks at between two steps.

    >>> stop = Stop()
    >>> stop.check()
    >>> stop.request()
    >>> stop.check()
    Traceback (most recent call last):
    maxsieve.common.stopping.Stopped: nobody waits for it any more
    """

    def __init__(self) -> None:
        self._requested = threading.Event()

    def request(self) -> None:
        """Tells the work to end."""
        self._requested.set()

    def check(self) -> None:
        """Ends the work if it was told to."""
        if self._requested.is_set():
            raise Stopped("nobody waits for it any more")
