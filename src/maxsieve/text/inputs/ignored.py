"""The rules of ``.gitignore`` files, as git has them.

A rule is compared with a file or folder itself, not with what is below it, because a folder that is ignored is not
entered. A pattern is matched name by name, in linear time, because a tree may be hostile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

SPECIAL = "*?[\\"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TRAILING = re.compile(r"(?<!\\)((?:\\\\)*)[ \t]+\Z")
_REPEATED = re.compile(r"(?<![^/])(?:\*\*/){2,}")
_COMPLEMENT = re.compile(r"\[\^")


class NamePattern(NamedTuple):
    """What one name of a path must be: a name, or a pattern for `re`."""

    text: str
    plain: bool

    def matches(self, name: str) -> bool:
        """Whether it is such a name."""
        return name == self.text if self.plain else _compiled(self.text).match(name) is not None


_compiled = lru_cache(maxsize=4096)(re.compile)


class IgnoreRule(NamedTuple):
    """A line of a ``.gitignore`` file: a part for each name, and None for ``**``."""

    parts: tuple[NamePattern | None, ...]
    anywhere: bool
    """Whether its one name may be at any depth."""
    folders: bool
    ignores: bool

    def matches(self, names: Sequence[str], folder: bool) -> bool:
        """Whether the path with these names is meant."""
        if self.folders and not folder:
            return False
        if self.anywhere:
            return self.parts[0] is not None and self.parts[0].matches(names[-1])
        last = len(self.parts) - 1
        reached = self._skipped({0}, last)
        for name in names:
            following: set[int] = set()
            for place in reached:
                if place > last:
                    continue
                if (part := self.parts[place]) is None:
                    following |= {place, place + 1} if place == last else {place}
                elif part.matches(name):
                    following.add(place + 1)
            reached = self._skipped(following, last)
        return last + 1 in reached

    def _skipped(self, places: set[int], last: int) -> set[int]:
        """With the places after ``**``, which may stand for no folder, except at the end."""
        return places | {place + 1 for place in places if place < last and self.parts[place] is None}


class IgnoreRules:
    r"""The rules of a file, the last one first, because it counts.

    >>> rules = IgnoreRules("# generated\n*.log\nbuild/\n!keep.log\n")
    >>> [rules.verdict(path.split("/")) for path in ("a/x.log", "keep.log", "build", "a.py")]
    [True, False, None, None]
    >>> rules.verdict(["build"], folder=True)
    True
    """

    def __init__(self, text: str) -> None:
        lines = text.removeprefix("\ufeff").split("\n")
        self._rules = [rule for line in reversed(lines) if (rule := _rule(line.removesuffix("\r"))) is not None]
        lasts = {rule.parts[-1] for rule in self._rules}
        self._plain = {last.text for last in lasts if last is not None and last.plain}
        patterns = [".*" if last is None else last.text for last in lasts if last is None or not last.plain]
        self._patterns = re.compile("|".join(patterns) or r"(?!)", re.DOTALL)

    def verdict(self, names: Sequence[str], *, folder: bool = False) -> bool | None:
        """Whether the path with these names is ignored; None if no rule is about it."""
        if names[-1] not in self._plain and self._patterns.match(names[-1]) is None:
            return None  # as it is for most of thousands of files
        return next((rule.ignores for rule in self._rules if rule.matches(names, folder)), None)


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
        parts = tuple(None if name == "**" else _part(name) for name in names)
    except ValueError:  # a pattern that git can't match, either
        return None
    return IgnoreRule(parts, anywhere and parts[0] is not None, folders, ignores)


def _part(name: str) -> NamePattern:
    """What a name must be. A character after a backslash stands for itself."""
    if not any(character in name for character in SPECIAL):
        return NamePattern(name, plain=True)
    if name.endswith("\\") and not name.endswith("\\\\"):
        raise ValueError("nothing follows the backslash")
    plain = _ESCAPED.sub(lambda found: f"[{found[1]}]" if found[1] in SPECIAL else found[1], name)
    return NamePattern(translate(_COMPLEMENT.sub("[!", plain)), plain=False)
