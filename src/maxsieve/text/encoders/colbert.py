"""ColBERT models on onnxruntime: markers, query expansion, skip list and lengths as the model's folder states them.

The rows of a text equal those of PyLate and Sentence Transformers in number, order and value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.optional import optional
from maxsieve.text.encoders.carriers import sha256
from maxsieve.text.encoders.colbert_files import Side, is_colbert, read_settings
from maxsieve.text.encoders.colbert_projection import find_projection
from maxsieve.text.encoders.encoder import F32, Span, as_text, as_texts, unit_rows
from maxsieve.text.encoders.folder_encoder import Encoded, FolderEncoder
from maxsieve.text.encoders.onnx_files import OnnxModel, open_tokenizer
from maxsieve.text.encoders.truncation import Truncation, own_tokens


class _Tokens(NamedTuple):
    """The tokens of a text as the model gets them."""

    ids: list[int]
    attention: list[int]
    kept: NDArray[np.int64]
    """Positions whose rows are kept."""
    spans: list[Span]
    length: int
    exact: bool


class ColbertEncoder(FolderEncoder):
    """A late-interaction model in a folder with ``tokenizer.json``, an ONNX model and a file that describes it.

    That file is ``onnx_config.json`` (pylate-onnx-export, ``maxsieve model export``),
    ``config_sentence_transformers.json`` (PyLate, Sentence Transformers 6) or ``artifact.metadata`` (Stanford). If the
    graph ends with hidden states, the projection is read from ``1_Dense/model.safetensors``. `folder` may also be one
    ``*.onnx`` file, if a folder has several. Special tokens, markers and mask tokens have rows, as they were trained
    to have; their spans are empty. An empty text has such rows, too.
    """

    def __init__(self, folder: str | Path, *, threads: int | None = None, name: str | None = None) -> None:
        super().__init__(folder, threads=threads, name=name)
        if not is_colbert(self._files.folder):
            raise ValueError(
                f"no file in {self._files.folder} describes a ColBERT model: OnnxEncoder runs plain models"
            )
        self._settings = read_settings(self._files.folder, open_tokenizer(self._files.tokenizer, 1 << 20))
        self._sides = {side: self._open(side) for side in (self._settings.query, self._settings.document)}
        self._model = OnnxModel(self._files.model, dim=self._settings.dim)
        width = self._model.dim or self._states(self._tokens("a", self._settings.document)).shape[1]
        self._projection = find_projection(self._files.folder, self._settings, self._model.output, width)
        self.dim = width if self._projection is None else len(self._projection.bias)
        """The dimension: how many numbers a row has."""
        self.max_tokens = self._settings.document.length
        """The most tokens of a document that are read, including marker and special tokens."""

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """The digests of the files, and every setting that the vectors depend on."""
        files = [*self._files.decisive, *(self._projection.files if self._projection else [])]
        digests = {path.relative_to(self._files.folder).as_posix(): sha256(path) for path in files}
        settings = self._settings
        sides = {
            f"{name}_{fact}": str(sorted(value) if isinstance(value, frozenset) else value)
            for name, side in (("query", settings.query), ("document", settings.document))
            for fact, value in vars(side).items()
        }
        facts = ("expansion", "attend", "mask", "strip", "lower")
        return {**digests, **sides, **{fact: str(getattr(settings, fact)) for fact in facts}}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The rows [L, d] of each text as a document; with `progress`, a bar on standard error."""
        return self._encode(as_texts(texts), self._settings.document, progress=progress)

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The rows [T, d] of each text as a query, with those of mask tokens if the model expands queries."""
        return self._encode(as_texts(texts), self._settings.query)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each of these short texts has, without marker and special tokens."""
        return self._sides[self._settings.document].count(as_texts(texts))

    def document_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``encode_documents([text])[0]``; empty for special tokens and markers."""
        return self._spans(as_text(text), self._settings.document)

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``encode_queries([text])[0]``; empty for special, marker and mask tokens."""
        return self._spans(as_text(text), self._settings.query)

    def _open(self, side: Side) -> Truncation:
        limit = side.length - (side.prefix is not None)
        tokenizer = open_tokenizer(self._files.tokenizer, limit)
        if self._settings.lower:
            normalizers = optional("tokenizers.normalizers", "text")
            own = [] if tokenizer.normalizer is None else [tokenizer.normalizer]
            tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
        return Truncation(tokenizer, limit)

    def _encode(self, texts: list[str], side: Side, *, progress: bool = False) -> list[F32]:
        def encode(text: str) -> Encoded:
            tokens = self._tokens(text, side)
            states = self._states(tokens)[tokens.kept]
            if self._projection is not None:
                states = states.astype(np.float32) @ self._projection.matrix + self._projection.bias
            return Encoded(unit_rows(states), tokens.length, tokens.exact)

        return self._encode_all(encode, texts, limit=side.length, progress=progress)

    def _states(self, tokens: _Tokens) -> NDArray[Any]:
        return self._model.states(tokens.ids, tokens.attention, [0] * len(tokens.ids))

    def _spans(self, text: str, side: Side) -> list[Span]:
        tokens = self._tokens(text, side)
        return [tokens.spans[place] for place in tokens.kept]

    def _tokens(self, text: str, side: Side) -> _Tokens:
        read = text.strip() if self._settings.strip else text
        before = (len(text) - len(text.lstrip()) if self._settings.strip else 0) - len(side.prompt)
        encoding, length, exact = self._sides[side].encode(side.prompt + read)
        ids, attention = list(encoding.ids), [1] * len(encoding.ids)
        spans = [
            (max(start + before, 0), max(end + before, 0)) if own else (len(text) if place else 0,) * 2
            for place, (own, (start, end)) in enumerate(zip(own_tokens(encoding), encoding.offsets, strict=True))
        ]
        if side.prefix is not None:
            ids.insert(1, side.prefix)
            attention.insert(1, 1)
            spans.insert(1, (0, 0))
        if side is self._settings.query and (missing := self._settings.expansion - len(ids)) > 0:
            ids += [self._settings.mask] * missing
            attention += [int(self._settings.attend)] * missing
            spans += [(len(text), len(text))] * missing
        kept = np.flatnonzero(~np.isin(ids, sorted(side.skipped)))
        return _Tokens(ids, attention, kept, spans, length + (side.prefix is not None), exact)
