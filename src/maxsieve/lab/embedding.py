"""Corpora embedded once and kept as collections in the user's cache; an interrupted run goes on where it was."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from maxsieve.common.cache import cache_folder
from maxsieve.common.progress import progress_bar
from maxsieve.lab.corpora.corpus import Corpus
from maxsieve.text import Collection, Encoder
from maxsieve.text.encoder import F32

CHUNK = 500
"""Documents that are encoded once for all dimensions."""


class Remembering:
    """An encoder that keeps the vectors of one chunk, so that collections of several dimensions share them."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dim, self.fingerprint = encoder.name, encoder.dim, encoder.fingerprint
        self.queries = encoder.queries
        self._known: dict[str, F32] = {}

    def documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The vectors of documents, encoded unless they are known."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(missing, self._encoder.documents(missing, progress=progress), strict=True))
        return [self._known[text] for text in texts]

    def forget(self) -> None:
        """Begins with the next chunk."""
        self._known.clear()


def embed(corpus: Corpus, encoder: Encoder, dims: Sequence[int], *, progress: bool = False) -> list[Collection]:
    """A collection of the corpus for each number of dimensions, from the cache or made.

    Documents go in in an order that is random but fixed, so that the first chunk, to which projections are fitted, is a
    sample of all.
    """
    remembering = Remembering(encoder)
    collections = [_opened(corpus, remembering, dim) for dim in dims]
    if all(len(collection) == len(corpus.documents) for collection in collections):
        return collections
    order = iter(random.Random(0).sample(list(corpus.documents), len(corpus.documents)))
    with progress_bar(f"encoding {corpus.name}", len(corpus.documents), shown=progress) as advance:
        for ids in iter(lambda: list(islice(order, CHUNK)), []):
            for collection in collections:
                collection.add([corpus.documents[one] for one in ids], ids)
            remembering.forget()
            advance(len(ids))
    return collections


def _opened(corpus: Corpus, encoder: Encoder, dim: int) -> Collection:
    name = f"{corpus.name}-{corpus.digest[:12]}-{Path(encoder.name).name}-d{dim}"
    folder = cache_folder() / "collections" / name
    if not (folder / "collection.json").is_file():
        Collection.create(folder, encoder, dim).close()
    return Collection.open(folder, encoder)
