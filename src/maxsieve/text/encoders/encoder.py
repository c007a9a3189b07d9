"""Encoders turn texts into token vectors: the protocol, the checks that all encoders share, and loading by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from maxsieve.storage.segments import Store
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import Grid

F32 = NDArray[np.float32]
Span = tuple[int, int]

DEFAULT_ENCODER = "default"
"""The encoder of a new collection by default: the recommended late-interaction model once it was fetched, else MiniLM.

`load_encoder` gives the encoder with its own name. Only what was fetched decides, never whether a hub can be reached.
"""

MINILM = "minilm"
"""The model of the demo and of the experiments, whatever else was fetched."""

ONE_BIT_FROM, TWO_BITS_FROM = 256, 128
"""With so many dimensions, each number of a residual has 1 bit or 2 bits by default; with fewer, 4 bits."""

SENTENCE_TRANSFORMERS = "st:"
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


@runtime_checkable
class Encoder(Protocol):
    """Turns each text into rows [L, d] of unit length, one per token; a text without tokens has none."""

    @property
    def name(self) -> str:
        """The name with which `load_encoder` loads it."""

    @property
    def dim(self) -> int:
        """The dimension: how many numbers a row has."""

    @property
    def fingerprint(self) -> dict[str, str]:
        """What the vectors depend on (digests of files, limits): equal fingerprints mean equal vectors."""

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The rows of each text, as a document is encoded."""

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The rows of each text, as a query is encoded."""


@runtime_checkable
class Traceable(Protocol):
    """An encoder that knows which characters each row belongs to; those of a marker or special token are none."""

    def document_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``documents([text])[0]``, counted in characters of the text."""

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``queries([text])[0]``, counted in characters of the text."""


@runtime_checkable
class Measuring(Protocol):
    """An encoder that can count a text's tokens, which decides where long texts are split into passages."""

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of a text that are read, including special tokens; None without a limit."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each of these short texts has, without special tokens."""


