"""A regular expression that passages must contain, with a limit on the time of a match."""

from __future__ import annotations

import re

from maxsieve.common.processes import ending_after

SECONDS = 5.0
"""How long one text may be searched. Some patterns, such as ``(a+)+$``, can take years for a line."""

TOO_SLOW = f"the regular expression takes more than {SECONDS:g} seconds for a text: make it simpler"


class Pattern:
    r"""A regular expression, in which ``^`` and ``$`` are the ends of lines; `ValueError` if it is not a valid one.

    The limit holds in the main thread, and not on Windows, which has no such clock.

    >>> Pattern("^def f").occurs_in("import os\ndef f(): pass"), Pattern("o+").places_in("foo do")
    (True, [(1, 3), (5, 6)])
    """

    def __init__(self, regexp: str) -> None:
        try:
            self._compiled = re.compile(regexp, re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as problem:
            raise ValueError(f"the regular expression is not valid: {problem}") from None

    def occurs_in(self, text: str) -> bool:
        """Whether a text has a match."""
        with ending_after(SECONDS, TOO_SLOW):
            return self._compiled.search(text) is not None

    def places_in(self, text: str) -> list[tuple[int, int]]:
        """Where a text has matches that are not empty."""
        with ending_after(SECONDS, TOO_SLOW):
            return [found.span() for found in self._compiled.finditer(text) if found.group()]
