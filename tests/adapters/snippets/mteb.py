"""For "MTEB": an encoder and a small task."""

from __future__ import annotations

from typing import Any


def names() -> dict[str, Any]:
    from small_task import Fables
    from torch_models import encoder

    return {"model": encoder(), "task": Fables()}
