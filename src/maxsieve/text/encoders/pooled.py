"""Fewer vectors: an encoder whose documents are pooled by Ward's rule, while its queries stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.pooling import clusters, cut, merges
from maxsieve.text.encoders.encoder import F32, Encoder, Span, Traceable, Visual, WrappedEncoder

MOST = 64
"""The largest factor that makes sense; a collection with a larger one is damaged."""


class PooledEncoder(WrappedEncoder):
    """An encoder whose documents have ``factor`` times fewer rows (`maxsieve.pool`); queries keep all of theirs.

    If the inner encoder is `Traceable`, so is this one. A pooled row is the mean of several tokens; its span is the
    span of the token that is most similar to it. To find that token, the text is encoded again. Of a `Visual` encoder,
    pooled rows have no patches: each is the mean of patches that may be anywhere on the page.
    """

    def __init__(self, encoder: Encoder, factor: int) -> None:
        super().__init__(encoder)
        self.factor = as_count(factor, "pool", at_least=1, at_most=MOST)
        if isinstance(encoder, Traceable):
            self.document_spans = partial(_spans, encoder, self.factor)
        elif isinstance(encoder, Visual):
            self.grids = lambda page: ()

    def __reduce__(self) -> tuple[Any, ...]:
        return PooledEncoder, (self.encoder, self.factor)

    @property
    def fingerprint(self) -> dict[str, str]:
        """The fingerprint of the inner encoder, and the factor."""
        return {**self.encoder.fingerprint, "pool": str(self.factor)}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The pooled rows of each text, as a document is encoded."""
        found = self.encoder.encode_documents(texts, progress=progress)
        return [cut(rows, merges(rows), self.factor) for rows in found]


def check_pool(factor: Any) -> int:
    """Checks a pooling factor; a factor above 1 needs SciPy.

    >>> check_pool(2)
    2
    """
    checked = as_count(factor, "pool", at_least=1, at_most=MOST)
    if checked > 1:
        optional("scipy", "pool")
    return checked


def _spans(encoder: Any, factor: int, text: str) -> list[Span]:
    """One (start, end) per row of the pooled document: that of the token most similar to it."""
    spans: list[Span] = encoder.document_spans(text)
    [rows] = encoder.encode_documents([text])
    return [spans[token] for token in _nearest(rows, factor)]


def _nearest(rows: F32, factor: int) -> list[int]:
    """For each row of the pooled document, the most similar of its tokens; ties are broken by position."""
    steps = merges(rows)
    own = clusters(len(rows), steps, factor)
    similarity = (rows * cut(rows, steps, factor)[own]).sum(axis=1) if len(rows) else np.zeros(0)
    best: dict[int, int] = {}
    for token, cluster in enumerate(own.tolist()):
        if cluster not in best or similarity[token] > similarity[best[cluster]]:
            best[cluster] = token
    return [best[cluster] for cluster in sorted(best)]
