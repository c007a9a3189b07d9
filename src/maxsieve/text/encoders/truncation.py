"""Shortens long texts before they are tokenised, because a tokenizer needs about 200 bytes per character.

The tokens at the beginning of a text must not depend on where it is cut. That holds for tokenizers that split texts at
white space first: the part before a space is then tokenised by itself. So a cut is accepted only if the kept tokens,
and one more, end before such a space, and the space is well before the cut. Otherwise more of the text is tokenised, if
necessary all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

CHARACTERS_PER_TOKEN = 32
"""How many characters are tokenised at first for each kept token: seven times what English needs."""

GROWTH = 4
MARGIN = 256
"""The least number of characters between the space and the cut: more than any added token has."""

_SPLITTERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "ByteLevel", "Metaspace"}
_NARROWERS = {"Punctuation", "Digits"}
_LOCAL = {
    *("BertNormalizer", "Lowercase", "Nmt", "NFC", "NFD", "NFKC", "NFKD", "Precompiled", "Prepend", "Strip"),
    "StripAccents",
}


class Truncated(NamedTuple):
    """A tokenised text, truncated at the token limit."""

    encoding: Any
    length: int
    """Number of tokens before truncation, including special tokens."""
    exact: bool
    """Whether ``length`` is exact; otherwise it is a lower bound."""


class Truncation:
    """A tokenizer that truncates at ``max_tokens``, and gets only as much of a text as it needs."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer, self._max_tokens = tokenizer, max_tokens
        self._space = _boundary(tokenizer)
        added = (len(token.content) for token in tokenizer.get_added_tokens_decoder().values())
        self._margin = max([MARGIN, *(2 * length for length in added)])

    def encode(self, text: str) -> Truncated:
        """The kept tokens: the same tokens and spans as if the whole text were tokenised."""
        found, _ = self._encode(text)
        return found

    def shorten(self, text: str) -> str:
        """The part of a text that has more than ``max_tokens`` tokens, or the whole text."""
        return text[: self._encode(text)[1]]

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each of these short texts has, without special tokens."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [len(one) + sum(map(len, one.overflowing)) for one in encodings]

    def _encode(self, text: str) -> tuple[Truncated, int]:
        """The tokens, and the number of characters that give the same tokens."""
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
    """A mask of the tokens that belong to the text, without special tokens."""
    return np.array(encoding.special_tokens_mask) == 0


def _count(encoding: Any) -> int:
    """How many tokens a text has, including those that are cut off."""
    own = own_tokens(encoding)
    added = len(own) - np.count_nonzero(own)
    return int(len(own) + sum(len(rest) - added for rest in encoding.overflowing))


def _count_before(encoding: Any, end: int) -> int:
    """How many tokens end before an offset of the text, plus the special tokens."""
    parts = (encoding, *encoding.overflowing)
    found: int = sum(last <= end for part in parts for _, last in compress(part.offsets, own_tokens(part)))
    return found + len(encoding) - int(np.count_nonzero(own_tokens(encoding)))


def _boundary(tokenizer: Any) -> re.Pattern[str] | None:
    """Where a text may be cut: at the first character of white space. None if a cut could change earlier tokens."""
    splitters = _steps(tokenizer.pre_tokenizer, "pretokenizers")
    kinds = {step["type"] for step in splitters}
    splits = kinds & _SPLITTERS and kinds <= _SPLITTERS | _NARROWERS
    whole = any(step.get("use_regex") is False or step.get("split") is False for step in splitters)
    if not splits or whole or not all(map(_is_local, _steps(tokenizer.normalizer, "normalizers"))):
        return None
    return re.compile(r"(?<=\S) " if "Metaspace" in kinds else r"(?<=\S)[ \t\r\n]")


def _steps(part: Any, inner: str) -> list[dict[str, Any]]:
    """The steps of a part of a tokenizer, with nested sequences flattened."""
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
    """Whether a step of a normalizer depends only on a character and its neighbours."""
    if step["type"] == "Replace":
        return "String" in step["pattern"] or step["pattern"].get("Regex") == " {2,}"
    return step["type"] in _LOCAL
