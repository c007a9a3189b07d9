"""Finds and opens the files in an ONNX model's folder; errors name the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.checks import as_count
from maxsieve.common.optional import optional

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
    def find(cls, folder: Path) -> OnnxFiles:
        """The files in a folder."""
        folder = folder.absolute()
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not a folder")
        model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
        if not model.is_file():
            others = sorted(folder.glob("*.onnx"))
            if len(others) != 1:
                found = ", ".join(other.name for other in others) or "none"
                for_torch = not others and any((folder / name).is_file() for name in _FOR_TORCH)
                hint = f"; to use it as a checkpoint for Sentence Transformers, give 'st:{folder}'" if for_torch else ""
                raise FileNotFoundError(f"{folder} must contain model.onnx, or one file *.onnx; found: {found}{hint}")
            model = others[0]
        if not tokenizer.is_file():
            raise FileNotFoundError(f"{tokenizer} is missing: {model.name} needs its tokenizer")
        return cls(folder, model, tokenizer)

    @property
    def decisive(self) -> list[Path]:
        """The files that the vectors depend on. Weights may be in further files, whose names start with the model's."""
        return [*sorted(self.folder.glob(f"{self.model.name}*")), self.tokenizer]

    def max_tokens(self, asked: int | None) -> int:
        """The token limit: the requested one, if the model has that many positions, or else the folder's own."""
        config = _read_json(self.folder / "config.json")
        positions = config.get("max_position_embeddings")
        if positions is not None and "roberta" in str(config.get("model_type")):
            positions -= (
                config.get("pad_token_id", 1) + 1
            )  # RoBERTa's positions start after the id of its padding token
        stated = [positions, _read_json(self.folder / "tokenizer_config.json").get("model_max_length")]
        limits = [int(limit) for limit in stated if isinstance(limit, (int, float)) and 0 < limit < 1 << 20]
        if asked is None:
            return min(limits, default=_LIMIT)
        return as_count(asked, "max_tokens", at_least=1, at_most=int(positions) if positions else None)


class OnnxModel:
    """An ONNX graph from token numbers to hidden states."""

    def __init__(self, path: Path) -> None:
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
        self._output, self.dim = self._find_output()
        self._inputs = self._find_inputs()

    def hidden(self, encoding: Any) -> NDArray[Any]:
        """The hidden states [L, d] of a text as `tokenizers` encoded it."""
        values = zip(_INPUTS, (encoding.ids, encoding.attention_mask, encoding.type_ids), strict=True)
        feed = {name: np.array([value], self._inputs[name]) for name, value in values if name in self._inputs}
        try:
            (states,) = self._session.run([self._output], feed)
        except Exception as problem:
            length = len(encoding.ids)
            raise ValueError(f"{self._path} fails on a text of {length} tokens: {problem}") from None
        return np.asarray(states[0])

    def _find_output(self) -> tuple[str, int | None]:
        outputs = self._session.get_outputs()
        states = [output for output in outputs if output.name == "last_hidden_state"] or [
            output for output in outputs if len(output.shape) == 3 and output.type in _FLOATS
        ]
        if len(states) != 1:
            given = ", ".join(f"{output.name} {output.shape}" for output in outputs)
            raise ValueError(
                f"{self._path} must have an output last_hidden_state, or just one [batch, tokens, d]: {given}"
            )
        dim = states[0].shape[-1] if states[0].shape else None
        return states[0].name, dim if isinstance(dim, int) else None

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


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError as problem:
        raise ValueError(f"{path} is not valid JSON: {problem}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must contain a JSON object")
    return content
