"""The projection of a collection, fitted before its first vectors go in, on a sample spread over what comes first."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import progress_bar
from maxsieve.text.adding import batches
from maxsieve.text.documents import check_text
from maxsieve.text.encoder import Encoder
from maxsieve.text.projection import fit_projection

SAMPLE_TOKENS = 100_000
SAMPLE_DOCUMENTS = 4096
HEAD_CHARACTERS = 1 << 22
"""A stream is read ahead so far, or up to `SAMPLE_DOCUMENTS`, to sample from; of a list, all of it is sampled."""

TOKENS_PER_DIMENSION = 8
"""A sample with fewer is too small to say which directions matter."""


class Ahead:
    """An encoder that remembers documents it encoded before their turn came, and hands each out once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """The encoder's."""
        return self._encoder.name

    @property
    def dim(self) -> int:
        """The encoder's."""
        return self._encoder.dim

    @property
    def fingerprint(self) -> dict[str, str]:
        """The encoder's."""
        return self._encoder.fingerprint

    def documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        """Their vectors, remembered or encoded."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(missing, self._encoder.documents(missing, progress=progress), strict=True))
        vectors = [self._vectors[text] for text in texts]
        for text in texts:
            self._vectors.pop(text, None)
        return vectors

    def queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The encoder's."""
        return self._encoder.queries(texts)

    def fit(self, sample: Iterable[str], dim: int, *, progress: bool) -> NDArray[np.float32] | None:
        """A projection to ``dim`` fitted on as much of the sample as it takes; None if no text in it has a token."""
        tokens = 0
        with progress_bar("fitting", None, shown=progress) as advance:
            for batch in batches(sample, len):
                self._vectors.update(zip(batch, self._encoder.documents(batch), strict=True))
                tokens = sum(len(rows) for rows in self._vectors.values())
                advance(len(batch))
                if tokens >= SAMPLE_TOKENS:
                    break
        if not tokens:
            return None
        if tokens < TOKENS_PER_DIMENSION * dim:
            warnings.warn(
                f"the projection to {dim} dimensions was fitted on only {tokens} tokens, which may cost quality, and "
                f"stays as it is: add at least {TOKENS_PER_DIMENSION * dim} tokens in the first call, or create the "
                "collection with dim=None (no projection) or projection= (a matrix fitted elsewhere)",
                UserWarning,
                stacklevel=5,
            )
        rows = np.concatenate(list(self._vectors.values()))
        if tokens > SAMPLE_TOKENS:
            rows = rows[np.linspace(0, tokens - 1, SAMPLE_TOKENS).astype(np.int64)]
        return fit_projection(rows, dim)


def sample_of(texts: Sequence[Any]) -> Iterator[str]:
    """Texts in an order that is random but the same every time, so that any number of them is spread over all."""
    for place in random.Random(0).sample(range(len(texts)), min(len(texts), SAMPLE_DOCUMENTS)):
        yield check_text(texts[place], f"texts: document {place}")


def peek(texts: Iterable[Any]) -> tuple[Sequence[Any], Iterable[Any]]:
    """What to sample from, and the same texts from the beginning on: of a stream, its head is read ahead."""
    if isinstance(texts, Sequence):
        return texts, texts
    stream = iter(texts)
    head: list[Any] = []
    characters = 0
    for text in stream:
        head.append(text)
        characters += len(check_text(text, f"texts: document {len(head) - 1}"))
        if len(head) >= SAMPLE_DOCUMENTS or characters >= HEAD_CHARACTERS:
            break
    return head, chain(head, stream)
