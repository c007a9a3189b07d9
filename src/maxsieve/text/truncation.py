"""A long text, cut before it is tokenised: a tokenizer takes some 200 bytes a character, and most of them for nothing.

What the tokenizer gives for the beginning of a text must not depend on where it was cut. That holds where it splits
texts at white space before anything else: what stands before a space is then tokenised by itself. So a cut is accepted
only if the last token that is kept ends before such a space, and the space well before the cut. Otherwise more of the
text is read, in the end all of it.
"""

from __future__ import annotations

import json
import re
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
        size = max(CHARACTERS_PER_TOKEN * self._max_tokens, 4 * self._margin)
        while self._space is not None and size < len(text):
            encoding = self.tokenizer.encode(text[:size])
            if self._is_settled(encoding, text, size - self._margin):
                return Truncated(encoding, _length(encoding), exact=False)
            size *= GROWTH
        encoding = self.tokenizer.encode(text)
        return Truncated(encoding, _length(encoding), exact=True)

    def shorten(self, text: str) -> str:
        """As much of a text as is needed for ``max_tokens``, or all of it."""
        found = self.encode(text)
        if found.exact:
            return text
        end = max(end for _, end in found.encoding.offsets)
        assert self._space is not None
        space = self._space.search(text, end)
        return text if space is None else text[: space.start()]

    def _is_settled(self, encoding: Any, text: str, last: int) -> bool:
        """Whether there are tokens to spare, and a space between those that are kept and ``last``."""
        if not encoding.overflowing or self._space is None:
            return False
        end = max(end for _, end in encoding.offsets)
        return self._space.search(text, end, max(end, last)) is not None


def own_tokens(encoding: Any) -> Any:
    """Which of the tokens are the text's own, not added by the tokenizer."""
    return np.array(encoding.special_tokens_mask) == 0


def _length(encoding: Any) -> int:
    own = own_tokens(encoding)
    added = len(own) - np.count_nonzero(own)
    return int(len(own) + sum(len(rest.ids) - added for rest in encoding.overflowing))


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
