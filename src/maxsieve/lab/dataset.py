"""Where an experiment's vectors come from: a corpus and an encoder, a collection that exists, or ready-made vectors.

There are two ways to keep a corpus's vectors. Experiments of the paper take few dimensions, as ColBERT has them
(`Dataset.embedded`); those about what users have take what `maxsieve index` makes (`Dataset.as_indexed`).
"""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from maxsieve import Index
from maxsieve.lab import DIM
from maxsieve.lab.corpora import Corpus, read_corpus, read_vectors
from maxsieve.lab.corpora.ready import digest_of_vectors
from maxsieve.lab.embedded import Embedded
from maxsieve.lab.embedding import embed, embed_as_indexed
from maxsieve.text import Collection, Encoder, load_encoder
from maxsieve.text.builtin import BUILT_IN_ENCODERS
from maxsieve.text.encoder import DEFAULT_ENCODER

AS_INDEXED = -1
"""Vectors are known by their dimensions; those that `maxsieve index` would make, by their dimensions times this."""


@dataclass(frozen=True)
class Dataset:
    """A corpus, and how it is embedded. ``Dataset.of("path/to/scifact").embedded()`` is what experiments run on.

    A corpus is a folder in BEIR form, a name of ir_datasets, or an ``.npz`` file of ready-made embeddings, which has no
    texts and no other encoder. `maxsieve.lab.existing` makes datasets of collections and of vectors that exist.
    """

    name: str
    encoder: str
    dim: int
    """Of the vectors for the paper's experiments; 0 for ready-made ones."""
    corpus: Corpus | None
    path: Path | None = None
    """Of ready-made vectors."""
    progress: bool = False
    chosen: int | None = None
    """The dimensions that were asked for, if any were: then `as_indexed` has as many."""
    source: Collection | None = None
    """A collection that is taken as it is."""
    asked: str = ""
    """A digest of queries and judgements that are not in the file of ready-made vectors."""
    _made: dict[int, Embedded] = field(default_factory=dict, repr=False, compare=False)
    _collections: dict[int, Collection] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        corpus: str | Path,
        *,
        encoder: str = DEFAULT_ENCODER,
        dim: int | None = None,
        progress: bool = False,
    ) -> Dataset:
        """Reads the corpus; vectors are made when they are asked for."""
        if str(corpus).endswith(".npz"):
            return cls(Path(corpus).stem, "", 0, None, Path(corpus), progress)
        found = read_corpus(corpus)
        return cls(found.name, encoder, dim or DIM, found, None, progress, dim)

    def texts(self, purpose: str) -> Corpus:
        """The corpus itself, for an experiment that can't do without."""
        if self.corpus is None:
            raise ValueError(f"{purpose} needs texts, and {self.path} holds vectors only: give a corpus of texts")
        return self.corpus

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the corpus, or of the file of embeddings and its judgements."""
        if self.corpus is not None:
            return self.corpus.digest
        assert self.path is not None
        return hashlib.sha256(f"{digest_of_vectors(self.path)} {self.asked}".encode()).hexdigest()

    @cached_property
    def loaded_encoder(self) -> Encoder:
        """What makes vectors of texts: of a collection, with its projection."""
        self.texts("an encoder")
        return load_encoder(self.encoder) if self.source is None else self.source.encoder

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

    def as_indexed(self, dim: int | None = None) -> Embedded:
        """Its vectors as ``maxsieve index`` makes and keeps them, unless other dimensions are asked for, or were.

        Those of a collection, and ready-made ones, are what they are.
        """
        if self.corpus is None or self.source is not None:
            return self.embedded()
        if (place := self._indexed_place(dim)) not in self._made:
            made = embed_as_indexed(self.corpus, self.loaded_encoder, place // AS_INDEXED, progress=self.progress)
            self._take(place, self.corpus, made)
        return self._made[place]

    def _indexed_place(self, dim: int | None) -> int:
        return AS_INDEXED * (dim or self.chosen or self.loaded_encoder.dim)

    def collection(self, dim: int | None = None) -> Collection:
        """The corpus as a collection of texts."""
        self.texts("a collection")
        self.embedded(dim)
        return self._collections[self.dim if dim is None else dim]

    def indexed_collection(self, dim: int | None = None) -> Collection:
        """The collection that `as_indexed` is of."""
        self.texts("a collection")
        self.as_indexed(dim)
        return self._collections[self.dim if self.source is not None else self._indexed_place(dim)]

    def collection_argument(self) -> str | None:
        """That collection as commands take it, with its encoder if they have to be told; None without one."""
        if self.corpus is None:
            return None
        path = shlex.quote(str(self.indexed_collection().path))
        known = self.encoder in BUILT_IN_ENCODERS
        return path if known else f"{path} --encoder {shlex.quote(self.encoder)}"

    def embed(self, dims: list[int]) -> None:
        """Makes vectors of several dimensions in one go."""
        if self.corpus is None:
            assert self.path is not None
            ready = read_vectors(self.path)
            index = Index.build(ready.documents, ready.doc_ids)
            self._made[0] = Embedded(ready.name, "ready-made", index, ready.queries, ready.judgements, ready.exclusions)
            return
        if self.source is None:
            collections = embed(self.corpus, self.loaded_encoder, dims, progress=self.progress)
        elif {*dims} != {self.source.index.dim}:
            wanted = next(dim for dim in dims if dim != self.source.index.dim)
            raise ValueError(
                f"{self.source.path} has vectors of {self.source.index.dim} dimensions, and {wanted} are needed: they "
                "would have to be encoded again, which --corpus does"
            )
        else:
            collections = [self.source] * len(dims)
        for dim, collection in zip(dims, collections, strict=True):
            self._take(dim, self.corpus, collection)

    def _take(self, place: int, corpus: Corpus, collection: Collection) -> None:
        """Takes the vectors of a collection, and makes those of the queries: of those that were judged, if any were."""
        asked = corpus.first(None) if corpus.judgements else corpus
        rows = collection.encoder.queries(list(asked.queries.values()))
        queries = {one: found for one, found in zip(asked.queries, rows, strict=True) if len(found)}
        words = f"{Path(self.encoder).name}, d = {collection.index.dim}, {collection.index.store}"
        self._collections[place] = collection
        keys, index = collection.keys, collection.index
        named = {str(one): one for one in collection.ids} if corpus.exclusions else {}
        exclusions = {
            query: [str(key) for one in own for key in keys.of(named[one], index)]
            for query, own in corpus.exclusions.items()
        }
        self._made[place] = Embedded(corpus.name, words, index, queries, corpus.judgements, exclusions, keys)
