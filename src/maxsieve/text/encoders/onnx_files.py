"""Finds and opens the files in an ONNX model's folder; errors name the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional
from maxsieve.text.encoders.stated import Stated

_LIMIT = 512  # BERT's limit, used if the folder does not state one
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(float16)", "tensor(double)")
_ERRORS_ONLY = 3
_FOR_TORCH = ("modules.json", "config_sentence_transformers.json", "model.safetensors", "pytorch_model.bin")


class OnnxFiles(NamedTuple):
    """The files of a model."""

    folder: Path
    model: Path
    tokenizer: Path

    @classmethod
    def find(cls, path: Path) -> OnnxFiles:
        """The files in a folder; or those of one ``*.onnx`` file in it, or in its folder ``onnx``."""
        path = path.absolute()
        if is_onnx_file(path):
            inside = path.parent.name == "onnx" and not (path.parent / "tokenizer.json").is_file()
            folder, model = path.parent.parent if inside else path.parent, path
        elif path.is_dir():
            folder, model = path, _only_model(path)
        else:
            raise FileNotFoundError(f"{path} is not a folder")
        tokenizer = folder / "tokenizer.json"
        if not tokenizer.is_file():
            raise FileNotFoundError(f"{tokenizer} is missing: {model.name} needs its tokenizer")
        return cls(folder, model, tokenizer)

    @property
    def name(self) -> str:
        """The name that finds these files again: the folder, if it has no other model, or the model's file."""
        return str(self.folder if self.model in (self.folder / "model.onnx", *_alone(self.folder)) else self.model)

    @property
    def decisive(self) -> list[Path]:
        """The files that the vectors depend on. Weights may be in further files, whose names start with the model's."""
        return [*sorted(self.model.parent.glob(f"{self.model.name}*")), self.tokenizer]

    def max_tokens(self, asked: int | None) -> int:
        """The token limit: the requested one, if the model has that many positions, or else the folder's own."""
        config = Stated.read(self.folder / "config.json").content
        positions = config.get("max_position_embeddings")
        if positions is not None and "roberta" in str(config.get("model_type")):
            positions -= (
                config.get("pad_token_id", 1) + 1
            )  # RoBERTa's positions start after the id of its padding token
        stated = [positions, Stated.read(self.folder / "tokenizer_config.json").content.get("model_max_length")]
        limits = [int(limit) for limit in stated if isinstance(limit, (int, float)) and 0 < limit < 1 << 20]
        if asked is None:
            return min(limits, default=_LIMIT)
        return as_count(asked, "max_tokens", at_least=1, at_most=int(positions) if positions else None)


class OnnxModel:
    """An ONNX graph from token numbers to hidden states."""

    def __init__(self, path: Path, *, dim: int | None = None) -> None:
        """`dim`, if it is known, says which output is meant if there are several."""
        runtime = optional("onnxruntime", "text")
        options = runtime.SessionOptions()
        # One thread, the caller's: texts are distributed over threads already. The runtime's would not survive a fork.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # texts differ in length, and one pattern per length would be stored
        options.log_severity_level = _ERRORS_ONLY
        try:
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as problem:  # its errors have no other common base class
            raise ValueError(f"{path} can't be loaded as an ONNX model: {problem}") from None
        self._path = path
        self.output, self.dim = self._find_output(dim)
        self._inputs = self._find_inputs()

    def hidden(self, encoding: Any) -> NDArray[Any]:
        """The hidden states [L, d] of a text as `tokenizers` encoded it."""
        return self.states(encoding.ids, encoding.attention_mask, encoding.type_ids)

    def states(self, ids: Sequence[int], attention: Sequence[int], kinds: Sequence[int]) -> NDArray[Any]:
        """The output [L, d] for these tokens, with their attention mask and types."""
        values = zip(_INPUTS, (ids, attention, kinds), strict=True)
        feed = {name: np.array([value], self._inputs[name]) for name, value in values if name in self._inputs}
        try:
            (states,) = self._session.run([self.output], feed)
        except Exception as problem:
            raise ValueError(f"{self._path} fails on a text of {len(ids)} tokens: {problem}") from None
        return np.asarray(states[0])

    def _find_output(self, dim: int | None) -> tuple[str, int | None]:
        outputs = self._session.get_outputs()
        tokens = [output for output in outputs if len(output.shape) == 3 and output.type in _FLOATS]
        states = (
            [output for output in tokens if dim is not None and output.shape[-1] == dim]
            or [output for output in outputs if output.name == "last_hidden_state"]
            or tokens
        )
        if len(states) != 1:
            given = ", ".join(f"{output.name} {output.shape}" for output in outputs)
            raise ValueError(
                f"{self._path} must have an output last_hidden_state, or just one [batch, tokens, d]: {given}"
            )
        width = states[0].shape[-1] if states[0].shape else None
        return states[0].name, width if isinstance(width, int) else None

    def _find_inputs(self) -> dict[str, Any]:
        inputs = {tensor.name: tensor.type for tensor in self._session.get_inputs()}
        strange = [f"{name} ({kind})" for name, kind in inputs.items() if name not in _INPUTS or kind not in _INTEGERS]
        if strange or "input_ids" not in inputs:
            wanted = "input_ids, and at most attention_mask and token_type_ids"
            raise ValueError(f"{self._path} must take {wanted}, as integers, but takes {', '.join(strange or inputs)}")
        return {name: _INTEGERS[kind] for name, kind in inputs.items()}


def open_tokenizer(path: Path, max_tokens: int) -> Any:
    """The tokenizer of a file, cutting texts at `max_tokens`, padding nothing."""
    tokenizers = optional("tokenizers", "text")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as problem:  # it raises no more specific class
        raise ValueError(f"{path} can't be loaded as a tokenizer: {problem}") from None
    added = tokenizer.num_special_tokens_to_add(False)
    if max_tokens <= added:
        raise ValueError(
            f"max_tokens must be more than {added}, the number of special tokens of each text, not {max_tokens}"
        )
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def is_onnx_file(path: Path) -> bool:
    """Whether a path is a file with an ONNX model."""
    return path.suffix == ".onnx" and path.is_file()


def _models(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("*.onnx")), *sorted(folder.glob("onnx/*.onnx"))]


def _alone(folder: Path) -> list[Path]:
    """The model that a folder stands for, if it has no ``model.onnx``: the only one, or ``onnx/model.onnx``."""
    models = _models(folder)
    standard = [model for model in models if model == folder / "onnx" / "model.onnx"]
    return models if len(models) == 1 else standard if len(models) == len([*folder.glob("onnx/*.onnx")]) else []


def _only_model(folder: Path) -> Path:
    if (model := folder / "model.onnx").is_file():
        return model
    if alone := _alone(folder):
        return alone[0]
    models = _models(folder)
    found = ", ".join(model.relative_to(folder).as_posix() for model in models) or "none"
    for_torch = not models and any((folder / name).is_file() for name in _FOR_TORCH)
    hint = f"; to use it as a checkpoint for Sentence Transformers, give 'st:{folder}'" if for_torch else ""
    hint = "; give the path of one of them" if models else hint
    raise FileNotFoundError(f"{folder} must contain model.onnx, or one file *.onnx; found: {found}{hint}")
