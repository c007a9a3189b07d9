"""Makes the frozen indexes of format version 4: ``python tests/golden/make_v4.py``, from an installed maxsieve.

Version 4 has stores of centroids and residuals. As with other versions, these files never change after a release has
written them (``make_v4.py FOLDER`` writes elsewhere).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import maxsieve as ms
from golden.freezing import freeze
from golden.make_v2 import POLICIES, documents, queries
from golden.make_v2 import answers as calibrated_answers
from maxsieve.storage import codebook


def make_two_codebooks(path: Path) -> ms.Index:
    """1 bit, str ids: documents of two codebooks, with tombstones, records, lists, a calibration and later changes."""
    ids = [f"d{i}" for i in range(100)]
    index = ms.Index.build(
        documents(1, 60), ids[:60], path=path, store="residual1", metadata=[{"n": i} for i in range(60)]
    )
    index.delete(["d3", "d50"])
    index.reencode(documents(1, 60)[20:45], ids[20:45])
    index.calibrate(queries(1, 30), k=12)
    index.calibrate(queries(5, 20), k=5, where={"n": {"lt": 45}})
    index.add(documents(4, 3), ids[85:88])
    index.delete(["d7", "d21"])
    return index


def make_two_bits(path: Path) -> ms.Index:
    """2 bits, int ids, cosine: one segment."""
    index = ms.Index.build(documents(3, 60), list(range(60)), path=path, store="residual2", similarity="cosine")
    index.calibrate(queries(3, 20), k=6)
    return index


def make_four_bits(path: Path) -> ms.Index:
    """4 bits, calibrated on its own sentences."""
    index = ms.Index.build(documents(5, 40), list(range(40)), path=path, store="residual4")
    index.calibrate(queries(3, 20), k=6, calibrated_on="own sentences")
    return index


def make_awaiting(path: Path) -> ms.Index:
    """Byte codes of the rotated space, which await their codebook."""
    index = ms.Index.create(12, path=path, store="residual2")
    index.add(documents(6, 10), [f"d{i}" for i in range(10)])
    index.delete("d2")
    return index


def answers(index: ms.Index) -> list[Any]:
    """As in version 2; an index that awaits its codebook has no calibration."""
    if index.storage.snapshot.codebook is not None:
        return calibrated_answers(index)
    found = []
    for query in queries(9, 4):
        hits = {name: index.search(query, 5, policy=POLICIES[name]) for name in ("certified", "exhaustive", "bandit")}
        told = {name: [one.ids, one.scores.astype("<f4").tobytes().hex()] for name, one in hits.items()}
        found.append({"query": query.astype("<f4").tobytes().hex(), "found": told})
    return found


if __name__ == "__main__":
    codebook.TOKENS_OF_CENTROID = 4
    time.time = lambda: 1_700_000_000.0
    makers = {
        "two_codebooks": make_two_codebooks,
        "two_bits": make_two_bits,
        "four_bits": make_four_bits,
        "awaiting": make_awaiting,
    }
    freeze("v4", makers, answers)
