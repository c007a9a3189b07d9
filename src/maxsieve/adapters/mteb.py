"""MTEB: a search model that runs any multi-vector encoder through maxsieve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from maxsieve.adapters.tensors import to_rows
from maxsieve.arrays import FloatArray, from_buffer
from maxsieve.common.optional import optional
from maxsieve.hits import Guarantee
from maxsieve.index import Index
from maxsieve.policies import Policy
from maxsieve.storage.segments import Store

models: Any = optional("mteb.models", package="mteb>=2.26")
# Its data loaders join title and text, and queries and instructions.
loaders: Any = optional("mteb.models.search_wrappers", package="mteb>=2.26")
types: Any = optional("mteb.types", package="mteb>=2.26")

CHUNK = 5000
"""How many documents are encoded at a time."""
WEAKEST: list[Guarantee] = ["none", "calibrated on sentences", "calibrated", "pac", "exact"]
"""Guarantees, the weakest first."""


class _Encoder(models.MultiVectorWrapper):
    """MTEB's wrapper for encoders of Sentence Transformers (prompts, modalities, batches), with `encode` added."""

    def encode(self, inputs: Any, **kwargs: Any) -> Any:
        """Token vectors of a data loader's texts."""
        return self._encode(inputs, **kwargs)


class MaxsieveSearch:
    """A model for ``mteb.evaluate``: documents are encoded once and searched by maxsieve.

    model
        a ``MultiVectorEncoder`` of Sentence Transformers, the name or folder of one, or any model of MTEB whose
        ``encode`` returns token vectors. Its prompts are used as they are.
    policy
        `Certified` by default: the exact top k. `guarantee` is the guarantee of the last search.
    store
        the type of vectors in memory: ``"float16"`` and ``"int8"`` take less space, and round.
    """

    def __init__(self, model: Any, *, policy: Policy | str | None = None, store: Store = "float32") -> None:
        self.model = model if hasattr(model, "mteb_model_meta") else _Encoder(model)
        if not callable(getattr(self.model, "encode", None)):
            raise TypeError(f"{type(model).__name__} has no encode, and is not a MultiVectorEncoder")
        self._policy, self._store = policy, store
        self._index: Index | None = None
        self.guarantee: Guarantee | None = None
        """The weakest guarantee of the last search's answers: ``"exact"`` if all of them are."""

    @property
    def mteb_model_meta(self) -> Any:
        """The metadata of the encoder, under which MTEB stores results."""
        return self.model.mteb_model_meta

    def index(
        self,
        corpus: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Any,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Encodes a corpus, with title and text of each document joined, and builds an index of it."""
        self._index = None
        if not len(corpus):
            raise ValueError("the corpus is empty")
        about = {"task_metadata": task_metadata, "hf_split": hf_split, "hf_subset": hf_subset}
        rows = self._rows(corpus, types.PromptType.document, encode_kwargs, num_proc, about)
        self._index = Index.build(rows, [str(doc_id) for doc_id in corpus["id"]], store=self._store)

    def search(
        self,
        queries: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        encode_kwargs: Any,
        top_ranked: Any = None,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> dict[str, dict[str, float]]:
        """The best documents of the corpus for each query; with ``top_ranked``, only those documents are ranked.

        A document without tokens is never found.
        """
        if self._index is None:
            raise ValueError("Corpus must be indexed before searching.")
        about = {"task_metadata": task_metadata, "hf_split": hf_split, "hf_subset": hf_subset}
        rows = list(self._rows(queries, types.PromptType.query, encode_kwargs, num_proc, about))
        ids = list(queries["id"])
        candidates = None if top_ranked is None else [list(top_ranked.get(query, ())) for query in ids]
        hits = self._index.search_many(rows, top_k, policy=self._policy, candidates=candidates)
        given = {answer.report.guarantee for answer in hits}
        self.guarantee = next((guarantee for guarantee in WEAKEST if guarantee in given), None)
        return {query: dict(found) for query, found in zip(ids, hits, strict=True)}  # type: ignore[arg-type]

    def _rows(
        self, texts: Any, prompt_type: Any, encode_kwargs: Any, num_proc: int | None, about: dict[str, Any]
    ) -> Iterator[FloatArray]:
        """Token vectors, encoded in chunks, with the prompts of the model and the task."""
        for first in range(0, len(texts), CHUNK):
            loader = loaders.create_dataloader(
                texts.select(range(first, min(first + CHUNK, len(texts)))),
                task_metadata=about["task_metadata"],
                prompt_type=prompt_type,
                batch_size=encode_kwargs.get("batch_size", 32),
                num_proc=num_proc,
            )
            embeddings = self.model.encode(loader, prompt_type=prompt_type, **about, **encode_kwargs)
            for rows in to_rows(
                embeddings, what=str(prompt_type.value), zeros_are_padding=not isinstance(embeddings, list)
            ):
                yield from_buffer(rows)
