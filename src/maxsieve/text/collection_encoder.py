"""The encoder of a collection: the one it was made with, and its projection, fitted before the first vectors go in."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.printable import for_shell
from maxsieve.common.progress import progress_bar
from maxsieve.text.adding import batches, check_text
from maxsieve.text.builtin import BUILT_IN_ENCODERS
from maxsieve.text.description import (
    Description,
    read_description,
    read_projection,
    write_description,
    write_projection,
)
from maxsieve.text.encoder import Encoder, load_encoder
from maxsieve.text.passages import Keys, Splitter
from maxsieve.text.pooled import PooledEncoder
from maxsieve.text.projection import ProjectedEncoder, fit_projection

SAMPLE_TOKENS = 100_000
SAMPLE_DOCUMENTS = 4096
HEAD_CHARACTERS = 1 << 22
"""A stream is read ahead so far, or up to `SAMPLE_DOCUMENTS`, to sample from; of a list, all of it is sampled."""


class CollectionEncoder:
    """Follows a collection's description, which another process may complete with a projection; safe to share."""

    def __init__(self, path: Path, description: Description, encoder: Encoder | None) -> None:
        self.path = path
        self._description, self._plain = description, encoder
        self._projected: Encoder | None = None
        self.keys = Keys(passages=description.passages is not None)
        """Under which keys documents are in the index."""
        self._guard = threading.RLock()

    @property
    def description(self) -> Description:
        """What the collection remembers; read again while the projection is still to be fitted."""
        with self._guard:
            if self._description.pending:
                self._description = read_description(self.path)
            return self._description

    @property
    def plain(self) -> Encoder:
        """The encoder itself."""
        with self._guard:
            if self._plain is None:
                self._plain = self._load()
            return self._plain

    @property
    def not_built_in(self) -> Encoder | None:
        """The encoder itself if nobody else could load it by the collection's word: if it is no built-in model."""
        return None if self._description.encoder in BUILT_IN_ENCODERS else self._plain

    @property
    def projected(self) -> Encoder:
        """The encoder with the projection and the pooling, if there are any."""
        with self._guard:
            if self.description.pending:  # what it will be is not known yet
                return self.plain
            if self._projected is None:
                self._projected = self.projecting(self.plain)
            return self._projected

    def _load(self) -> Encoder:
        """A built-in model. Anything else is the user's to name: a collection may come from anybody."""
        name = self._description.encoder
        if name not in BUILT_IN_ENCODERS:
            raise ValueError(
                f"{self.path} was made with the encoder {name!r}, which is no built-in model, and nothing else is "
                f"loaded because a collection says so: name it yourself, by --encoder {for_shell(name)} or "
                f"Collection.open({str(self.path)!r}, {name!r}), or give Collection.open the encoder itself"
            )
        loaded = load_encoder(name)
        self._description.check_encoder(loaded, self.path)
        return loaded

    def projecting(self, encoder: Encoder) -> Encoder:
        """Another encoder with the projection and the pooling, if there are any."""
        description = self.description
        if description.projection is not None:
            encoder = ProjectedEncoder(encoder, read_projection(self.path, description))
        return encoder if description.pool == 1 else PooledEncoder(encoder, description.pool)


class DocumentVectors:
    """Makes the vectors of documents that are being added; fits the projection on the first. Hold the writer's lock."""

    def __init__(self, own: CollectionEncoder, split: Splitter) -> None:
        self._own, self._split = own, split
        self._remembering = RememberingEncoder(own.plain)
        self._encoder: Encoder | None = None

    def prepare(self, texts: Iterable[Any], progress: bool) -> Iterable[Any]:
        """Fits the projection, if that is still to be done, on a sample of the texts; returns them from the start."""
        if self._own.description.pending:
            head, texts = peek(texts)
            self._fit((passage.encoded for text in sample_of(head) for passage in self._split(text)), progress)
        return texts

    def encode(self, texts: list[str]) -> Sequence[NDArray[np.float32]]:
        """Their vectors, of the collection's dimension."""
        if self._own.description.pending:  # no text of the sample had a token: these may be the first that have
            self._fit(texts, False)
        if self._own.description.pending:
            return [np.zeros((0, self._own.description.dim), np.float32)] * len(texts)
        if self._encoder is None:
            self._encoder = self._own.projecting(self._remembering)
        return self._encoder.documents(texts)

    def _fit(self, sample: Iterable[str], progress: bool) -> None:
        description = self._own.description
        matrix = self._remembering.fit(sample, description.dim, progress=progress)
        if matrix is not None:
            write_description(self._own.path, write_projection(self._own.path, description, matrix))


class RememberingEncoder:
    """An encoder that remembers documents it encoded before their turn came, and hands each out once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """The encoder's."""
        return self._encoder.name

    @property
    def dim(self) -> int:
        """The encoder's."""
        return self._encoder.dim

    @property
    def fingerprint(self) -> dict[str, str]:
        """The encoder's."""
        return self._encoder.fingerprint

    def documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        """Their vectors, remembered or encoded."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(missing, self._encoder.documents(missing, progress=progress), strict=True))
        vectors = [self._vectors[text] for text in texts]
        for text in texts:
            self._vectors.pop(text, None)
        return vectors

    def queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The encoder's."""
        return self._encoder.queries(texts)

    def fit(self, sample: Iterable[str], dim: int, *, progress: bool) -> NDArray[np.float32] | None:
        """A projection to ``dim`` fitted on as much of the sample as it takes; None if no text in it has a token."""
        tokens = 0
        with progress_bar("fitting", None, shown=progress, unit="documents") as advance:
            for batch in batches(sample, len):
                encoded = self._encoder.documents(batch)
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


def sample_of(texts: Sequence[Any]) -> Iterator[str]:
    """Texts in an order that is random but the same every time, so that any number of them is spread over all."""
    for place in random.Random(0).sample(range(len(texts)), min(len(texts), SAMPLE_DOCUMENTS)):
        yield check_text(texts[place], f"texts: document {place}")


def peek(texts: Iterable[Any]) -> tuple[Sequence[Any], Iterable[Any]]:
    """What to sample from, and the same texts from the beginning on: of a stream, its head is read ahead."""
    if isinstance(texts, Sequence):
        return texts, texts
    stream = iter(texts)
    head: list[Any] = []
    characters = 0
    for text in stream:
        head.append(text)
        characters += len(check_text(text, f"texts: document {len(head) - 1}"))
        if len(head) >= SAMPLE_DOCUMENTS or characters >= HEAD_CHARACTERS:
            break
    return head, chain(head, stream)
