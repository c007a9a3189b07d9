"""Where an experiment's vectors come from: a corpus and an encoder, an existing collection, or precomputed vectors.

There are two kinds of vectors of a corpus. The paper's experiments use few dimensions, like ColBERT
(`Dataset.embedded`). Experiments about users' collections use what `maxsieve index` makes (`Dataset.as_indexed`).
"""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from maxsieve import Index
from maxsieve.errors import Argument, Function, hinted
from maxsieve.lab import DIM
from maxsieve.lab.corpora import Corpus, read_corpus, read_vectors
from maxsieve.lab.corpora.ready import digest_of_vectors
from maxsieve.lab.embed import embed, embed_as_indexed
from maxsieve.lab.embedded import Embedded
from maxsieve.text import Collection, Encoder, load_encoder
from maxsieve.text.encoders.builtin import BUILT_IN_ENCODERS
from maxsieve.text.encoders.encoder import MINILM

AS_INDEXED = -1
"""Vectors are cached by their dimensions; those of `maxsieve index`, by their dimensions times this."""


@dataclass(frozen=True)
class Dataset:
    """A corpus, and how it is embedded. Experiments run on ``Dataset.of("path/to/scifact").embedded()``.

    A corpus is a folder in BEIR format, a name in ir_datasets, or an ``.npz`` file of precomputed embeddings, which has
    no texts and no encoder. `maxsieve.lab.dataset_sources` makes datasets from existing collections and vectors.
    """

    name: str
    encoder: str
    dim: int
    """Dimensions for the paper's experiments; 0 for precomputed vectors."""
    corpus: Corpus | None
    path: Path | None = None
    """The file of precomputed vectors."""
    progress: bool = False
    chosen: int | None = None
    """The dimensions that the user asked for, if any; `as_indexed` uses them, too."""
    source: Collection | None = None
    """An existing collection, used as it is."""
    asked: str = ""
    """A digest of queries and judgements that are not in the file of precomputed vectors."""
    _made: dict[int, Embedded] = field(default_factory=dict, repr=False, compare=False)
    _collections: dict[int, Collection] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        corpus: str | Path,
        *,
        encoder: str = MINILM,
        dim: int | None = None,
        progress: bool = False,
    ) -> Dataset:
        """Reads the corpus; vectors are made on first use."""
        if str(corpus).endswith(".npz"):
            return cls(Path(corpus).stem, "", 0, None, Path(corpus), progress)
        found = read_corpus(corpus)
        return cls(found.name, encoder, dim or DIM, found, None, progress, dim)

    def texts(self, purpose: str) -> Corpus:
        """The corpus, for an experiment that needs texts."""
        if self.corpus is None:
            raise ValueError(f"{purpose} needs texts, but {self.path} has only vectors: give a corpus of texts")
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
        """The encoder; for a collection, with its projection."""
        self.texts("an encoder")
        return load_encoder(self.encoder) if self.source is None else self.source.encoder

    @property
    def fingerprint(self) -> dict[str, str]:
        """The encoder's fingerprint; empty for precomputed vectors."""
        return {} if self.corpus is None else dict(self.loaded_encoder.fingerprint)

    def embedded(self, dim: int | None = None) -> Embedded:
        """Its vectors of ``dim`` dimensions, from the cache or made now. Queries without judgements are left out."""
        wanted = self.dim if dim is None else dim
        if wanted not in self._made:
            self.embed([wanted])
        return self._made[wanted]

    def as_indexed(self, dim: int | None = None) -> Embedded:
        """Its vectors as ``maxsieve index`` makes and stores them, or with the requested dimensions.

        An existing collection and precomputed vectors are used as they are.
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
        """The collection behind `as_indexed`."""
        self.texts("a collection")
        self.as_indexed(dim)
        return self._collections[self.dim if self.source is not None else self._indexed_place(dim)]

    def collection_argument(self) -> str | None:
        """That collection as arguments of a command, with ``--encoder`` if necessary; None if there is none."""
        if self.corpus is None:
            return None
        path = shlex.quote(str(self.indexed_collection().path))
        known = self.encoder in BUILT_IN_ENCODERS
        return path if known else f"{path} --encoder {shlex.quote(self.encoder)}"

    def embed(self, dims: list[int]) -> None:
        """Makes vectors of several dimensions, encoding the texts once."""
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
            wrong = ValueError(
                f"{self.source.path} has vectors of {self.source.index.dim} dimensions, but {wanted} are needed"
            )
            raise hinted(
                wrong, ": use {}, which encodes the texts again", Function("Dataset.of", (Argument("corpus"),))
            )
        else:
            collections = [self.source] * len(dims)
        for dim, collection in zip(dims, collections, strict=True):
            self._take(dim, self.corpus, collection)

    def _take(self, place: int, corpus: Corpus, collection: Collection) -> None:
        """Uses the vectors of a collection, and encodes the queries: only judged ones, if there are judgements."""
        asked = corpus.first(None) if corpus.judgements else corpus
        rows = collection.encoder.encode_queries(list(asked.queries.values()))
        queries = {query: found for query, found in zip(asked.queries, rows, strict=True) if len(found)}
        words = f"{Path(self.encoder).name}, d = {collection.index.dim}, {collection.index.store}"
        self._collections[place] = collection
        keys, index = collection.keys, collection.index
        snapshot = index.storage.snapshot
        named = {str(doc_id): doc_id for doc_id in collection.ids} if corpus.exclusions else {}
        exclusions = {
            query: [str(key) for id in own for key in keys.of(named[id], snapshot)]
            for query, own in corpus.exclusions.items()
        }
        self._made[place] = Embedded(corpus.name, words, index, queries, corpus.judgements, exclusions, keys)
