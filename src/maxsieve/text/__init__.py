"""Text in, token vectors out, and collections of texts that are searched by them.

An `Encoder` turns texts into token vectors; `load_encoder` finds one by name. A `Collection` keeps texts, ids,
metadata and an index in one folder. The built-in model is fetched once, by ``maxsieve model fetch minilm``; nothing
is downloaded unasked.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from maxsieve.text.encoder import Encoder, Traceable, TruncationWarning, load_encoder
from maxsieve.text.models import ModelInfo, fetch_model, list_models, model_path
from maxsieve.text.multi_vector import SentenceTransformersEncoder
from maxsieve.text.onnx import OnnxEncoder
from maxsieve.text.projection import ProjectedEncoder, fit_projection

if TYPE_CHECKING:
    from maxsieve.text.collection import Collection
    from maxsieve.text.first_stage import BM25
    from maxsieve.text.hits import TextHits

__all__ = [
    "BM25",
    "Collection",
    "Encoder",
    "ModelInfo",
    "OnnxEncoder",
    "ProjectedEncoder",
    "SentenceTransformersEncoder",
    "TextHits",
    "Traceable",
    "TruncationWarning",
    "fetch_model",
    "fit_projection",
    "list_models",
    "load_encoder",
    "model_path",
]

_ELSEWHERE = {
    "Collection": "maxsieve.text.collection",
    "TextHits": "maxsieve.text.hits",
    "BM25": "maxsieve.text.first_stage",
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE[name]), name)
