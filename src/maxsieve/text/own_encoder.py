"""The encoder of a collection: the one it was made with, loaded when it is first needed, and the projection."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.text.encoder import Encoder, load_encoder
from maxsieve.text.fitting import Ahead, peek, sample_of
from maxsieve.text.projection import ProjectedEncoder
from maxsieve.text.record import Record, read_projection, read_record, write_projection, write_record


class OwnEncoder:
    """Follows a collection's record, which another process may complete with a projection; safe to share."""

    def __init__(self, path: Path, record: Record, encoder: Encoder | None) -> None:
        self.path = path
        self._record, self._plain = record, encoder
        self._projected: Encoder | None = None
        self._guard = threading.RLock()

    @property
    def record(self) -> Record:
        """What the collection remembers; read again while the projection is still to be fitted."""
        with self._guard:
            if self._record.pending:
                self._record = read_record(self.path)
            return self._record

    @property
    def plain(self) -> Encoder:
        """The encoder itself."""
        with self._guard:
            if self._plain is None:
                self._plain = self._load()
            return self._plain

    @property
    def projected(self) -> Encoder:
        """The encoder with the projection, if there is one."""
        with self._guard:
            if self._projected is None and self.record.projection is not None:
                self._projected = self.projecting(self.plain)
            return self._projected or self.plain

    def _load(self) -> Encoder:
        name = self._record.encoder
        try:
            loaded = load_encoder(name)
        except ValueError as problem:
            advice = f"open it with its encoder: Collection.open({str(self.path)!r}, encoder)"
            raise ValueError(f"{self.path} was made with the encoder {name!r}, but {problem}; {advice}") from problem
        self._record.check_encoder(loaded, self.path)
        return loaded

    def projecting(self, encoder: Encoder) -> Encoder:
        """Another encoder with the projection, if there is one."""
        record = self.record
        return encoder if record.projection is None else ProjectedEncoder(encoder, read_projection(self.path, record))


class DocumentVectors:
    """Makes the vectors of documents that are being added; fits the projection on the first. Hold the writer's lock."""

    def __init__(self, own: OwnEncoder) -> None:
        self._own = own
        self._ahead = Ahead(own.plain)
        self._encoder: Encoder | None = None

    def prepare(self, texts: Iterable[Any], progress: bool) -> Iterable[Any]:
        """Fits the projection, if that is still to be done, on a sample of the texts; returns them from the start."""
        if self._own.record.pending:
            head, texts = peek(texts)
            self._fit(sample_of(head), progress)
        return texts

    def encode(self, texts: list[str]) -> Sequence[NDArray[np.float32]]:
        """Their vectors, of the collection's dimension."""
        if self._own.record.pending:  # no text of the sample had a token: these may be the first that have
            self._fit(texts, False)
        if self._own.record.pending:
            return [np.zeros((0, self._own.record.dim), np.float32)] * len(texts)
        if self._encoder is None:
            self._encoder = self._own.projecting(self._ahead)
        return self._encoder.documents(texts)

    def _fit(self, sample: Iterable[str], progress: bool) -> None:
        record = self._own.record
        matrix = self._ahead.fit(sample, record.dim, progress=progress)
        if matrix is not None:
            write_record(self._own.path, write_projection(self._own.path, record, matrix))
