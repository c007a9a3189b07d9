"""Makes the frozen indexes of format version 2: ``python tests/golden/make_v2.py``, from an installed maxsieve.

Version 2 has vectors kept as codes, codebooks, centroids and calibrations. As with version 1, these files never change
after a release has written them (``make_v2.py FOLDER`` writes elsewhere).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

import maxsieve as ms
from golden.freezing import freeze
from golden.make_bits import integers
from maxsieve.storage import codebook

DIM = 12
POLICIES: dict[str, ms.Policy] = {
    "certified": ms.Certified(),
    "exhaustive": ms.Exhaustive(),
    "bandit": ms.Bandit(),
    "calibrated-0.9": ms.Calibrated(0.9),
    "calibrated-0.5": ms.Calibrated(0.5),
}


def rows(seed: int, count: int) -> NDArray[np.float32]:
    """Numbers that are the same on every machine: integers, divided by a power of two."""
    return np.ldexp(integers(seed, (count, DIM), 20).astype(np.float64), -20).astype(np.float32)


def documents(seed: int, count: int) -> list[NDArray[np.float32]]:
    """Documents of different lengths, every ninth empty."""
    return [rows(1000 * seed + i, 0 if i % 9 == 8 else 1 + i % 4) for i in range(count)]


def queries(seed: int, count: int) -> list[NDArray[np.float32]]:
    return [rows(1_000_000 + 1000 * seed + i, 1 + i % 5) for i in range(count)]


def make_codes(path: Path) -> ms.Index:
    """Int8, str ids, dot: two segments with tombstones and centroids, records, a calibration and later changes."""
    ids = [f"d{i}" for i in range(100)]
    index = ms.Index.build(documents(1, 80), ids[:80], path=path, store="int8", metadata=[{"n": i} for i in range(80)])
    index.delete(["d3", "d50"])
    index.calibrate(queries(1, 30), k=12)
    index.add(documents(2, 5), ids[80:85])
    index.delete(["d7", "d81"])
    return index


def make_halves(path: Path) -> ms.Index:
    """Float16, int ids, cosine: one segment, calibrated on its own sentences, without later changes."""
    index = ms.Index.build(documents(3, 60), list(range(60)), path=path, store="float16", similarity="cosine")
    index.calibrate(queries(3, 20), k=6, calibrated_on="own sentences")
    return index


def answers(index: ms.Index) -> list[Any]:
    """What the index must answer under every policy. Scores are hexadecimal bytes."""
    given = []
    for query in queries(9, 4):
        found = {}
        for name, policy in POLICIES.items():
            hits = index.search(query, 5, policy=policy)
            report = hits.report
            found[name] = [
                hits.ids,
                hits.scores.astype("<f4").tobytes().hex(),
                [
                    report.guarantee,
                    report.survivors,
                    report.rescored,
                    report.calibrated_on,
                    report.added,
                    report.deleted,
                ],
            ]
        given.append({"query": query.astype("<f4").tobytes().hex(), "found": found})
    return given


if __name__ == "__main__":
    codebook.FEWEST, codebook.MOST = 16, 32  # so that tier 0 drops some documents
    time.time = lambda: 1_700_000_000.0
    freeze("v2", {"codes": make_codes, "halves": make_halves}, answers)
