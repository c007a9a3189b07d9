"""Encoders from text to token vectors, and collections of texts that are searched with them.

An `Encoder` turns texts into token vectors; `load_encoder` finds one by name. A `Collection` keeps texts, ids,
metadata and an index in one folder. The built-in model is downloaded once, by ``maxsieve model fetch minilm``;
nothing is downloaded without being asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxsieve.text.collection.collection import Collection
    from maxsieve.text.collection.hits import TextHits
    from maxsieve.text.collection.rerank import rerank
    from maxsieve.text.encoders.colbert import ColbertEncoder
    from maxsieve.text.encoders.encoder import Encoder, Measuring, Traceable, load_encoder
    from maxsieve.text.encoders.models import ModelInfo, fetch_model, list_models, model_path
    from maxsieve.text.encoders.multi_vector import SentenceTransformersEncoder
    from maxsieve.text.encoders.onnx import OnnxEncoder
    from maxsieve.text.encoders.projection import ProjectedEncoder, fit_projection
    from maxsieve.text.encoders.truncation_warning import TruncationWarning
    from maxsieve.text.lexical.bm25 import BM25
    from maxsieve.text.pages.heat_map import heat_map
    from maxsieve.text.pages.page import PageDocument
    from maxsieve.text.pages.places import Box, Grid
    from maxsieve.text.passages import Passage
    from maxsieve.text.sync.folder_sync import FolderSync
    from maxsieve.text.sync.run import Synced

__all__ = [
    "BM25",
    "Box",
    "ColbertEncoder",
    "Collection",
    "Encoder",
    "FolderSync",
    "Grid",
    "Measuring",
    "ModelInfo",
    "OnnxEncoder",
    "PageDocument",
    "Passage",
    "ProjectedEncoder",
    "SentenceTransformersEncoder",
    "Synced",
    "TextHits",
    "Traceable",
    "TruncationWarning",
    "fetch_model",
    "fit_projection",
    "heat_map",
    "list_models",
    "load_encoder",
    "model_path",
    "rerank",
]

_MODULES = {
    "collection.collection": ("Collection",),
    "encoders.truncation_warning": ("TruncationWarning",),
    "encoders.encoder": ("Encoder", "Measuring", "Traceable", "load_encoder"),
    "lexical.bm25": ("BM25",),
    "collection.hits": ("TextHits",),
    "encoders.models": ("ModelInfo", "fetch_model", "list_models", "model_path"),
    "encoders.colbert": ("ColbertEncoder",),
    "encoders.multi_vector": ("SentenceTransformersEncoder",),
    "encoders.onnx": ("OnnxEncoder",),
    "pages.heat_map": ("heat_map",),
    "pages.page": ("PageDocument",),
    "pages.places": ("Box", "Grid"),
    "passages": ("Passage",),
    "encoders.projection": ("ProjectedEncoder", "fit_projection"),
    "collection.rerank": ("rerank",),
    "sync.run": ("Synced",),
    "sync.folder_sync": ("FolderSync",),
}
"""Imported on first use: `maxsieve.text.inputs` and the help of the command line need none of them."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
