"""A long text, cut before it is tokenised: a tokenizer takes some 200 bytes a character, and most of them for nothing.

What the tokenizer gives for the beginning of a text must not depend on where it was cut. That holds where it splits
texts at white space before anything else: what stands before a space is then tokenised by itself. So a cut is accepted
only if the tokens that are kept, and one more, end before such a space, and the space is well before the cut. Otherwise
more of the text is read, in the end all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

CHARACTERS_PER_TOKEN = 32
"""Read at first, for each token that is kept: seven times what English needs."""

GROWTH = 4
MARGIN = 256
"""Characters between the space and the cut, at least: more than any character or added token is made of."""

_SPLITTERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "ByteLevel", "Metaspace"}
_NARROWERS = {"Punctuation", "Digits"}
_LOCAL = {
    *("BertNormalizer", "Lowercase", "Nmt", "NFC", "NFD", "NFKC", "NFKD", "Precompiled", "Prepend", "Strip"),
    "StripAccents",
}


class Truncated(NamedTuple):
    """A text as tokenised and cut to the most tokens that are read."""

    encoding: Any
    length: int
    """In tokens, special ones included, before the cut."""
    exact: bool
    """Whether the length is that of the whole text; else the text has at least as many."""


class Truncation:
    """A tokenizer that cuts at ``max_tokens``, given no more of a text than it needs for that."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer, self._max_tokens = tokenizer, max_tokens
        self._space = _boundary(tokenizer)
        added = (len(token.content) for token in tokenizer.get_added_tokens_decoder().values())
        self._margin = max([MARGIN, *(2 * length for length in added)])

    def encode(self, text: str) -> Truncated:
        """The tokens that are kept: the same, with the same spans, as if all of the text had been tokenised."""
        found, _ = self._encode(text)
        return found

    def shorten(self, text: str) -> str:
        """As much of a text as is needed to find ``max_tokens``, and that there are more, or all of it."""
        return text[: self._encode(text)[1]]

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each of some short texts has, without those that the tokenizer adds."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [len(one) + sum(map(len, one.overflowing)) for one in encodings]

    def _encode(self, text: str) -> tuple[Truncated, int]:
        """The tokens, and how many characters of the text are enough for them."""
        size = max(CHARACTERS_PER_TOKEN * self._max_tokens, 4 * self._margin)
        while self._space is not None and size < len(text):
            encoding = self.tokenizer.encode(text[:size])
            spaces = [found.start() for found in self._space.finditer(text, 0, size - self._margin)]
            settled = _count_before(encoding, spaces[-1]) if spaces else 0
            if settled > self._max_tokens:
                return Truncated(encoding, settled, exact=False), spaces[-1]
            size *= GROWTH
        encoding = self.tokenizer.encode(text)
        return Truncated(encoding, _count(encoding), exact=True), len(text)


def own_tokens(encoding: Any) -> Any:
    """Which of the tokens are the text's own, not added by the tokenizer."""
    return np.array(encoding.special_tokens_mask) == 0


def _count(encoding: Any) -> int:
    """How many tokens a text has, those that are cut off included."""
    own = own_tokens(encoding)
    added = len(own) - np.count_nonzero(own)
    return int(len(own) + sum(len(rest) - added for rest in encoding.overflowing))


def _count_before(encoding: Any, end: int) -> int:
    """How many tokens end before a place in the text, and those that the tokenizer adds."""
    parts = (encoding, *encoding.overflowing)
    found: int = sum(last <= end for part in parts for _, last in compress(part.offsets, own_tokens(part)))
    return found + len(encoding) - int(np.count_nonzero(own_tokens(encoding)))


def _boundary(tokenizer: Any) -> re.Pattern[str] | None:
    """Where a text may be cut: the first of a run of spaces. None if that could change the tokens before."""
    splitters = _steps(tokenizer.pre_tokenizer, "pretokenizers")
    kinds = {step["type"] for step in splitters}
    splits = kinds & _SPLITTERS and kinds <= _SPLITTERS | _NARROWERS
    whole = any(step.get("use_regex") is False or step.get("split") is False for step in splitters)
    if not splits or whole or not all(map(_is_local, _steps(tokenizer.normalizer, "normalizers"))):
        return None
    return re.compile(r"(?<=\S) " if "Metaspace" in kinds else r"(?<=\S)[ \t\r\n]")


def _steps(part: Any, inner: str) -> list[dict[str, Any]]:
    """The steps of a tokenizer's part, one after the other."""
    if part is None:
        return []
    pending, steps = [json.loads(part.__getstate__())], list[dict[str, Any]]()
    while pending:
        step = pending.pop(0)
        if step["type"] == "Sequence":
            pending = step[inner] + pending
        else:
            steps.append(step)
    return steps


def _is_local(step: dict[str, Any]) -> bool:
    """Whether a step of a normalizer looks at a character and its neighbours only."""
    if step["type"] == "Replace":
        return "String" in step["pattern"] or step["pattern"].get("Regex") == " {2,}"
    return step["type"] in _LOCAL
