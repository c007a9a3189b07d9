"""Makes the frozen indexes of format version 1: ``python tests/golden/make_v1.py``, from an installed maxsieve.

A release has written this version, so its files never change: ``make_v1.py FOLDER`` writes new ones elsewhere. Each
index has its own folder, beside a JSON file with what it must answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

import maxsieve as ms
from golden.freezing import freeze


def documents(seed: int, count: int, dim: int) -> list[NDArray[np.float32]]:
    """Documents of different lengths, every fifth empty."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((0 if i % 5 == 4 else 1 + i % 3, dim)).astype(np.float32) for i in range(count)]


def make_words(path: Path) -> ms.Index:
    """Str ids, float32, dot: two segments, both with tombstones, both with records."""
    docs = documents(1, 12, 5)
    ids = ["zebra", "", "Füße", "索引", "a", "aa", "\x00", "\udc80", "b\nc", "1", "𝄞", "last"]
    records: list[Any] = [{"title": "Zebra", "pages": [1, 2]}, None, "Füße", 3.5, True, None]
    index = ms.Index.build(docs[:7], ids[:7], metadata=[*records, ["x"]], path=path)
    more = ["second", None, {"n": None}, "", "end", "replaced"]
    index.add([*docs[7:], docs[0]], [*ids[7:], "aa"], replace=True, metadata=more)
    index.delete(["a", "b\nc"])
    return index


def make_numbers(path: Path) -> ms.Index:
    """Int ids, float16, cosine: two segments, tombstones in the first, no records."""
    docs = documents(2, 9, 70)
    ids = [7, -1, 2**63 - 1, -(2**63), 0, 100, 3, 2, 1]
    index = ms.Index.build(docs[:6], ids[:6], path=path, store="float16", similarity="cosine")
    index.add(docs[6:], ids[6:])
    index.delete([-1])
    return index


def answers(index: ms.Index) -> list[Any]:
    """What the index must answer. Scores are hexadecimal bytes."""
    rng = np.random.default_rng(9)
    found = []
    for query in [rng.standard_normal((tokens, index.dim)).astype("<f4") for tokens in (1, 4)]:
        hits = index.search(query, 6, policy=ms.Exhaustive())
        scores = hits.scores.astype("<f4").tobytes().hex()
        found.append({"query": query.tobytes().hex(), "ids": hits.ids, "scores": scores, "metadata": hits.metadata})
    return found


if __name__ == "__main__":
    freeze("v1", {"words": make_words, "numbers": make_numbers}, answers)
