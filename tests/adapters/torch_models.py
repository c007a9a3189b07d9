"""Token vectors and models for the adapters of torch libraries, made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

TEXTS = {
    "fox": "The fox and the grapes. A hungry fox could not reach the grapes, and called them sour.",
    "crow": "The crow and the pitcher. A thirsty crow dropped pebbles into a pitcher until the water rose.",
    "hare": "The hare and the tortoise. The hare slept, and the slow tortoise won the race.",
    "lion": "The lion and the mouse. A mouse gnawed the ropes that held a lion.",
    "ant": "The ant and the grasshopper. The grasshopper sang all summer, while the ant gathered food.",
    "wolf": "The boy who cried wolf. Nobody believed the boy when the wolf came at last.",
}
QUESTIONS = {"sour": "which animal called the fruit sour", "race": "who won the race", "rope": "ropes of a lion"}
ANSWERS = {"sour": "fox", "race": "hare", "rope": "lion"}


def unit_rows(tokens: int, dim: int = 16, *, seed: int, dtype: Any = torch.float32) -> torch.Tensor:
    """Random rows of unit length."""
    rows = torch.randn(tokens, dim, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(rows, dim=-1).to(dtype)


def documents(*lengths: int, dtype: Any = torch.float32) -> list[torch.Tensor]:
    """One tensor [length, 16] for each length."""
    return [unit_rows(length, seed=100 + i, dtype=dtype) for i, length in enumerate(lengths)]


def queries(*lengths: int, dtype: Any = torch.float32) -> list[torch.Tensor]:
    """As `documents`, with other numbers."""
    return [unit_rows(length, seed=900 + i, dtype=dtype) for i, length in enumerate(lengths)]


def minilm() -> Path:
    """The folder of MiniLM in float32."""
    from maxsieve.text.encoders.models import fetch_model

    return fetch_model("minilm-fp32")


def encoder_modules() -> list[Any]:
    """MiniLM's hidden states at unit length, for a `MultiVectorEncoder`."""
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    return [Transformer(str(minilm())), MultiVectorMask(), Normalize(module_input_name="token_embeddings")]


def encoder(**options: Any) -> Any:
    """A `MultiVectorEncoder` of Sentence Transformers 6."""
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(modules=encoder_modules(), device="cpu", **options)
