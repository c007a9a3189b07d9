"""The projection of a ColBERT model whose ONNX graph ends with hidden states: one matrix and one bias."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.exchange.safetensors import read_tensors
from maxsieve.text.encoders.colbert_files import ONNX_CONFIG, ColbertSettings, modules
from maxsieve.text.encoders.encoder import F32
from maxsieve.text.encoders.stated import Stated

_HIDDEN = ("last_hidden_state", "token_embeddings")


class Projection(NamedTuple):
    """``states @ matrix + bias``, and the files that it was read from."""

    matrix: F32
    bias: F32
    files: list[Path]


def find_projection(folder: Path, settings: ColbertSettings, output: str, width: int) -> Projection | None:
    """The projection that is still to be applied to a graph's output with rows of `width`; None if there is none."""
    layers = [place for kind, place in modules(folder) if kind.rpartition(".")[2] == "Dense"]
    sizes = [(found.count("in_features"), found.count("out_features")) for found in map(_config, layers)]
    inline = None if layers else _inline_weights(folder / "model.safetensors")
    if inline is not None:
        sizes = [(inline.shape[1], inline.shape[0])]
    dim = settings.dim or (sizes[-1][1] if sizes else None)
    if dim is None:
        raise ValueError(f"{settings.source} does not state the dimension, and no file beside it has a projection")
    if width == dim and not (sizes and sizes[0][0] == dim and _is_hidden(settings, output)):
        return None
    if not sizes or sizes[0][0] != width or sizes[-1][1] != dim:
        raise ValueError(
            f"{output} of the ONNX model has rows of {width} numbers, but the model's vectors have {dim} "
            f"({settings.source}): the projection is missing, for example in modules.json and "
            "1_Dense/model.safetensors"
        )
    if inline is not None:
        weight = np.asarray(inline, np.float32)
        return Projection(weight.T, np.zeros(dim, np.float32), [folder / "model.safetensors"])
    return _product(layers, sizes)


def _inline_weights(path: Path) -> NDArray[Any] | None:
    """The projection among the other weights, where Stanford's ColBERT has it."""
    found = read_tensors(path).get("linear.weight") if path.is_file() else None
    return found if found is not None and found.ndim == 2 else None


def _is_hidden(settings: ColbertSettings, output: str) -> bool:
    """Whether an output that could be either, as both have the same width, comes before the projection."""
    return settings.source.name != ONNX_CONFIG and output in _HIDDEN


def _config(layer: Path) -> Stated:
    found = Stated.read(layer / "config.json")
    activation = found.text("activation_function")
    if activation.rpartition(".")[2] != "Identity":
        raise ValueError(f"{found.path}: activation_function {activation!r:.60} is not supported, only Identity")
    if found.content.get("module_input_name", "token_embeddings") != "token_embeddings":
        raise ValueError(f"{found.path}: module_input_name must be token_embeddings, as it projects token vectors")
    return found


def _product(layers: list[Path], sizes: list[tuple[int, int]]) -> Projection:
    """Several layers without activation are one: their product, in float64."""
    matrix: NDArray[np.float64] = np.eye(sizes[0][0])
    bias: NDArray[np.float64] = np.zeros(sizes[0][0])
    files = []
    for layer, (wide, narrow) in zip(layers, sizes, strict=True):
        path, config = layer / "model.safetensors", _config(layer)
        if not path.is_file():
            raise ValueError(f"{path} is missing: it has the weights of the projection")
        tensors = read_tensors(path)
        wanted: dict[str, tuple[int, ...]] = {"linear.weight": (narrow, wide)}
        if config.flag("bias"):
            wanted["linear.bias"] = (narrow,)
        residual = config.flag("use_residual", default=False)
        if residual and wide != narrow:
            wanted["residual.weight"] = (narrow, wide)
        for name, shape in wanted.items():
            if name not in tensors or tensors[name].shape != shape:
                raise ValueError(f"{path} must have {name} of shape {list(shape)}, as {config.path} says")
        weight = np.asarray(tensors["linear.weight"], np.float64)
        if residual:
            weight = weight + (np.eye(wide) if wide == narrow else np.asarray(tensors["residual.weight"], np.float64))
        matrix, bias = matrix @ weight.T, bias @ weight.T
        if "linear.bias" in wanted:
            bias = bias + np.asarray(tensors["linear.bias"], np.float64)
        files += [path, config.path]
    return Projection(matrix.astype(np.float32), bias.astype(np.float32), files)
