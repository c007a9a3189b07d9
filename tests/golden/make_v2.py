"""Makes the frozen indexes of format version 2: ``python tests/golden/make_v2.py``, from an installed maxsieve.

Version 2 has vectors kept as codes, codebooks, centroids and calibrations. As with version 1, once a release has
written these files, they stay as they are for ever (``make_v2.py FOLDER`` writes elsewhere).
"""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

import maxsieve as ms
from golden.make_bits import integers
from maxsieve.storage import codebook, disk

HERE = Path(__file__).parent / "v2"
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
    """Ragged documents, every ninth empty."""
    return [rows(1000 * seed + i, 0 if i % 9 == 8 else 1 + i % 4) for i in range(count)]


def queries(seed: int, count: int) -> list[NDArray[np.float32]]:
    return [rows(1_000_000 + 1000 * seed + i, 1 + i % 5) for i in range(count)]


def make_codes(path: Path) -> ms.Index:
    """Int8, str ids, dot: two segments with tombstones and centroids, records, a calibration and changes since."""
    ids = [f"d{i}" for i in range(100)]
    index = ms.Index.build(documents(1, 80), ids[:80], path=path, store="int8", metadata=[{"n": i} for i in range(80)])
    index.delete(["d3", "d50"])
    index.calibrate(queries(1, 30), k=12)
    index.add(documents(2, 5), ids[80:85])
    index.delete(["d7", "d81"])
    return index


def make_halves(path: Path) -> ms.Index:
    """Float16, int ids, cosine: one segment, calibrated on own sentences, nothing changed since."""
    index = ms.Index.build(documents(3, 60), list(range(60)), path=path, store="float16", similarity="cosine")
    index.calibrate(queries(3, 20), k=6, calibrated_on="own sentences")
    return index


def expectations(index: ms.Index) -> dict[str, Any]:
    """What the index must show and answer. Numbers are hexadecimal: little-endian bytes of rows and scores."""
    answers = []
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
        answers.append({"query": query.astype("<f4").tobytes().hex(), "found": found})
    vectors = [index.vectors(one) for one in index.ids]
    return {
        "dim": index.dim,
        "ids": index.ids,
        "vectors": [array.astype(array.dtype.newbyteorder("<")).tobytes().hex() for array in vectors],
        "metadata": [index.metadata(one) for one in index.ids],
        "answers": answers,
    }


def main(folder: Path) -> None:
    """Writes both indexes and their expectations."""
    disk.SMALL_BYTES = 0  # or else the segments would be folded into one
    codebook.FEWEST, codebook.MOST = 16, 32  # so that some documents do not survive tier 0
    secrets.token_hex = lambda nbytes=None: "0123456789abcdef"  # the same files every time
    time.time = lambda: 1_700_000_000.0
    for name, make in (("codes", make_codes), ("halves", make_halves)):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        index = make(path)
        index.verify()
        (folder / f"{name}.json").write_text(json.dumps(expectations(index), indent=1) + "\n")
        index.close()
        (path / "lock").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
