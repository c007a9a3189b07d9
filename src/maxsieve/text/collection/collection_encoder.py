"""The encoder of a collection, and its projection, which is fitted before the first vectors are added."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import MAX_DIM
from maxsieve.common.checks import as_count
from maxsieve.common.progress import progress_bar
from maxsieve.errors import Argument, Function, hinted
from maxsieve.text.collection.additions import Encodable, Grids, batches, check_text, length_of
from maxsieve.text.collection.description import (
    Description,
    describe,
    read_description,
    read_projection,
    write_description,
    write_projection,
)
from maxsieve.text.encoders.builtin import BUILT_IN_ENCODERS
from maxsieve.text.encoders.encoder import Encoder, Visual, WrappedEncoder, load_encoder, to_encoder
from maxsieve.text.encoders.pooled import PooledEncoder, check_pool
from maxsieve.text.encoders.projection import ProjectedEncoder, fit_projection
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.passages import Keys, Splitter

SAMPLE_TOKENS = 100_000
SAMPLE_DOCUMENTS = 4096
HEAD_CHARACTERS = 1 << 22
"""Of a stream, up to this many characters or `SAMPLE_DOCUMENTS` are read ahead and sampled; of a list, all of it."""


class NewCollection(NamedTuple):
    """What a new collection is made of: its encoder, what it remembers of it, and a projection, if one was given."""

    encoder: Encoder
    description: Description
    matrix: NDArray[np.float32] | None


def describe_new(
    encoder: str | Encoder, dim: int | None, projection: Any, pool: int, *, split: bool, pages: bool = False
) -> NewCollection:
    """A new collection by the arguments of `Collection.create`, checked."""
    loaded = to_encoder(encoder)
    kept = loaded.dim if dim is None else min(as_count(dim, "dim", at_least=1, at_most=MAX_DIM), loaded.dim)
    matrix = None if projection is None else ProjectedEncoder(loaded, projection).matrix
    if matrix is not None:
        if dim not in (None, matrix.shape[1]):
            raise ValueError(f"dim is {dim}, but the projection has {matrix.shape[1]} columns")
        kept = matrix.shape[1]
    return NewCollection(loaded, describe(loaded, kept, check_pool(pool), split=split, pages=pages), matrix)


class CollectionEncoder:
    """Follows a collection's description, which another process may complete with a projection; safe to share.

    A built-in encoder, which is loaded when it is first needed, runs on ``threads``.
    """

    def __init__(
        self, path: Path, description: Description, encoder: Encoder | None, *, threads: int | None = None
    ) -> None:
        self.path = path
        self._description, self._plain, self._threads = description, encoder, threads
        self._projected: Encoder | None = None
        self.keys = Keys(passages=description.passages is not None)
        """Maps document ids to keys of the index."""
        self._guard = threading.Lock()
        """For the description, which must not wait until an encoder is loaded."""
        self._loading = threading.RLock()

    @property
    def description(self) -> Description:
        """The collection's description; it is read again as long as the projection is not fitted."""
        with self._guard:
            if self._description.pending:
                self._description = read_description(self.path)
            return self._description

    @property
    def plain(self) -> Encoder:
        """The encoder without projection and pooling."""
        with self._loading:
            if self._plain is None:
                self._plain = self._load()
            return self._plain

    def load_soon(self) -> None:
        """Begins to load a built-in encoder in another thread. A call that needs it waits, and raises its errors."""

        def load() -> None:
            with suppress(Exception):
                self.plain  # noqa: B018

        if self._plain is None:
            threading.Thread(target=load, name="loading").start()

    @property
    def not_built_in(self) -> Encoder | None:
        """The encoder, if it is not a built-in model and so can't be loaded by its name; else None."""
        return None if self._description.encoder in BUILT_IN_ENCODERS else self._plain

    @property
    def projected(self) -> Encoder:
        """The encoder with the projection and the pooling, if there are any."""
        if self._projected is not None:
            return self._projected
        with self._loading:
            if self.description.pending:  # the projection is not fitted yet
                return self.plain
            self._projected = self.projecting(self.plain)
            return self._projected

    def _load(self) -> Encoder:
        """Loads a built-in model. The user must name any other encoder: a collection may not be trustworthy."""
        name = self._description.encoder
        if name not in BUILT_IN_ENCODERS:
            wrong = ValueError(
                f"{self.path} was made with the encoder {name!r}, which is not a built-in model. For safety, only "
                "built-in models are loaded by the name in a collection"
            )
            opening = Function("Collection.open", (Argument("encoder", name),))
            raise hinted(wrong, ": give it yourself, by {}", opening)
        loaded = load_encoder(name, threads=self._threads)
        self._description.check_encoder(loaded, self.path)
        return loaded

    def projecting(self, encoder: Encoder) -> Encoder:
        """The given encoder with this collection's projection and pooling, if there are any."""
        description = self.description
        if description.projection is not None:
            encoder = ProjectedEncoder(encoder, read_projection(self.path, description))
        return encoder if description.pool == 1 else PooledEncoder(encoder, description.pool)


