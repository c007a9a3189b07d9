"""The best of some texts, without a collection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from maxsieve.ids import Id
from maxsieve.policies import Calibrated, Policy
from maxsieve.text.adding import count_texts, read_documents
from maxsieve.text.encoder import DEFAULT_ENCODER, Encoder, load_encoder
from maxsieve.text.hits import TextHits
from maxsieve.text.passages import Splitter, sizes_for, splitter_for
from maxsieve.text.searching import rerank_texts


def rerank(
    query: str,
    texts: Iterable[str],
    k: int | None = 10,
    *,
    ids: Iterable[Id] | None = None,
    metadata: Iterable[Any] | None = None,
    encoder: str | Encoder = DEFAULT_ENCODER,
    policy: Policy | None = None,
) -> TextHits:
    """The k best of some texts for a query, once; None for all. A text without a token is never a hit.

    Long texts are cut into passages, as in a collection, and each is known by its best one.

    ids, metadata
        one for each text, to know it again. Without ids, a text is known by its place in ``texts``, from 0.
    encoder
        a name for `load_encoder`, which is loaded anew at each call, or an encoder.

    >>> class Letters:
    ...     name, dim, fingerprint = "letters", 26, {}
    ...     def documents(self, texts, *, progress=False):
    ...         return [np.eye(26)[[ord(one) - 97 for one in text if one.isalpha()]] for text in texts]
    ...     queries = documents
    >>> import numpy as np
    >>> list(rerank("abc", ["xyz", "bcd", "", "abc"], encoder=Letters()))
    [(3, 3.0), (1, 2.0), (0, 0.0)]
    """
    loaded = to_encoder(encoder)
    split = splitter_for(loaded, sizes_for(loaded))
    return rerank_with(loaded, split, query, texts, k, ids=ids, metadata=metadata, policy=policy)


def rerank_with(
    encoder: Encoder,
    split: Splitter,
    query: str,
    texts: Iterable[str],
    k: int | None,
    *,
    ids: Iterable[Id] | None = None,
    metadata: Iterable[Any] | None = None,
    policy: Policy | None = None,
) -> TextHits:
    """`rerank` with an encoder and passages as they were chosen before."""
    if type(policy) is Calibrated:
        raise ValueError("rerank can't be Calibrated(): its texts were not calibrated; leave policy out")
    count_texts(texts, ids, metadata)
    listed = list(texts)
    documents = list(read_documents(listed, range(len(listed)) if ids is None else ids, metadata))
    return rerank_texts(query, documents, max(1, len(documents)) if k is None else k, policy, encoder, split)


def to_encoder(encoder: str | Encoder) -> Encoder:
    """An encoder by its name, or as it is.

    >>> to_encoder(7)
    Traceback (most recent call last):
    TypeError: an encoder, or the name of one, is needed, not 7
    """
    if isinstance(encoder, str):
        return load_encoder(encoder)
    if not isinstance(encoder, Encoder):
        raise TypeError(f"an encoder, or the name of one, is needed, not {encoder!r}")
    return encoder
