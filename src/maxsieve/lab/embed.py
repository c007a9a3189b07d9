"""Encodes corpora into collections in the user's cache, once; an interrupted run continues where it stopped."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from maxsieve.common.cache import cache_folder
from maxsieve.common.progress import progress_bar
from maxsieve.lab.corpora import Corpus
from maxsieve.lab.embedded import F32
from maxsieve.storage.segments import Store
from maxsieve.text import Collection, Encoder
from maxsieve.text.encoders.encoder import Measuring, WrappedEncoder, default_store

PAPER_STORE: Store = "float16"
"""The type of stored vectors that is nearest to the paper's."""
CHUNK = 500
"""How many documents are encoded at a time, once for all dimensions."""


class CountingEncoder(WrappedEncoder):
    """An encoder that counts tokens like the inner encoder."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        if isinstance(encoder, Measuring):
            self.max_tokens, self.count_tokens = encoder.max_tokens, encoder.count_tokens


class Remembering(CountingEncoder):
    """An encoder that caches the vectors of one chunk, so that collections of several dimensions share them."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self._known: dict[str, F32] = {}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The vectors of documents, from the cache or encoded."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(missing, self.encoder.encode_documents(missing, progress=progress), strict=True))
        return [self._known[text] for text in texts]

    def forget(self) -> None:
        """Clears the cache before the next chunk."""
        self._known.clear()


class Recalling(CountingEncoder):
    """An encoder that reads the vectors of a corpus's documents from a collection of it, which stores float16.

    int8 codes made from float16 equal those from float32, except that one in a hundred differs by one.
    """

    def __init__(self, encoder: Encoder, corpus: Corpus, known: Collection) -> None:
        super().__init__(encoder)
        self._known = known
        self._ids = {text: doc_id for doc_id, text in corpus.documents.items()}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The vectors of documents, from the cache or encoded."""
        found = {text: self._known.index.vectors(self._ids[text]) for text in texts if text in self._ids}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found.update(zip(missing, self.encoder.encode_documents(missing, progress=progress), strict=True))
        return [np.asarray(found[text], np.float32) for text in texts]


def embed(
    corpus: Corpus, encoder: Encoder, dims: Sequence[int], *, as_indexed: bool = False, progress: bool = False
) -> list[Collection]:
    """A collection of the corpus for each number of dimensions, from the cache or made now.

    Vectors are stored as in the paper, whole documents, or as in `Collection.create`, where long documents are split
    into passages. Documents are shuffled with a fixed seed, so that the first chunk, on which projections are fitted,
    is a sample of all.
    """
    remembering = Remembering(encoder)
    collections = [_opened(corpus, remembering, dim, as_indexed=as_indexed) for dim in dims]
    order = iter(random.Random(0).sample(list(corpus.documents), len(corpus.documents)))
    total = len(corpus.documents)
    if any(len(collection) < total for collection in collections):
        with progress_bar(f"encoding {corpus.name}", total, shown=progress, unit="documents") as advance:
            for ids in iter(lambda: list(islice(order, CHUNK)), []):
                for collection in collections:
                    collection.add([corpus.documents[doc_id] for doc_id in ids], ids)
                remembering.forget()
                advance(len(ids))
    for collection in collections:
        collection.encode_store(progress=progress)
    return collections


def embed_as_indexed(corpus: Corpus, encoder: Encoder, dim: int | None, *, progress: bool = False) -> Collection:
    """The corpus as `Collection.create` stores it by default, or with fewer dimensions.

    If the corpus was encoded before with all dimensions, those vectors are reused.
    """
    full = folder_of(corpus, encoder, encoder.dim)
    source: Encoder = encoder
    if (full / "collection.json").is_file():
        known = Collection.open(full, encoder)
        if len(known) == len(corpus.documents):
            source = Recalling(encoder, corpus, known)
    [made] = embed(corpus, source, [dim or encoder.dim], as_indexed=True, progress=progress)
    return made


def folder_of(corpus: Corpus, encoder: Encoder, dim: int, *, as_indexed: bool = False) -> Path:
    """The folder of a corpus in the cache."""
    kept = f"-{default_store(dim)}-passages" if as_indexed else ""
    name = f"{corpus.name}-{corpus.digest[:12]}-{Path(encoder.name).name}-d{dim}{kept}"
    return cache_folder() / "collections" / name.replace(":", "-")  # which no name on Windows may have


def _opened(corpus: Corpus, encoder: Encoder, dim: int, *, as_indexed: bool) -> Collection:
    folder = folder_of(corpus, encoder, dim, as_indexed=as_indexed)
    if not (folder / "collection.json").is_file():
        store = default_store(dim) if as_indexed else PAPER_STORE
        Collection.create(folder, encoder, dim, store=store, split=as_indexed).close()
    return Collection.open(folder, encoder)
