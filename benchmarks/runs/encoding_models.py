"""The CPU time of encoding with small ColBERT architectures: ModernBERT with random weights, in the published sizes.

The weights do not change the time, so nothing is downloaded. It measures CPU time, so that it works on a machine with
other work; the fastest round of each counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.runs.arguments import corpus_folder, positive
from benchmarks.runs.encoding import some_texts
from maxsieve.common.optional import optional
from maxsieve.text import ColbertEncoder, OnnxEncoder, TruncationWarning, model_path
from maxsieve.text.encoders.export import export_model

SIZES = {"17M": (256, 7, 4, 384, 48), "32M": (384, 10, 6, 576, 64)}
"""Hidden size, layers, heads, intermediate size and dimension of mxbai-edge-colbert-v0."""

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q]", "[D]"]
LENGTHS = (32, 128, 256)
BATCHES = (1, 8)
WEIGHTS = ("float32", "int8")
Feed = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=corpus_folder, required=True, help="a folder in BEIR format")
    parser.add_argument("--rounds", type=positive, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", TruncationWarning)
    texts = some_texts(options.corpus, 200)
    print("CPU microseconds a token, one thread; in brackets, eight texts in one run\n")
    print(f"| model | way | {' | '.join(f'{length} tokens' for length in LENGTHS)} | least cosine |")
    print("|---|---|" + "---|" * len(LENGTHS) + "---|")
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = make(Path(folder), texts, *size)
            for int8 in (False, True):
                export_model(checkpoint, Path(folder) / WEIGHTS[int8], int8=int8)
            compare(name, ways(Path(folder)), options.rounds)
            for threads in (1, 2):
                encoder = ColbertEncoder(Path(folder) / WEIGHTS[True], threads=threads)
                print(f"| {name} | {documents(encoder, texts[:12], options.rounds)}, {threads} threads |", flush=True)
    minilm = OnnxEncoder(model_path("minilm"), max_tokens=260, threads=1)
    print(f"| minilm | {documents(minilm, texts[:12], options.rounds)} |")


def ways(folder: Path) -> dict[str, Callable[[Feed], Any]]:
    """The exported models, other 8-bit weights, and OpenVINO if it is installed."""
    exported = {weights: next((folder / weights).glob("*.onnx")) for weights in WEIGHTS}
    quantization = optional("onnxruntime.quantization", "st")
    logging.disable(logging.WARNING)
    for name, kind in (("unsigned", "QUInt8"), ("signed", "QInt8")):
        exported[f"int8, 8 bits {name}"] = folder / f"{name}.onnx"
        quantization.quantize_dynamic(
            str(exported["float32"]), str(folder / f"{name}.onnx"),
            weight_type=getattr(quantization.QuantType, kind), per_channel=True,
        )  # fmt: skip
    logging.disable(logging.NOTSET)
    found = {name: session(path) for name, path in exported.items()}
    if importlib.util.find_spec("openvino"):
        for name, path, precision in (
            ("OpenVINO, float32", exported["float32"], "f32"),
            ("OpenVINO, bfloat16 if the CPU has it", exported["float32"], None),
            ("OpenVINO, int8", exported["int8"], None),
        ):
            found[name] = openvino(path, precision)
    return found


def compare(model: str, ways: dict[str, Callable[[Feed], Any]], rounds: int) -> None:
    """All ways take turns, on the same tokens."""
    chance = np.random.default_rng(1)
    cells: dict[str, list[str]] = {name: [] for name in ways}
    cosines = dict.fromkeys(ways, 1.0)
    for length in LENGTHS:
        spent = {(name, batch): [] for name in ways for batch in BATCHES}  # type: dict[tuple[str, int], list[float]]
        for _ in range(rounds):
            for batch in BATCHES:
                ids = chance.integers(7, 8000, (batch, length))
                feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                rows = {}
                for name, way in ways.items():
                    start = process_time()
                    rows[name] = way(feed)
                    spent[name, batch].append((process_time() - start) * 1e6 / length / batch)
                    cosine = (rows[name] * rows["float32"]).sum(axis=-1).min()
                    cosines[name] = min(cosines[name], float(cosine))
        for name in ways:
            one, eight = (min(spent[name, batch]) for batch in BATCHES)
            cells[name].append(f"{one:.0f} ({eight:.0f})")
    for name, figures in cells.items():
        print(f"| {model} | {name} | {' | '.join(figures)} | {cosines[name]:.5f} |", flush=True)


def documents(encoder: ColbertEncoder | OnnxEncoder, texts: list[str], rounds: int) -> str:
    """All of encoding, for texts that are cut at 260 tokens."""
    count = sum(min(260, tokens + 2) for tokens in encoder.count_tokens(texts))
    spent = fastest(partial(encoder.encode_documents, texts), rounds)
    return f"all of encoding, {len(texts)} documents of {count / len(texts):.0f} tokens: {spent * 1e6 / count:.0f}"


def make(folder: Path, texts: list[str], hidden: int, layers: int, heads: int, inner: int, dim: int) -> Path:
    """A checkpoint with these sizes."""
    torch, transformers = optional("torch", "st"), optional("transformers", "st")
    library, base = optional("sentence_transformers", "st"), optional("sentence_transformers.base.modules", "st")
    multi = optional("sentence_transformers.multi_vector_encoder.modules", "st")
    tokenizers = optional("tokenizers", "text")
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=8000, special_tokens=SPECIAL, initial_alphabet=alphabet)
    pieces.train_from_iterator(texts, trainer)
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    pieces.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=False))
    transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, model_max_length=512, **named).save_pretrained(
        folder / "base"
    )
    config = transformers.ModernBertConfig(
        vocab_size=50368, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=inner, pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.ModernBertModel(config).save_pretrained(folder / "base")
    expansion = {"strategy": "fixed", "attend": False, "length": 32}
    modules = [
        base.Transformer(str(folder / "base"), query_expansion=expansion, document_length=260),
        base.Dense(
            hidden, dim, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings"
        ),
        multi.MultiVectorMask([]),
        base.Normalize(module_input_name="token_embeddings"),
    ]
    library.MultiVectorEncoder(modules=modules, device="cpu").save(str(folder / "checkpoint"))
    return folder / "checkpoint"


def session(graph: Path) -> Callable[[Feed], Any]:
    """Runs a graph on one thread of onnxruntime."""
    runtime = optional("onnxruntime", "text")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    opened = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    return lambda feed: opened.run(None, feed)[0]


def openvino(graph: Path, precision: str | None) -> Callable[[Feed], Any]:
    """Runs a graph on one thread of OpenVINO, which computes in bfloat16 by itself where the CPU can."""
    library = importlib.import_module("openvino")
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if precision:
        settings["INFERENCE_PRECISION_HINT"] = precision
    core = library.Core()
    request = core.compile_model(core.read_model(str(graph)), "CPU", settings).create_infer_request()
    return lambda feed: np.array(next(iter(request.infer(feed).values())))


def fastest(work: Callable[[], Any], rounds: int) -> float:
    """Seconds of CPU time of the fastest round."""
    seconds = []
    for _ in range(rounds):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
