"""Texts that were longer than an encoder reads: counted over all its calls, and named where their names are known.

An encoder counts what it cuts by `warn_of_cuts`, call by call. Who calls it many times puts the calls inside
`gathering_cuts`: then the first cut is said when it happens, and at the end how many there were of all texts.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

NAMED = 3
"""So many of the texts that were cut are named."""

_NAME_CHARACTERS = 60


class TruncationWarning(UserWarning):
    """Texts were longer than the encoder reads: what follows the limit has no vectors."""


class Cuts:
    """How many texts were encoded, how many of them were cut, and which came first.

    >>> cuts = Cuts()
    >>> cuts.count(["one", "two"], [(3, True), (4, True)], limit=9)
    >>> with warnings.catch_warnings(), cuts.naming({"a long story": "story"}):
    ...     warnings.simplefilter("ignore")
    ...     cuts.count(["a long story"], [(700, False)], limit=9)
    >>> cuts.sentence
    "1 of 3 texts were cut at 9 tokens: 'story'; the longest has at least 700"
    """

    def __init__(self) -> None:
        self._texts = self._cut = self._limit = 0
        self._longest = (0, True)
        self._names: list[Any] = []
        self._nameless: set[int] = set()
        self._known: Mapping[str, Any] = {}
        self._said = ""

    def count(self, texts: Sequence[str], lengths: Sequence[tuple[int, bool]], limit: int) -> None:
        """Texts that were encoded; of each, how many tokens it has, and whether that is all or it may have more."""
        self._texts += len(texts)
        cut = [(text, length) for text, length in zip(texts, lengths, strict=True) if length[0] > limit]
        if not cut:
            return
        self._limit = limit
        self._cut += len(cut)
        self._longest = max(self._longest, *(length for _, length in cut))
        for text, _ in cut:
            if text in self._known:
                self._name(self._known[text])
            elif len(self._names) < NAMED:
                self._nameless.add(hash(text))
        if not self._said:
            self._said = self.sentence
            _warn(self._said)

    @contextmanager
    def naming(self, names: Mapping[str, Any]) -> Iterator[None]:
        """Inside, texts that are cut are known by their names; and so are those that were cut before, unknown."""
        before, self._known = self._known, names
        try:
            if self._nameless:
                for text, name in names.items():
                    if hash(text) in self._nameless:
                        self._nameless.discard(hash(text))
                        self._name(name)
            yield
        finally:
            self._known = before

    def _name(self, name: Any) -> None:
        if len(self._names) < NAMED and name not in self._names:
            self._names.append(name)

    def finish(self) -> None:
        """Says how many there were in all, if that is more than was said already."""
        if self._cut and self.sentence != self._said:
            _warn(f"in all, {self.sentence}")

    @property
    def sentence(self) -> str:
        """What there is to say."""
        longest, exact = self._longest
        return (
            f"{self._cut} of {self._texts} texts were cut at {self._limit} tokens{self._listed}; "
            f"the longest has {'' if exact else 'at least '}{longest}"
        )

    @property
    def _listed(self) -> str:
        if not self._names:
            return ""
        more = self._cut - len(self._names)
        return f": {', '.join(map(_short, self._names))}" + (f" and {more} more" if more else "")


_gathered: ContextVar[Cuts | None] = ContextVar("gathered", default=None)


def warn_of_cuts(texts: Sequence[str], lengths: Sequence[tuple[int, bool]], limit: int) -> None:
    """Counts texts that were encoded, whether they were cut or not, with their lengths as `Cuts.count` has them.

    A `TruncationWarning` says if texts were cut. It points to the code outside of this package that led there.
    """
    (_gathered.get() or Cuts()).count(texts, lengths, limit)


@contextmanager
def gathering_cuts() -> Iterator[None]:
    """Inside, texts are counted together; if that is inside another gathering, together with those."""
    if _gathered.get() is not None:
        yield
        return
    cuts = Cuts()
    before = _gathered.set(cuts)
    try:
        yield
    finally:
        _gathered.reset(before)
    cuts.finish()


@contextmanager
def naming_cuts(names: Mapping[str, Any]) -> Iterator[None]:
    """Inside, whoever gathers knows texts by these names."""
    cuts = _gathered.get()
    if cuts is None:
        yield
        return
    with cuts.naming(names):
        yield


def _short(name: Any) -> str:
    shown = repr(name)
    return shown if len(shown) <= _NAME_CHARACTERS else f"{shown[:_NAME_CHARACTERS]}…"


def _warn(sentence: str) -> None:
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("maxsieve", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, TruncationWarning, stacklevel=max(1, level))
