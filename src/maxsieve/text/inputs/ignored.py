"""The rules of ``.gitignore`` files, as git has them.

A rule is compared with a file or folder itself, not with what is below it, because a folder that is ignored is not
entered. A pattern is matched name by name, in linear time, because a tree may be hostile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from typing import NamedTuple

SPECIAL = "*?[\\"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TRAILING = re.compile(r"(?<!\\)((?:\\\\)*)[ \t]+\Z")
_REPEATED = re.compile(r"(?<![^/])(?:\*\*/){2,}")
_COMPLEMENT = re.compile(r"\[\^")


class IgnoreRule(NamedTuple):
    """A line of a ``.gitignore`` file: a match for each name, and None for ``**``."""

    parts: tuple[Callable[[str], object] | None, ...]
    anywhere: bool
    """Whether its one name may be at any depth."""
    folders: bool
    ignores: bool

    def matches(self, names: Sequence[str], folder: bool) -> bool:
        """Whether the path with these names is meant."""
        if self.folders and not folder:
            return False
        if self.anywhere:
            return self.parts[0] is not None and self.parts[0](names[-1]) is not None
        last = len(self.parts) - 1
        reached = self._skipped({0}, last)
        for name in names:
            following: set[int] = set()
            for place in reached:
                if place > last:
                    continue
                if (part := self.parts[place]) is None:
                    following |= {place, place + 1} if place == last else {place}
                elif part(name):
                    following.add(place + 1)
            reached = self._skipped(following, last)
        return last + 1 in reached

    def _skipped(self, places: set[int], last: int) -> set[int]:
        """With the places after ``**``, which may stand for no folder, except at the end."""
        return places | {place + 1 for place in places if place < last and self.parts[place] is None}


def read_rules(text: str) -> list[IgnoreRule]:
    r"""The rules of a file, the last one first, because it counts.

    >>> rules = read_rules("# generated\n*.log\nbuild/\n!keep.log\n")
    >>> [verdict(rules, path.split("/")) for path in ("a/x.log", "keep.log", "build", "a.py")]
    [True, False, None, None]
    >>> verdict(rules, ["build"], folder=True)
    True
    """
    lines = text.removeprefix("\ufeff").split("\n")
    return [rule for line in reversed(lines) if (rule := _rule(line.removesuffix("\r"))) is not None]


def verdict(rules: Sequence[IgnoreRule], names: Sequence[str], *, folder: bool = False) -> bool | None:
    """Whether the path with these names is ignored; None if no rule is about it."""
    return next((rule.ignores for rule in rules if rule.matches(names, folder)), None)


def _rule(line: str) -> IgnoreRule | None:
    if line.startswith("#"):
        return None
    line = _TRAILING.sub(r"\1", line)
    ignores = not line.startswith("!")
    pattern = line if ignores else line[1:]
    folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anywhere = "/" not in pattern
    names = _REPEATED.sub("**/", pattern).removeprefix("/").split("/")
    if not pattern or "" in names:
        return None
    try:
        parts = tuple(None if name == "**" else re.compile(_translated(name)).match for name in names)
    except (re.error, ValueError):  # a pattern that git can't match, either
        return None
    return IgnoreRule(parts, anywhere and parts[0] is not None, folders, ignores)


def _translated(name: str) -> str:
    """A pattern for `re`. A character after a backslash stands for itself."""
    if name.endswith("\\") and not name.endswith("\\\\"):
        raise ValueError("nothing follows the backslash")
    plain = _ESCAPED.sub(lambda found: f"[{found[1]}]" if found[1] in SPECIAL else found[1], name)
    return translate(_COMPLEMENT.sub("[!", plain))
