"""Any multi-vector checkpoint, through Sentence Transformers and torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from maxsieve.common.optional import optional
from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.text.encoders.carriers import sha256
from maxsieve.text.encoders.encoder import F32, SENTENCE_TRANSFORMERS, as_texts
from maxsieve.text.encoders.hub import Checkpoint, find_checkpoint
from maxsieve.text.encoders.truncation import Truncation
from maxsieve.text.encoders.truncation_warning import report_truncation

_WINDOW = 256  # texts between two moves of the progress bar
_DECISIVE = {".json", ".safetensors", ".bin", ".txt", ".model", ".metadata", ".jinja"}


class SentenceTransformersEncoder:
    """A checkpoint, run by the `MultiVectorEncoder` of Sentence Transformers.

    `model` is a folder, a built-in model or a name on the hub (downloaded before, see `fetch_model`); or the
    `MultiVectorEncoder` itself, whose name for `load_encoder` is then not known. Prompts,
    prefixes, query expansion, skip lists, masks and lengths are those of the checkpoint. So are the rows: an empty text
    has those of its prefix and special tokens. A checkpoint without a projection of token vectors, which was not
    trained for late interaction, gives its hidden states without special tokens, at unit length, like `OnnxEncoder`.
    """

    def __init__(
        self, model: Any, *, threads: int | None = None, device: str | None = None, dtype: str | None = None
    ) -> None:
        self._asked: dict[str, Any] = {"threads": threads, "device": device, "dtype": dtype}
        self._threads = None if threads is None else thread_count(threads)
        self._checkpoint: Checkpoint | None = None
        if isinstance(model, (str, Path)):
            self._checkpoint = find_checkpoint(str(model))
            self._model = _load(self._checkpoint.folder, device, dtype)
        else:
            self._model = _check_object(model)

    def __reduce__(self) -> tuple[Any, ...]:
        given = self._model if self._checkpoint is None else self._checkpoint.name
        return partial(type(self), **self._asked), (given,)

    def __deepcopy__(self, memo: dict[int, Any]) -> SentenceTransformersEncoder:
        return self  # it never changes

    @property
    def name(self) -> str:
        """The name for `load_encoder`: ``st:`` and a folder, a built-in model, or the hub's name and revision.

        Of an object, what its base model is called: the object itself must be given again.
        """
        known = self._checkpoint
        return SENTENCE_TRANSFORMERS + (_name_of(self._model) if known is None else known.name)

    @property
    def folder(self) -> Path | None:
        """The checkpoint's folder; None for an object."""
        return None if self._checkpoint is None else self._checkpoint.folder

    @property
    def model(self) -> Any:
        """The `MultiVectorEncoder` itself."""
        return self._model

    @cached_property
    def dim(self) -> int:
        """The dimension: how many numbers a row has."""
        return int(self._model.get_embedding_dimension() or self.encode_queries(["a"])[0].shape[1])

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """The hub's revision, or the digests of the files; of an object, of its weights and settings."""
        if self._checkpoint is None:
            return _digests(self._model)
        folder, revision = self._checkpoint.folder, self._checkpoint.revision
        if revision is not None:
            return {"revision": revision}
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in _DECISIVE)
        return {path.relative_to(folder).as_posix(): sha256(path) for path in files}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The rows [L, d] of each text, as the checkpoint encodes documents; `progress` shows a bar."""
        given = as_texts(texts)
        listed = [self._truncation.shorten(text) for text in given] if self._truncation else given
        rows: list[F32] = []
        with progress_bar("encoding", len(listed), shown=progress, unit="texts") as advance:
            for start in range(0, len(listed), _WINDOW):
                some = listed[start : start + _WINDOW]
                encoded = self._encode(self._model.encode_document, some)
                rows += encoded
                advance(len(some), sum(map(len, encoded)))
        self._report_cuts(given, listed)
        return rows

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The rows [T, d] of each text, as the checkpoint encodes queries."""
        return self._encode(self._model.encode_query, as_texts(texts))

    def _encode(self, encode: Any, texts: list[Any]) -> list[F32]:
        with _torch_threads(self._threads):
            tensors = encode(texts, show_progress_bar=False)
        return [np.ascontiguousarray(tensor.float().cpu().numpy()) for tensor in tensors]

    @property
    def _limit(self) -> int | None:
        """The most tokens of a document that are read."""
        limit: int | None = getattr(self._model[0], "document_length", None) or self._model.get_max_seq_length()
        return limit

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of a document that are read, including prompt and special tokens."""
        return self._limit

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each of these short texts has, without prompt and special tokens."""
        if self._truncation is not None:
            return self._truncation.count(as_texts(texts))
        tokens = self._model.tokenizer(as_texts(texts), add_special_tokens=False, truncation=False, verbose=False)
        return [len(ids) for ids in tokens["input_ids"]]

    @cached_property
    def _truncation(self) -> Truncation | None:
        """Shortens long documents before they are tokenised, if the tokenizer is known to allow it."""
        inner = getattr(self._model.tokenizer, "backend_tokenizer", None)
        if inner is None or self._limit is None:
            return None
        tokenizer = optional("tokenizers", "text").Tokenizer.from_str(inner.to_str())
        tokenizer.no_padding()
        tokenizer.enable_truncation(max(self._limit, tokenizer.num_special_tokens_to_add(False) + 1))
        return Truncation(tokenizer, self._limit)

    def _report_cuts(self, given: list[str], read: list[str]) -> None:
        limit = self._limit
        if limit is None or self._model.tokenizer is None or not given:
            return
        names = ("document", "passage", "corpus")  # in the order in which encode_document looks for its prompt
        prompt = next((self._model.prompts[name] for name in names if name in self._model.prompts), None) or ""
        tokens = self._model.tokenizer([prompt + text for text in read], truncation=False, verbose=False)["input_ids"]
        whole = (len(some) == len(all_) for some, all_ in zip(read, given, strict=True))
        report_truncation(given, [(len(ids), exact) for ids, exact in zip(tokens, whole, strict=True)], limit)


