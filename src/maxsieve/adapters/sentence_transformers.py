"""Sentence Transformers: its `maxsim`, an encoder whose `similarity` is ours, and a search of multi-vector rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxsieve.adapters.tensors import device_of, score, to_rows
from maxsieve.arrays import from_buffer
from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.index import Index
from maxsieve.policies import Policy

torch: Any = optional("torch", "st")
Theirs: Any = optional("sentence_transformers", "st").MultiVectorEncoder

EMPTY = -1e9
"""The score of a document without tokens in Sentence Transformers."""
FEW = 4
"""Up to this many queries, scoring all documents is faster than building an index and searching it."""


def maxsim(
    a: Any,
    b: Any,
    a_mask: Any = None,
    b_mask: Any = None,
    chunk_elements: int | None = None,
    length_normalize: bool = False,
    device: Any = None,
) -> Any:
    """`sentence_transformers.util.maxsim` by maxsieve: a float32 tensor [queries, documents] on the documents' device.

    Accepts the same arguments: padded tensors, lists, masks. Rows of zeros in a padded tensor without a mask are
    padding. A document without tokens scores -1e9. ``chunk_elements`` and ``device`` are accepted for compatibility and
    have no effect: scoring runs on the CPU, in little memory. Gradients are not supported.
    """
    home = device_of(b) or device_of(a) or torch.device("cpu")
    queries = to_rows(a, a_mask, what="query", zeros_are_padding=_padded(a, a_mask))
    documents = to_rows(b, b_mask, what="document", zeros_are_padding=_padded(b, b_mask))
    scores = score(queries, documents, empty=EMPTY)
    if length_normalize:
        scores /= np.maximum([len(query) for query in queries], 1).astype(np.float32)[:, None]
    return torch.from_numpy(scores).to(home)


class MaxsieveEncoder(Theirs):
    """A `MultiVectorEncoder` with maxsieve's `similarity`. Everything else is unchanged, also `similarity_pairwise`."""

    def similarity(self, embeddings1: Any, embeddings2: Any, **kwargs: Any) -> Any:
        """Scores [queries, documents] by maxsieve; a model of "meanmaxsim" divides them by the query's length."""
        kwargs.setdefault("length_normalize", self.similarity_fn_name == "meanmaxsim")
        return maxsim(embeddings1, embeddings2, **kwargs)


def semantic_search(
    query_embeddings: Any, corpus: Any, top_k: int = 10, *, policy: Policy | str | None = None
) -> list[list[dict[str, Any]]]:
    """The best documents for each query, as ``sentence_transformers.util.semantic_search`` lists them.

    corpus
        the documents' embeddings, or an `Index` of them: built once, it makes each further call much faster.

    A hit is ``{"corpus_id": ..., "score": ...}``: the document's position in ``corpus``, or its id in the index. Ties
    are broken by the order of the corpus. A document without tokens is never a hit; a query without tokens has no hits.
    """
    top_k = as_count(top_k, "top_k", at_least=1)
    queries = to_rows(query_embeddings, what="query", zeros_are_padding=_padded(query_embeddings, None))
    asked = [i for i, query in enumerate(queries) if len(query)]
    found: list[list[dict[str, Any]]] = [[] for _ in queries]
    if isinstance(corpus, Index):
        index = corpus
    else:
        documents = to_rows(corpus, what="document", zeros_are_padding=_padded(corpus, None))
        if len(asked) <= FEW or not any(map(len, documents)):
            for i, scores in zip(asked, score([queries[i] for i in asked], documents, empty=-np.inf), strict=True):
                best = np.argsort(-scores, kind="stable")[:top_k]
                found[i] = [_hit(int(place), float(scores[place])) for place in best if len(documents[place])]
            return found
        index = Index.build([from_buffer(rows) for rows in documents])
    for i, hits in zip(
        asked, index.search_many([from_buffer(queries[i]) for i in asked], top_k, policy=policy), strict=True
    ):
        found[i] = [_hit(doc_id, value) for doc_id, value in hits]
    return found


def _hit(doc_id: int | str, value: float) -> dict[str, Any]:
    return {"corpus_id": doc_id, "score": value}


def _padded(embeddings: Any, mask: Any) -> bool:
    """Whether rows of zeros are padding: only in a padded tensor without a mask."""
    return mask is None and not isinstance(embeddings, (list, tuple))
