"""Where an experiment's vectors come from: a corpus of texts and an encoder, or ready-made embeddings.

Corpora are embedded once and kept as collections in the user's cache; an interrupted run goes on where it was.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from maxsieve import Index
from maxsieve.common.cache import cache_folder
from maxsieve.common.progress import progress_bar
from maxsieve.lab import DIM
from maxsieve.lab.corpora import Corpus, read_corpus, read_vectors
from maxsieve.lab.corpora.ready import digest_of_vectors
from maxsieve.lab.embedded import F32, Embedded
from maxsieve.text import Collection, Encoder, load_encoder
from maxsieve.text.encoder import DEFAULT_ENCODER

CHUNK = 500
"""Documents that are encoded once for all dimensions."""


@dataclass(frozen=True)
class Dataset:
    """A corpus, and how it is embedded. ``Dataset.of("path/to/scifact").embedded()`` is what experiments run on.

    A corpus is a folder in BEIR form, a name of ir_datasets, or an ``.npz`` file of ready-made embeddings, which has no
    texts and no other encoder.
    """

    name: str
    encoder: str
    dim: int
    corpus: Corpus | None
    path: Path | None = None
    progress: bool = False
    _made: dict[int, Embedded] = field(default_factory=dict, repr=False, compare=False)
    _collections: dict[int, Collection] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        corpus: str | Path,
        *,
        encoder: str = DEFAULT_ENCODER,
        dim: int = DIM,
        progress: bool = False,
    ) -> Dataset:
        """Reads the corpus; vectors are made when they are asked for."""
        if str(corpus).endswith(".npz"):
            return cls(Path(corpus).stem, "", 0, None, Path(corpus), progress)
        found = read_corpus(corpus)
        return cls(found.name, encoder, dim, found, None, progress)

    def texts(self, purpose: str) -> Corpus:
        """The corpus itself, for an experiment that can't do without."""
        if self.corpus is None:
            raise ValueError(f"{purpose} needs texts, and {self.path} holds vectors only: give a corpus of texts")
        return self.corpus

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the corpus, or of the file of embeddings and its judgements."""
        return self.texts("a digest").digest if self.path is None else digest_of_vectors(self.path)

    @cached_property
    def loaded_encoder(self) -> Encoder:
        """What makes vectors of texts."""
        self.texts("an encoder")
        return load_encoder(self.encoder)

    @property
    def fingerprint(self) -> dict[str, str]:
        """What decides the vectors besides the corpus: the encoder's; nothing of ready-made ones."""
        return {} if self.corpus is None else dict(self.loaded_encoder.fingerprint)

    def embedded(self, dim: int | None = None) -> Embedded:
        """Its vectors, of ``dim`` dimensions: from the cache, or made now. Queries without a judgement are left out."""
        wanted = self.dim if dim is None else dim
        if wanted not in self._made:
            self.embed([wanted])
        return self._made[wanted]

    def collection(self, dim: int | None = None) -> Collection:
        """The corpus as a collection of texts."""
        self.texts("a collection")
        self.embedded(dim)
        return self._collections[self.dim if dim is None else dim]

    def embed(self, dims: list[int]) -> None:
        """Makes vectors of several dimensions in one go."""
        if self.path is not None:
            ready = read_vectors(self.path)
            index = Index.build(ready.documents, ready.doc_ids)
            self._made[0] = Embedded(ready.name, "ready-made", index, ready.queries, ready.judgements, ready.exclusions)
            return
        corpus = self.texts("embedding")
        judged = corpus.first(None)
        collections = embed(corpus, self.loaded_encoder, dims, progress=self.progress)
        for dim, collection in zip(dims, collections, strict=True):
            rows = collection.encoder.queries(list(judged.queries.values()))
            queries = {one: found for one, found in zip(judged.queries, rows, strict=True) if len(found)}
            words = f"{Path(self.encoder).name}, d = {dim}"
            self._collections[dim] = collection
            self._made[dim] = Embedded(
                corpus.name, words, collection.index, queries, corpus.judgements, corpus.exclusions
            )


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

    Documents are added in an order that is random but fixed, so that the first chunk, to which projections are fitted,
    is a sample of all.
    """
    remembering = Remembering(encoder)
    collections = [_opened(corpus, remembering, dim) for dim in dims]
    if all(len(collection) == len(corpus.documents) for collection in collections):
        return collections
    order = iter(random.Random(0).sample(list(corpus.documents), len(corpus.documents)))
    total = len(corpus.documents)
    with progress_bar(f"encoding {corpus.name}", total, shown=progress, unit="documents") as advance:
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
        Collection.create(folder, encoder, dim, store="float16", split=False).close()
    return Collection.open(folder, encoder)
