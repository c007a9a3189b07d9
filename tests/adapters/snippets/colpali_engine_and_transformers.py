"""For "colpali-engine and transformers": random pages, and a processor of theirs that needs no checkpoint."""

from __future__ import annotations

from typing import Any


def names() -> dict[str, Any]:
    import torch
    from colpali_engine.models import ColPaliProcessor
    from torch_models import documents, queries

    class WithoutCheckpoint(ColPaliProcessor):
        def __init__(self) -> None:
            pass

        @classmethod
        def from_pretrained(cls, name: str) -> WithoutCheckpoint:
            return cls()

    return {
        "ColPaliProcessor": WithoutCheckpoint,
        "checkpoint": "",
        "pages": documents(20, 30, 25, dtype=torch.bfloat16),
        "questions": queries(7, 9, dtype=torch.bfloat16),
    }
