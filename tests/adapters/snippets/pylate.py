"""For "PyLate": a model and texts."""

from __future__ import annotations

from typing import Any


def names() -> dict[str, Any]:
    import torch
    from pylate import models
    from torch_models import TEXTS, minilm

    torch.manual_seed(3)
    model = models.ColBERT(model_name_or_path=str(minilm()), device="cpu")
    return {"model": model, "documents": list(TEXTS.values()), "ids": list(TEXTS)}