class DocumentVectors:
    """Encodes documents that are added, and fits the projection on the first ones. The caller holds the writer lock."""

    def __init__(self, own: CollectionEncoder, split: Splitter) -> None:
        self._own, self._split = own, split
        self._remembering = RememberingEncoder(own.plain)
        self._encoder: Encoder | None = None

    def prepare(self, texts: Iterable[Any], progress: bool) -> Iterable[Any]:
        """Fits the projection on a sample of the texts, if it is not fitted yet; returns all texts from the start."""
        if self._own.description.pending:
            head, texts = peek(texts)
            self._fit((piece for content in sample_of(head) for piece in self._pieces(content)), progress)
        return texts

    @property
    def grids(self) -> Grids | None:
        """Which patches the vectors of a page belong to, if the model is visual."""
        encoder = self._own.projecting(self._own.plain)
        return encoder.grids if isinstance(encoder, Visual) else None

    def _pieces(self, content: Encodable) -> Iterator[Encodable]:
        """What is encoded of a document."""
        if isinstance(self._own.plain, Visual):
            yield content
        else:
            text = content if isinstance(content, str) else content.text
            yield from (passage.encoded for passage in self._split(text))

    def encode(self, texts: list[Any]) -> Sequence[NDArray[np.float32]]:
        """Their vectors, of the collection's dimension."""
        if self._own.description.pending:  # no text of the sample had a token, but these may
            self._fit(texts, False)
        if self._own.description.pending:
            return [np.zeros((0, self._own.description.dim), np.float32)] * len(texts)
        if self._encoder is None:
            self._encoder = self._own.projecting(self._remembering)
        return self._encoder.encode_documents(texts)

    def _fit(self, sample: Iterable[Encodable], progress: bool) -> None:
        description = self._own.description
        matrix = self._remembering.fit(sample, description.dim, progress=progress)
        if matrix is not None:
            write_description(self._own.path, write_projection(self._own.path, description, matrix))


class RememberingEncoder(WrappedEncoder):
    """An encoder that caches documents that were encoded early, for the sample. Each is served from the cache once."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self._vectors: dict[Encodable, NDArray[np.float32]] = {}

    def encode_documents(self, texts: Sequence[Any], *, progress: bool = False) -> list[NDArray[np.float32]]:
        """Their vectors, from the cache or encoded now."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(missing, self.encoder.encode_documents(missing, progress=progress), strict=True))
        vectors = [self._vectors[text] for text in texts]
        for text in texts:
            self._vectors.pop(text, None)
        return vectors

    def fit(self, sample: Iterable[Encodable], dim: int, *, progress: bool) -> NDArray[np.float32] | None:
        """A projection to ``dim``, fitted on up to `SAMPLE_TOKENS` of the sample; None if no text has a token."""
        tokens = 0
        with progress_bar("fitting", None, shown=progress, unit="documents") as advance:
            for batch in batches(sample, length_of):
                contents: list[Any] = batch
                encoded = self.encoder.encode_documents(contents)
                self._vectors.update(zip(batch, encoded, strict=True))
                tokens = sum(len(rows) for rows in self._vectors.values())
                advance(len(batch), sum(map(len, encoded)))
                if tokens >= SAMPLE_TOKENS:
                    break
        if not tokens:
            return None
        rows = np.concatenate(list(self._vectors.values()))
        if tokens > SAMPLE_TOKENS:
            rows = rows[np.linspace(0, tokens - 1, SAMPLE_TOKENS).astype(np.int64)]
        return fit_projection(rows, dim)


def sample_of(texts: Sequence[Any]) -> Iterator[Encodable]:
    """Texts, shuffled with a fixed seed, so that the first ones are a sample of all."""
    for place in random.Random(0).sample(range(len(texts)), min(len(texts), SAMPLE_DOCUMENTS)):
        content = texts[place]
        yield content if isinstance(content, PageDocument) else check_text(content, f"texts: document {place}")


def peek(texts: Iterable[Any]) -> tuple[Sequence[Any], Iterable[Any]]:
    """The texts to sample from, and all texts from the start. Of a stream, only the head is read ahead."""
    if isinstance(texts, Sequence):
        return texts, texts
    stream = iter(texts)
    head: list[Any] = []
    characters = 0
    for text in stream:
        head.append(text)
        content = text if isinstance(text, PageDocument) else check_text(text, f"texts: document {len(head) - 1}")
        characters += length_of(content)
        if len(head) >= SAMPLE_DOCUMENTS or characters >= HEAD_CHARACTERS:
            break
    return head, chain(head, stream)
