"""The CPU time of encoding with small ColBERT architectures: ModernBERT with random weights, in the published sizes.

The weights do not change the time, so nothing is downloaded. It measures CPU time, so that it works on a machine with
other work; the fastest round of each counts.
"""

from __future__ import annotations

import argparse
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=corpus_folder, required=True, help="a folder in BEIR format")
    parser.add_argument("--rounds", type=positive, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", TruncationWarning)
    texts = some_texts(options.corpus, 200)
    print("model  weights  tokens  one by one  eight in one run  (CPU microseconds a token, one thread)")
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = make(Path(folder), texts, *size)
            for weights in ("float32", "int8"):
                export_model(checkpoint, Path(folder) / weights, int8=weights == "int8")
                graph = next((Path(folder) / weights).glob("*.onnx"))
                run = session(graph)
                for length in LENGTHS:
                    one, eight = (
                        fastest(partial(run, batch, length), options.rounds) * 1e6 / length for batch in (1, 8)
                    )
                    print(f"{name}  {weights:<7}  {length:>6}  {one:>10.0f}  {eight / 8:>16.0f}")
                encoder = ColbertEncoder(Path(folder) / weights, threads=1)
                documents(f"{name}  {weights:<7}", encoder, texts[:12], options.rounds)
    documents("minilm  uint8", OnnxEncoder(model_path("minilm"), max_tokens=260, threads=1), texts[:12], options.rounds)


def documents(name: str, encoder: ColbertEncoder | OnnxEncoder, texts: list[str], rounds: int) -> None:
    """All of encoding, for the same texts, each cut at 260 tokens."""
    count = sum(min(260, tokens + 2) for tokens in encoder.count_tokens(texts))
    spent = fastest(partial(encoder.encode_documents, texts), rounds)
    print(f"{name}  {len(texts)} documents of {count / len(texts):.0f} tokens: {spent * 1e6 / count:.0f}")


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


def session(graph: Path) -> Callable[[int, int], Any]:
    """Runs a graph on one thread with a batch of some length."""
    runtime = optional("onnxruntime", "text")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    opened = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    chance = np.random.default_rng(1)

    def run(batch: int, length: int) -> Any:
        ids = chance.integers(7, 8000, (batch, length))
        return opened.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})

    return run


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
