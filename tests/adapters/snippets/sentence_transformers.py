"""For "Sentence Transformers": an encoder and a small test collection."""

from __future__ import annotations

from typing import Any


def names() -> dict[str, Any]:
    from torch_models import ANSWERS, QUESTIONS, TEXTS, encoder

    samples = [
        {"query": QUESTIONS[one], "positive": [TEXTS[ANSWERS[one]]], "negative": [TEXTS["wolf"], TEXTS["ant"]]}
        for one in QUESTIONS
    ]
    relevant = {one: {ANSWERS[one]} for one in QUESTIONS}
    return {"model": encoder(), "queries": QUESTIONS, "corpus": TEXTS, "relevant": relevant, "samples": samples}