def is_model(model: Any) -> bool:
    """Whether this is a model of Sentence Transformers, which is not imported for the question."""
    return any(kind.__module__.split(".")[0] == "sentence_transformers" for kind in type(model).__mro__)


def _check_object(model: Any) -> Any:
    """A model of Sentence Transformers that gives one vector per token."""
    if not is_model(model) or not hasattr(model, "encode_document"):
        raise TypeError(f"model must be a checkpoint's name or a MultiVectorEncoder, not {type(model).__name__}")
    library = optional("sentence_transformers", "st")
    if not isinstance(model, getattr(library, "MultiVectorEncoder", ())):
        raise TypeError(
            f"a {type(model).__name__} gives one vector per text, and late interaction needs one per token: "
            "load the checkpoint as a sentence_transformers.MultiVectorEncoder"
        )
    return model


def _name_of(model: Any) -> str:
    card = getattr(model, "model_card_data", None)
    return str(getattr(card, "model_id", None) or getattr(card, "base_model", None) or type(model).__name__)


def _digests(model: Any) -> dict[str, str]:
    """What the vectors of a model in memory depend on: its weights, its modules, its prompts and lengths."""
    weights, in_bytes = hashlib.sha256(), optional("torch", "st").uint8
    for name, tensor in sorted(model.state_dict().items()):
        weights.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        weights.update(tensor.detach().cpu().contiguous().view(-1).view(in_bytes).numpy().tobytes())
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    settings = {
        "modules": [[type(module).__name__, _settings_of(module)] for module in model],
        "prompts": dict(model.prompts),
        "length": model.get_max_seq_length(),
        "tokenizer": None if tokenizer is None else _without_state(json.loads(tokenizer.to_str())),
    }
    text = json.dumps(settings, sort_keys=True, default=lambda value: type(value).__name__)
    return {"weights": weights.hexdigest(), "settings": hashlib.sha256(text.encode()).hexdigest()}


def _without_state(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """A tokenizer without what each call sets: how it pads and cuts."""
    return {name: value for name, value in tokenizer.items() if name not in ("padding", "truncation")}


def _settings_of(module: Any) -> Any:
    """The settings that a module saves: they do not contain its path."""
    names = getattr(module, "config_keys", ())
    return {name: getattr(module, name, None) for name in names}


def _load(folder: Path, device: str | None, dtype: str | None) -> Any:
    library = optional("sentence_transformers", "st")
    if not hasattr(library, "MultiVectorEncoder"):
        raise ImportError(f"this needs sentence-transformers 6 or newer, not {library.__version__}")
    place: dict[str, Any] = {"device": device, "local_files_only": True}
    if dtype is not None:
        place["model_kwargs"] = {"dtype": dtype}
    with _quiet_loading():
        if _is_multi_vector(folder):
            return library.MultiVectorEncoder(str(folder), **place)
        return library.MultiVectorEncoder(modules=_plain_modules(folder), **place)


def _is_multi_vector(folder: Path) -> bool:
    """Whether the checkpoint has a projection of token vectors; otherwise the library would add a random one."""
    settings = read_json(folder / "config_sentence_transformers.json", {})
    modules = read_json(folder / "modules.json", [])
    architectures = read_json(folder / "config.json", {}).get("architectures") or []
    return (
        settings.get("model_type") in ("MultiVectorEncoder", "ColBERT")
        or any(str(module.get("type", "")).endswith("Dense") for module in modules)
        or any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures)
    )


def _plain_modules(folder: Path) -> list[Any]:
    """Modules for hidden states at unit length, of all tokens except special ones."""
    base = optional("sentence_transformers.base.modules", "st")
    multi = optional("sentence_transformers.multi_vector_encoder.modules", "st")
    transformer = base.Transformer(str(folder), model_kwargs={"local_files_only": True})
    tokenizer = transformer.tokenizer
    added = [tokenizer.cls_token, tokenizer.sep_token, tokenizer.bos_token, tokenizer.eos_token]
    mask = multi.MultiVectorMask([token for token in added if token], skiplist_tasks=["query", "document"])
    return [transformer, mask, base.Normalize(module_input_name="token_embeddings")]


def read_json(path: Path, default: Any) -> Any:
    """The content of a JSON file, or the default if there is none."""
    try:
        return json.loads(path.read_bytes()) if path.is_file() else default
    except ValueError as problem:
        raise ValueError(f"{path} is not valid JSON: {problem}") from None


@contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    """Sets torch's number of threads, which is one for the whole process; restores it afterwards."""
    torch = optional("torch", "st")
    before = torch.get_num_threads()
    if threads is None or threads == before:
        yield
        return
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Hides the progress bar of loading weights, which takes a moment."""
    logging = optional("transformers.utils.logging", "st")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
