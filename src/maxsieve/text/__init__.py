"""Encoders from text to token vectors, and collections of texts that are searched with them.

An `Encoder` turns texts into token vectors; `load_encoder` finds one by name. A `Collection` keeps texts, ids,
metadata and an index in one folder. The built-in model is downloaded once, by ``maxsieve model fetch minilm``;
nothing is downloaded without being asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxsieve.text.collection import Collection
    from maxsieve.text.encoder import Encoder, Measuring, Traceable, load_encoder
    from maxsieve.text.first_stage import BM25
    from maxsieve.text.hits import TextHits
    from maxsieve.text.models import ModelInfo, fetch_model, list_models, model_path
    from maxsieve.text.multi_vector import SentenceTransformersEncoder
    from maxsieve.text.onnx import OnnxEncoder
    from maxsieve.text.passages import Passage
    from maxsieve.text.projection import ProjectedEncoder, fit_projection
    from maxsieve.text.reranking import rerank
    from maxsieve.text.sync_run import Synced
    from maxsieve.text.syncing import FolderSync
    from maxsieve.text.truncation_warning import TruncationWarning

__all__ = [
    "BM25",
    "Collection",
    "Encoder",
    "FolderSync",
    "Measuring",
    "ModelInfo",
    "OnnxEncoder",
    "Passage",
    "ProjectedEncoder",
    "SentenceTransformersEncoder",
    "Synced",
    "TextHits",
    "Traceable",
    "TruncationWarning",
    "fetch_model",
    "fit_projection",
    "list_models",
    "load_encoder",
    "model_path",
    "rerank",
]

_MODULES = {
    "collection": ("Collection",),
    "truncation_warning": ("TruncationWarning",),
    "encoder": ("Encoder", "Measuring", "Traceable", "load_encoder"),
    "first_stage": ("BM25",),
    "hits": ("TextHits",),
    "models": ("ModelInfo", "fetch_model", "list_models", "model_path"),
    "multi_vector": ("SentenceTransformersEncoder",),
    "onnx": ("OnnxEncoder",),
    "passages": ("Passage",),
    "projection": ("ProjectedEncoder", "fit_projection"),
    "reranking": ("rerank",),
    "sync_run": ("Synced",),
    "syncing": ("FolderSync",),
}
"""Imported on first use: `maxsieve.text.inputs` and the help of the command line need none of them."""


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
