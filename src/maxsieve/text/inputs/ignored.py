"""The rules of ``.gitignore`` files, as git has them.

A rule is compared with a file or folder itself, not with what is below it, because a folder that is ignored is not
entered. A pattern is matched name by name, in linear time, because a tree may be hostile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_GROUP = re.compile(r"\(\?P([<=])")
_TRAILING = re.compile(r"(?<!\\)((?:\\\\)*) +\Z")
_IN_SET = r"(?:\\.|\[:[a-z]*:\]|[^\]\\])"
_TOKEN = re.compile(rf"\\(.)|\[(?:([!^])|(?![!^]))(\]{_IN_SET}*|{_IN_SET}+)\]|(.)", re.DOTALL)
"""A character after a backslash, a set of characters, or any other character."""
_RANGE = re.compile(r"\[:([a-z]*):\]|(?:\\(.)|(.))(?:-(?:\\(.)|(.)))?", re.DOTALL)
"""What a set has: a class, or a character or a range of them, where those after a backslash stand for themselves."""
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


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
        patterns = [_GROUP.sub(rf"(?P\1p{i}", pattern) for i, pattern in enumerate(patterns)]  # a name for one group
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
    try:
        names = _names(pattern.removeprefix("/"))
    except (KeyError, ValueError):  # a pattern that git can't match, either
        return None
    parts = [None if name is None else _part(name) for name in names]
    parts = [part for i, part in enumerate(parts) if part is not None or i == 0 or parts[i - 1] is not None]
    return IgnoreRule(tuple(parts), anywhere and parts[0] is not None, folders, ignores)


def _part(name: list[str]) -> NamePattern:
    """What a name must be."""
    if not any(one in "*." or one.startswith("[") for one in name):
        return NamePattern(_ESCAPED.sub(r"\1", "".join(name)), plain=True)
    return NamePattern(_translated(name), plain=False)


def _names(pattern: str) -> list[list[str] | None]:
    """The names of a pattern, each as a list of ``*`` and of expressions for one character; None for ``**``."""
    names: list[list[str]] = [[]]
    for escaped, complement, content, plain in (token.groups("") for token in _TOKEN.finditer(pattern)):
        if content:
            names[-1].append(f"[{'^' * bool(complement)}{_set(content)}]")
        elif (escaped or plain) == "/":
            names.append([])
        elif escaped or plain not in "*?[\\":
            names[-1].append(re.escape(escaped or plain))
        elif plain in "*?":
            names[-1].append(plain.replace("?", "."))
        else:
            raise ValueError("a set is not closed, or nothing follows a backslash")
    if [] in names:
        raise ValueError("a name is empty")
    return [None if len(name) > 1 and set(name) == {"*"} else name for name in names]


def _set(content: str) -> str:
    """The content of a set, for `re`. The first character of a range counts even if the range is empty."""
    found = []
    for named, *ends in (item.groups("") for item in _RANGE.finditer(content)):
        first, last = ends[0] or ends[1], ends[2] or ends[3]
        found.append(_CLASSES[named] if named else re.escape(first))
        if first < last:
            found[-1] += "-" + re.escape(last)
    return "".join(found)


def _translated(name: list[str]) -> str:
    """An expression for a name. What is between two ``*`` is found at its first place, and never again."""
    pieces = [""]
    for one in name:
        pieces[-1:] = [pieces[-1], ""] if one == "*" else [pieces[-1] + one]
    if len(pieces) == 1:
        return rf"(?s:{pieces[0]})\Z"
    between = "".join(f"(?=(?P<g{i}>.*?{piece}))(?P=g{i})" for i, piece in enumerate(pieces[1:-1]) if piece)
    return rf"(?s:{pieces[0]}{between}.*{pieces[-1]})\Z"
