"""Text in, token vectors out, and collections of texts that are searched by them.

An `Encoder` turns texts into token vectors; `load_encoder` finds one by name. A `Collection` keeps texts, ids,
metadata and an index in one folder. The built-in model is fetched once, by ``maxsieve model fetch minilm``; nothing
is downloaded unasked.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxsieve.text.collection import Collection
    from maxsieve.text.cuts import TruncationWarning
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

_ROOMS = {
    "collection": ("Collection",),
    "cuts": ("TruncationWarning",),
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
"""Imported when they are first asked for: `maxsieve.text.inputs` and the help of the command line need none of them."""


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
