"""Token vectors of a plain ONNX model, by onnxruntime and tokenizers: no torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path

import numpy as np

from maxsieve.text.encoders.carriers import sha256
from maxsieve.text.encoders.colbert_files import is_colbert
from maxsieve.text.encoders.encoder import F32, Span, as_text, as_texts, unit_rows
from maxsieve.text.encoders.folder_encoder import Encoded, FolderEncoder
from maxsieve.text.encoders.onnx_files import OnnxModel, open_tokenizer
from maxsieve.text.encoders.truncation import Truncation, own_tokens


class OnnxEncoder(FolderEncoder):
    """A BERT-like model in a folder with ``tokenizer.json`` and ``model.onnx`` (or one file ``*.onnx``).

    The rows of a text are the model's ``last_hidden_state``, at unit length, without the special tokens that the
    tokenizer adds. Documents and queries are encoded alike. `max_tokens` counts the special tokens too; by default it
    is the limit in the folder's ``config.json`` and ``tokenizer_config.json``, else 512. Longer texts are
    truncated, with a `TruncationWarning`. `name` is for models whose name in `load_encoder` is not their folder.
    """

    def __init__(
        self, folder: str | Path, *, max_tokens: int | None = None, threads: int | None = None, name: str | None = None
    ) -> None:
        super().__init__(folder, threads=threads, name=name, max_tokens=max_tokens)
        if is_colbert(self._files.folder):
            raise ValueError(
                f"{self._files.folder} has a ColBERT model, which encodes queries and documents differently: "
                "ColbertEncoder runs it"
            )
        self.max_tokens = self._files.max_tokens(max_tokens)
        """The most tokens of a text that are read, including special tokens."""
        self._tokens = Truncation(open_tokenizer(self._files.tokenizer, self.max_tokens), self.max_tokens)
        self._model = OnnxModel(self._files.model)

    @cached_property
    def dim(self) -> int:
        """The dimension: how many numbers a row has."""
        return self._model.dim or self._model.hidden(self._tokens.encode("a").encoding).shape[1]

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """The digests of the files, and the token limit."""
        digests = {path.name: sha256(path) for path in self._files.decisive}
        return {**digests, "max_tokens": str(self.max_tokens)}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The rows [L, d] of each text; with `progress`, a bar on standard error."""
        return self._encode_all(self._encode_one, as_texts(texts), limit=self.max_tokens, progress=progress)

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The rows [L, d] of each text, the same as for a document."""
        return self.encode_documents(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many rows each of these short texts would have without a limit."""
        return self._tokens.count(as_texts(texts))

    def document_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``documents([text])[0]``, counted in characters of the text."""
        encoding = self._tokens.encode(as_text(text)).encoding
        return list(compress(encoding.offsets, own_tokens(encoding)))

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``queries([text])[0]``, counted in characters of the text."""
        return self.document_spans(text)

    def _encode_one(self, text: str) -> Encoded:
        encoding, length, exact = self._tokens.encode(text)
        own = own_tokens(encoding)
        if not own.any():
            return Encoded(np.empty((0, self.dim), np.float32), length, exact)
        return Encoded(unit_rows(self._model.hidden(encoding)[own]), length, exact)
