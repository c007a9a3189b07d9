"""Warnings about truncated texts: one summary over many calls of an encoder, with the names of the texts.

An encoder reports truncated texts by `report_truncation`, in each call. Code that calls it many times puts the calls
inside `counting_truncations`: then there is one warning at the first truncated text, and one at the end, with the
total.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

NAMED = 3
"""How many truncated texts a warning names."""

_NAME_CHARACTERS = 60


class TruncationWarning(UserWarning):
    """Texts were longer than the encoder's limit: the part after the limit has no vectors."""


class Tally(NamedTuple):
    """The counts of one process, to be added to those of others: texts, truncated texts, limit, longest, names."""

    texts: int
    cut: int
    limit: int
    longest: tuple[int, bool]
    names: list[Any]


class Cuts:
    """How many texts were encoded, how many of them were truncated, and the names of the first of these.

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
        """Counts encoded texts. Each length is the number of tokens, and whether it is exact or a lower bound."""
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
        self._say()

    def _say(self) -> None:
        """Warns about the first truncated text when it occurs."""
        if not self._said:
            self._said = self.sentence
            _warn(self._said)

    @property
    def tally(self) -> Tally:
        """All counts."""
        return Tally(self._texts, self._cut, self._limit, self._longest, self._names)

    def add(self, tally: Tally) -> None:
        """Adds the counts of another process.

        >>> cuts = Cuts()
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     cuts.add(Tally(7, 1, 9, (12, True), ["story"]))
        >>> cuts.add(Tally(5, 0, 0, (0, True), []))
        >>> cuts.sentence
        "1 of 12 texts were cut at 9 tokens: 'story'; the longest has 12"
        """
        self._texts += tally.texts
        if tally.cut:
            self._cut += tally.cut
            self._limit, self._longest = tally.limit, max(self._longest, tally.longest)
            for name in tally.names:
                self._name(name)
            self._say()

    @contextmanager
    def naming(self, names: Mapping[str, Any]) -> Iterator[None]:
        """Inside, warnings use these names of texts. Texts that were truncated earlier get their names, too."""
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
        """Warns about the total, if it is more than the first warning said."""
        if self._cut and self.sentence != self._said:
            _warn(f"in total, {self.sentence}")

    @property
    def sentence(self) -> str:
        """The message of the warning."""
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


def report_truncation(texts: Sequence[str], lengths: Sequence[tuple[int, bool]], limit: int) -> None:
    """Reports encoded texts, truncated or not, with their lengths in the form of `Cuts.count`.

    A `TruncationWarning` is issued if texts were truncated. It points to the caller outside of this package.
    """
    (_gathered.get() or Cuts()).count(texts, lengths, limit)


def add_cuts(tally: Tally) -> None:
    """Counts texts that were encoded by another process."""
    (_gathered.get() or Cuts()).add(tally)


@contextmanager
def counting_truncations() -> Iterator[Cuts]:
    """Inside, texts of all calls are counted together. Nested uses count together with the outermost."""
    if (outer := _gathered.get()) is not None:
        yield outer
        return
    cuts = Cuts()
    before = _gathered.set(cuts)
    try:
        yield cuts
    finally:
        _gathered.reset(before)
    cuts.finish()


@contextmanager
def naming_texts(names: Mapping[str, Any]) -> Iterator[None]:
    """Inside, an active `counting_truncations` uses these names of texts."""
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
