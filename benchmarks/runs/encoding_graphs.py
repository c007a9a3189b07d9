"""Other forms of a dynamically quantised BERT graph, to compare their times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def graphs(path: Path) -> dict[str, bytes]:
    """The forms by name, as onnxruntime loads them."""
    made = {
        "no mask in the graph": without_mask(onnx.load(path)),
        "signed 8-bit weights": signed_weights(onnx.load(path)),
        "float32 weights": float_weights(onnx.load(path)),
    }
    fused = {
        "attention fused": fused_attention(without_mask(onnx.load(path))),
        "attention fused, signed 8-bit weights": fused_attention(without_mask(signed_weights(onnx.load(path)))),
        "attention fused, float32 weights": fused_attention(without_mask(float_weights(onnx.load(path)))),
    }
    return {name: model.SerializeToString() for name, model in {**made, **fused}.items()}


def without_mask(model: Any) -> Any:
    """Without the mask before the softmax: a single text has nothing to mask."""
    nodes = model.graph.node
    makers = {output: node for node in nodes for output in node.output}
    for node in nodes:
        if node.op_type == "Softmax" and (added := makers[node.input[0]]).op_type == "Add":
            node.input[0] = added.input[0]
    return pruned(model)


def signed_weights(model: Any) -> Any:
    """The weights and zero points minus 128: the same products, with other instructions."""
    weights = {
        name for node in model.graph.node if node.op_type == "MatMulInteger" for name in (node.input[1], node.input[3])
    }
    for tensor in model.graph.initializer:
        if tensor.name in weights and tensor.data_type == TensorProto.UINT8:
            shifted = (numpy_helper.to_array(tensor).astype(np.int16) - 128).astype(np.int8)
            tensor.CopyFrom(numpy_helper.from_array(shifted, tensor.name))
    return model


def float_weights(model: Any) -> Any:
    """Products of float32 with dequantised weights."""
    graph = model.graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    users = {name: node for node in graph.node for name in node.input}
    for node in [node for node in graph.node if node.op_type == "MatMulInteger"]:
        quantised, codes, _, zero = node.input
        scaled = users[users[node.output[0]].output[0]]  # Cast, then Mul by both scales
        scale = next(name for name in makers[scaled.input[1]].input if name in tensors)
        rows = (tensors[codes].astype(np.float32) - tensors[zero].astype(np.float32)) * tensors[scale]
        graph.initializer.append(numpy_helper.from_array(rows, f"{codes}_float"))
        product = helper.make_node("MatMul", [makers[quantised].input[0], f"{codes}_float"], list(scaled.output))
        place = list(graph.node).index(scaled)
        graph.node.remove(scaled)
        graph.node.insert(place, product)
    return pruned(model)


def fused_attention(model: Any) -> Any:
    """Scores, softmax and their products with the values in one node, which keeps a part of them in cache."""
    graph = model.graph
    makers = {output: node for node in graph.node for output in node.output}
    heads = 12
    for node in [node for node in graph.node if node.op_type == "Softmax"]:
        scores = makers[makers[node.input[0]].input[0]]
        values = next(user for user in graph.node if node.output[0] in user.input)
        parts = [source(makers, name) for name in (scores.input[0], scores.input[1], values.input[1])]
        back = next(user for user in graph.node if values.output[0] in user.input)
        rows = next(user for user in graph.node if back.output[0] in user.input and user.op_type == "Reshape")
        one = helper.make_node("MultiHeadAttention", parts, list(rows.output), domain="com.microsoft", num_heads=heads)
        place = list(graph.node).index(rows)
        graph.node.remove(rows)
        graph.node.insert(place, one)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return pruned(model)


def source(makers: dict[str, Any], name: str) -> str:
    """The input of the split into heads: rows [1, tokens, dimensions], before Reshape and Transpose."""
    node = makers[name]
    while node.op_type in ("Reshape", "Transpose"):
        name = node.input[0]
        node = makers[name]
    return name


def pruned(model: Any) -> Any:
    """Removes nodes, weights and inputs that nothing depends on."""
    graph = model.graph
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    kept.reverse()
    del graph.node[:]
    graph.node.extend(kept)
    for things in (graph.initializer, graph.input):
        left = [thing for thing in things if thing.name in needed]
        del things[:]
        things.extend(left)
    return model
