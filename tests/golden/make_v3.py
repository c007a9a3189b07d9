"""Makes the frozen indexes of format version 3: ``python tests/golden/make_v3.py``, from an installed maxsieve.

Version 3 has lists, calibrations that know their hits, and calibrations for filters. As with other versions, these
files never change after a release has written them (``make_v3.py FOLDER`` writes elsewhere).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import maxsieve as ms
from golden.freezing import freeze
from golden.make_v2 import answers, documents, queries
from maxsieve.storage import codebook


def make_lists(path: Path) -> ms.Index:
    """Int8, str ids: lists of two parts, calibrations for all documents and for a filter, and later changes."""
    ids = [f"d{i}" for i in range(100)]
    index = ms.Index.build(documents(1, 80), ids[:80], path=path, store="int8", metadata=[{"n": i} for i in range(80)])
    index.delete(["d3", "d50"])
    index.calibrate(queries(1, 30), k=12)
    index.add(documents(2, 5), ids[80:85])
    index.calibrate(queries(5, 20), k=5, where={"n": {"lt": 60}})
    index.add(documents(4, 3), ids[85:88])
    index.delete(["d7", "d81"])
    return index


def make_sentences(path: Path) -> ms.Index:
    """Float16, int ids, cosine: one segment, calibrated on its own sentences, without later changes."""
    index = ms.Index.build(documents(3, 60), list(range(60)), path=path, store="float16", similarity="cosine")
    index.calibrate(queries(3, 20), k=6, calibrated_on="own sentences")
    return index


if __name__ == "__main__":
    codebook.FEWEST, codebook.MOST = 16, 32  # so that some documents are not followed up
    time.time = lambda: 1_700_000_000.0
    freeze("v3", {"lists": make_lists, "sentences": make_sentences}, answers)