@runtime_checkable
class Visual(Protocol):
    """An encoder whose documents are pages: its `encode_documents` takes `PageDocument` in place of texts."""

    def grids(self, page: PageDocument) -> tuple[Grid, ...]:
        """Which patch of the page each row of ``encode_documents([page])[0]`` belongs to; empty if it is not known."""

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of ``encode_queries([text])[0]``, counted in characters of the text."""


class WrappedEncoder:
    """An encoder around another one. What it does not define is that of the inner encoder.

    If the inner encoder is `Traceable` or `Visual`, so is this one.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.name, self.dim = encoder, encoder.name, encoder.dim
        for method in ("document_spans", "query_spans", "grids"):
            if hasattr(encoder, method):
                setattr(self, method, getattr(encoder, method))

    @property
    def fingerprint(self) -> dict[str, str]:
        """What the vectors depend on."""
        return self.encoder.fingerprint

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The rows of each text, as a query is encoded."""
        return self.encoder.encode_queries(texts)


def default_store(dim: int) -> Store:
    """How a new collection stores vectors of so many dimensions by default; docs/text.md has the measurements.

    Errors of many numbers cancel each other, so that one bit for each is enough. Few numbers need more.

    >>> [default_store(dim) for dim in (48, 96, 128, 384)]
    ['residual4', 'residual4', 'residual2', 'residual1']
    """
    if dim >= ONE_BIT_FROM:
        return "residual1"
    return "residual2" if dim >= TWO_BITS_FROM else "residual4"


def query_spans_of(encoder: object, text: str) -> list[Span] | None:
    """The characters that each row of a query belongs to; None if the encoder does not know."""
    return encoder.query_spans(text) if isinstance(encoder, (Traceable, Visual)) else None


def load_encoder(name: str, *, threads: int | None = None) -> Encoder:
    """Loads an encoder by name; nothing is downloaded.

    A name is a built-in model (``"minilm"``), ``"default"``, a late-interaction model that was fetched (a short name of
    `list_models`, or its name on the hub), or a folder with ``tokenizer.json`` and ``model.onnx`` (or one file
    ``*.onnx``), or the path of one of several such files, or ``"st:"`` and a checkpoint for Sentence Transformers: a
    folder, a built-in model or a name on the hub.

    >>> load_encoder("no such folder")
    Traceback (most recent call last):
    ValueError: no encoder is called 'no such folder': it is neither a built-in model (minilm) nor a folder; names of
    Sentence Transformers begin with 'st:'
    """
    from maxsieve.text.encoders.builtin import MODELS
    from maxsieve.text.encoders.late_models import RECOMMENDED, find_late_model, full_name, is_fetched, is_late_model
    from maxsieve.text.encoders.models import model_path
    from maxsieve.text.encoders.onnx import OnnxEncoder
    from maxsieve.text.encoders.onnx_files import is_onnx_file

    if not isinstance(name, str):
        raise TypeError(f"the name of an encoder must be a str, not {type(name).__name__}")
    if name == DEFAULT_ENCODER:
        name = RECOMMENDED if is_fetched(RECOMMENDED) else MINILM
    if name.startswith(SENTENCE_TRANSFORMERS):
        from maxsieve.text.encoders.visual import open_checkpoint

        return open_checkpoint(name.removeprefix(SENTENCE_TRANSFORMERS), threads=threads)
    if name in MODELS:
        if not MODELS[name].onnx:
            raise ValueError(f"{name} is a model for Sentence Transformers: its encoder is called 'st:{name}'")
        return OnnxEncoder(model_path(name), name=name, threads=threads)
    if Path(name).is_dir() or is_onnx_file(Path(name)):
        return open_folder(Path(name), threads=threads)
    if is_late_model(name):
        return open_folder(find_late_model(name), threads=threads, name=full_name(name))
    known = ", ".join(known for known, model in MODELS.items() if model.onnx)
    raise ValueError(
        f"no encoder is called {name!r}: it is neither a built-in model ({known}) nor a folder; names of Sentence "
        "Transformers begin with 'st:'"
    )


def to_encoder(encoder: Any) -> Encoder:
    """Loads an encoder by name. An encoder stays as it is; a model object of Sentence Transformers becomes one.

    >>> to_encoder(7)
    Traceback (most recent call last):
    TypeError: encoder must be an encoder or its name, not 7
    """
    if isinstance(encoder, str):
        return load_encoder(encoder)
    from maxsieve.text.encoders.multi_vector import is_model

    if is_model(encoder):
        from maxsieve.text.encoders.visual import open_checkpoint

        return open_checkpoint(encoder)
    if not isinstance(encoder, Encoder):
        raise TypeError(f"encoder must be an encoder or its name, not {encoder!r}")
    return encoder


def open_folder(path: Path, *, threads: int | None, name: str | None = None) -> Encoder:
    """The encoder for an ONNX model: a late-interaction model, if its folder describes one, else a plain model."""
    from maxsieve.text.encoders.colbert import ColbertEncoder
    from maxsieve.text.encoders.colbert_files import is_colbert
    from maxsieve.text.encoders.onnx import OnnxEncoder
    from maxsieve.text.encoders.onnx_files import OnnxFiles

    kind = ColbertEncoder if is_colbert(OnnxFiles.find(path).folder) else OnnxEncoder
    return kind(path, threads=threads, name=name)


def as_texts(texts: Iterable[str], what: str = "texts") -> list[str]:
    r"""A list of strings that any tokenizer accepts: lone surrogates, which UTF-8 can't encode, become U+FFFD.

    >>> as_texts(["plain", "\ud800!"]) == ["plain", "\ufffd!"]
    True
    >>> as_texts("one text")
    Traceback (most recent call last):
    TypeError: texts must be a list of strings: put a single string into a list
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{what} must be a list of strings: put a single string into a list")
    try:
        listed: list[Any] = list(texts)
    except TypeError:
        raise TypeError(f"{what} must be a list of strings, not {type(texts).__name__}") from None
    return [as_text(text, f"{what}[{i}]") for i, text in enumerate(listed)]


def as_text(text: str, what: str = "text") -> str:
    """One string that any tokenizer accepts, of the same length."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    return _LONE_SURROGATES.sub("\ufffd", text)


def unit_rows(rows: Any) -> F32:
    """Rows as float32, divided by their norms; a row of zeros stays as it is.

    >>> unit_rows([[3, 4], [0, 0]]).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    array = np.asarray(rows, np.float32)
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(array / np.where(norms > 0, norms, np.float32(1)), np.float32)
