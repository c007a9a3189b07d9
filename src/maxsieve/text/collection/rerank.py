"""Reranks texts without a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.policies import Calibrated, Policy, to_policy
from maxsieve.text.collection.additions import check_text, count_texts, read_documents
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.search import check_usable
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, to_encoder
from maxsieve.text.encoders.truncation_warning import counting_truncations, naming_texts
from maxsieve.text.passages import Document, Keys, Passage, Splitter, sizes_for, splitter_for, to_record


def rerank(
    query: str,
    texts: Iterable[str],
    k: int | None = 10,
    *,
    ids: Iterable[Id] | None = None,
    metadata: Iterable[Any] | None = None,
    encoder: str | Encoder = DEFAULT_ENCODER,
    policy: Policy | str | None = None,
) -> TextHits:
    """The k best of these texts for a query; all of them if k is None. A text without a token is never a hit.

    Long texts are split into passages, as in a collection, and each has the score of its best passage.

    ids, metadata
        one for each text. Without ids, the id of a text is its position in ``texts``, from 0.
    encoder
        an encoder, or a name for `load_encoder`; an encoder given by name is loaded again at each call.

    >>> class Letters:
    ...     name, dim, fingerprint = "letters", 26, {}
    ...     def encode_documents(self, texts, *, progress=False):
    ...         return [np.eye(26)[[ord(letter) - 97 for letter in text if letter.isalpha()]] for text in texts]
    ...     encode_queries = encode_documents
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
    policy: Policy | str | None = None,
) -> TextHits:
    """`rerank` with a given encoder and splitter."""
    chosen = to_policy(policy)
    if type(chosen) is Calibrated:
        raise ValueError("rerank can't use Calibrated(): its texts were not calibrated; leave policy out")
    count_texts(texts, ids, metadata)
    listed = list(texts)
    documents = list(read_documents(listed, range(len(listed)) if ids is None else ids, metadata))
    return rerank_texts(query, documents, max(1, len(documents)) if k is None else k, chosen, encoder, split)


def rerank_texts(
    query: str, documents: Sequence[Document], k: int, policy: Policy | None, encoder: Encoder, split: Splitter
) -> TextHits:
    """The k best of these documents; long ones are split into passages, as in a collection."""
    query = check_text(query, "the query")
    started = perf_counter()
    [rows] = encoder.encode_queries([query])
    check_usable([query], [len(rows) > 0])
    passages = cut_documents(documents, split)
    with counting_truncations(), naming_texts({passage.encoded: document.id for document, passage in passages}):
        vectors = encoder.encode_documents([passage.encoded for _, passage in passages])
    took = perf_counter() - started
    hits = rerank_vectors(query, rows, passages, vectors, k, policy, encoder, Keys(passages=split.cuts))
    return replace(hits, encode_seconds=took)


def cut_documents(documents: Iterable[Document], split: Splitter) -> list[tuple[Document, Passage]]:
    """All passages of these documents, each with its document."""
    return [(document, passage) for document in documents for passage in split(document.text, document.metadata)]


def rerank_vectors(
    query: str,
    rows: NDArray[np.float32],
    passages: Sequence[tuple[Document, Passage]],
    vectors: Sequence[NDArray[np.float32]],
    k: int,
    policy: Policy | None,
    encoder: Encoder,
    keys: Keys,
) -> TextHits:
    """`rerank_texts` for a query and passages that are already encoded."""
    started = perf_counter()
    index = Index.create(rows.shape[1], group_by=keys.group_by)
    index.add(
        vectors,
        [keys.key(document.id, passage.number) for document, passage in passages],
        metadata=[to_record(passage, document.metadata) for document, passage in passages],
    )
    hits = index.search(rows, k, policy=policy)
    count = len({document.id for document, _ in passages})
    return TextHits.of_passages(
        hits,
        keys,
        query=query,
        search_seconds=perf_counter() - started,
        scope="candidates",
        _count=lambda _: count,
        _encoder=encoder,
    )
