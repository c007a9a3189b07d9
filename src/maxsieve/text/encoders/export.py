"""Makes an ONNX folder for `ColbertEncoder` from a checkpoint, with torch, and compares both before it is done."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxsieve.common.optional import optional
from maxsieve.text.encoders.colbert import ColbertEncoder
from maxsieve.text.encoders.colbert_files import ONNX_CONFIG, ColbertSettings, is_colbert, read_settings
from maxsieve.text.encoders.encoder import F32
from maxsieve.text.encoders.multi_vector import SentenceTransformersEncoder
from maxsieve.text.encoders.onnx_files import open_tokenizer
from maxsieve.text.encoders.truncation_warning import TruncationWarning

LEAST_COSINE = {False: 0.9999, True: 0.99}
"""The least cosine of a row with torch's that is accepted, for float32 and for int8."""

TEXTS = [
    "What is late interaction?",
    "MaxSim: for each token of the query, the BEST token of the document; then the sum!",
    "",
    "naïve Ångström — “quotes”, (brackets) [and] {more}; e.g. 3.14 % of $2,000",
    "日本語のテキスト。 العربية. Ελληνικά. हिन्दी. 한국어",
    "emoji \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 and code: `x = y[0] + 1`  # done",
    "a long text, longer than any limit of a query. " * 8,
]


class Difference(NamedTuple):
    """How far the rows of an exported model are from torch's."""

    largest: float
    """The largest difference of two numbers."""
    cosine: float
    """The least cosine of two rows."""


def export_model(checkpoint: str | Path, folder: str | Path, *, int8: bool = False) -> Difference:
    """Writes ``model.onnx`` (or ``model_int8.onnx``), ``tokenizer.json`` and ``onnx_config.json`` into a new folder.

    `checkpoint` is what ``"st:"`` accepts: a folder, or a name on the hub that was downloaded. The rows of some texts
    are compared with torch's first; if they differ, there is an error and no folder.
    """
    target = Path(folder).absolute()
    if target.exists():
        raise FileExistsError(f"{target} exists already: give the name of a new folder")
    encoder = SentenceTransformersEncoder(str(checkpoint))
    source = encoder.folder
    assert source is not None  # it was given by name
    if not is_colbert(source):
        raise ValueError(f"{source} is no late-interaction model: it has no projection of token vectors")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.") as scratch:
        made = Path(scratch) / target.name
        made.mkdir()
        _copy_tokenizer(encoder, source, made)
        settings = read_settings(source, open_tokenizer(made / "tokenizer.json", 1 << 20))
        _write_graph(encoder.model, made / "model.onnx")
        if int8:
            _quantise(made / "model.onnx", made / "model_int8.onnx")
        _write_config(settings, encoder.dim, made)
        found = _compare(encoder, ColbertEncoder(made), LEAST_COSINE[int8])
        made.rename(target)
    return found


def _copy_tokenizer(encoder: SentenceTransformersEncoder, source: Path, made: Path) -> None:
    """The checkpoint's own file, or else what its slower forms were read as."""
    if (own := source / "tokenizer.json").is_file():
        shutil.copyfile(own, made / own.name)
    else:
        encoder.model.tokenizer.backend_tokenizer.save(str(made / own.name))


