"""Fewer vectors: an encoder whose documents are pooled by Ward's rule, while its queries stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.pooling import clusters, cut, merges
from maxsieve.text.encoders.encoder import F32, Encoder, Span, Traceable, Visual
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import Grid

MOST = 64
"""The largest factor that makes sense; a collection with a larger one is damaged."""


class PooledEncoder:
    """An encoder whose documents have ``factor`` times fewer rows (`maxsieve.pool`); queries keep all of theirs.

    If the inner encoder is `Traceable`, so is this one. A pooled row is the mean of several tokens; its span is the
    span of the token that is most similar to it. To find that token, the text is encoded again.
    """

    def __new__(cls, encoder: Encoder, factor: int) -> PooledEncoder:
        """Makes a `Traceable` or `Visual` encoder if the inner encoder is one."""
        if cls is PooledEncoder and isinstance(encoder, Traceable):
            return super().__new__(_TraceablePooledEncoder)
        return super().__new__(_VisualPooledEncoder if isinstance(encoder, Visual) else cls)

    def __init__(self, encoder: Encoder, factor: int) -> None:
        self.encoder = encoder
        self.factor = as_count(factor, "pool", at_least=1, at_most=MOST)

    def __reduce__(self) -> tuple[Any, ...]:
        return PooledEncoder, (self.encoder, self.factor)

    @property
    def name(self) -> str:
        """The name of the inner encoder."""
        return self.encoder.name

    @property
    def dim(self) -> int:
        """The dimension of the inner encoder."""
        return self.encoder.dim

    @property
    def fingerprint(self) -> dict[str, str]:
        """The fingerprint of the inner encoder, and the factor."""
        return {**self.encoder.fingerprint, "pool": str(self.factor)}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The pooled rows of each text, as a document is encoded."""
        found = self.encoder.encode_documents(texts, progress=progress)
        return [cut(rows, merges(rows), self.factor) for rows in found]

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The rows of each text, encoded as a query and not pooled."""
        return self.encoder.encode_queries(texts)


class _TraceablePooledEncoder(PooledEncoder):
    encoder: Any

    def document_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``documents([text])[0]``: that of the token most similar to it."""
        spans: list[Span] = self.encoder.document_spans(text)
        [rows] = self.encoder.encode_documents([text])
        return [spans[token] for token in _nearest(rows, self.factor)]

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``queries([text])[0]``, counted in characters of the text."""
        spans: list[Span] = self.encoder.query_spans(text)
        return spans


class _VisualPooledEncoder(PooledEncoder):
    encoder: Any

    def grids(self, page: PageDocument) -> tuple[Grid, ...]:
        """None: a pooled row is the mean of patches that may be anywhere on the page."""
        return ()

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of the query, counted in characters of the text."""
        spans: list[Span] = self.encoder.query_spans(text)
        return spans


def check_pool(factor: Any) -> int:
    """Checks a pooling factor; a factor above 1 needs SciPy.

    >>> check_pool(2)
    2
    """
    checked = as_count(factor, "pool", at_least=1, at_most=MOST)
    if checked > 1:
        optional("scipy", "pool")
    return checked


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