def _write_graph(model: Any, path: Path) -> None:
    torch = optional("torch", "st")
    kinds = [type(module).__name__ for module in model]
    if kinds[0] != "Transformer" or set(kinds[1:]) - {"Dense", "MultiVectorMask", "Normalize"}:
        raise ValueError(f"only Transformer, Dense, MultiVectorMask and Normalize can be exported, not {kinds}")
    inner, layers = model[0].model, [module for module in model if type(module).__name__ == "Dense"]

    class Graph(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.layers = inner, torch.nn.ModuleList(layers)

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            states = inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            for layer in self.layers:
                states = layer({"token_embeddings": states})["token_embeddings"]
            return torch.nn.functional.normalize(states, p=2, dim=-1)

    names = ["input_ids", "attention_mask"]
    axes = {name: {0: "batch", 1: "tokens"} for name in [*names, "token_vectors"]}
    ids = torch.arange(2 * 9).reshape(2, 9) % inner.config.vocab_size
    mask = torch.ones_like(ids)
    mask[0, 6:] = 0
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tracer, about constants that the comparison checks
        torch.onnx.export(
            Graph().eval(), (ids, mask), str(path), input_names=names, output_names=["token_vectors"],
            dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip


def _quantise(path: Path, target: Path) -> None:
    """Signed weights from -64 to 64: with VNNI they take two thirds of the time of unsigned ones.

    CPUs without VNNI add two products of an activation (up to 255) and a weight in 16 bits: 2 * 255 * 64 still fits,
    and with 127 it would overflow and give other rows.
    """
    optional("onnx", "st")
    quantization = optional("onnxruntime.quantization", "st")
    logging.disable(logging.WARNING)  # it recommends a step that changes nothing here
    try:
        quantization.quantize_dynamic(
            str(path), str(target), weight_type=quantization.QuantType.QInt8, per_channel=True, reduce_range=True
        )
    finally:
        logging.disable(logging.NOTSET)
    path.unlink()


def _write_config(settings: ColbertSettings, dim: int, made: Path) -> None:
    """All settings in the words of pylate-onnx-export, with ``prompts`` if texts have prompts instead of markers."""
    tokenizer = open_tokenizer(made / "tokenizer.json", 1 << 20)
    added = tokenizer.get_added_tokens_decoder()

    def token(number: int) -> str:  # id_to_token would give an added token in lower case, if the normalizer does so
        return str(added[number].content if number in added else tokenizer.id_to_token(number))

    sides = {"query": settings.query, "document": settings.document}
    skipped = {name: sorted(map(token, side.skipped)) for name, side in sides.items()}
    content = {
        "model_type": "ColBERT",
        **{f"{name}_prefix": "" if side.prefix is None else token(side.prefix) for name, side in sides.items()},
        **{f"{name}_length": side.length for name, side in sides.items()},
        "do_query_expansion": settings.expansion > 0,
        **({"expansion_length": settings.expansion} if 0 < settings.expansion < settings.query.length else {}),
        "attend_to_expansion_tokens": settings.attend,
        "skiplist_words": max(skipped.values(), key=len),
        "skiplist_tasks": [name for name, words in skipped.items() if words],
        **({} if settings.mask is None else {"mask_token_id": settings.mask}),
        "embedding_dim": dim,
        "do_lower_case": settings.lower,
        **({} if settings.strip else {"prompts": {name: side.prompt for name, side in sides.items()}}),
    }
    (made / ONNX_CONFIG).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _compare(torch_model: SentenceTransformersEncoder, exported: ColbertEncoder, least: float) -> Difference:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        pairs = [
            *zip(torch_model.encode_queries(TEXTS), exported.encode_queries(TEXTS), strict=True),
            *zip(torch_model.encode_documents(TEXTS), exported.encode_documents(TEXTS), strict=True),
        ]
    found = [_difference(one, other) for one, other in pairs]
    if None in found:
        raise ValueError("the exported model gives another number of rows than torch: its settings were misread")
    differences = [one for one in found if one is not None]
    worst = Difference(max(one.largest for one in differences), min(one.cosine for one in differences))
    if not worst.cosine >= least:
        raise ValueError(
            f"the exported model's rows are not torch's: the least cosine is {worst.cosine:.5f}, expected {least}"
        )
    return worst


def _difference(made: F32, wanted: F32) -> Difference | None:
    if made.shape != wanted.shape:
        return None
    if not len(made):
        return Difference(0.0, 1.0)
    return Difference(float(np.abs(made - wanted).max()), float((made * wanted).sum(axis=1).min()))
