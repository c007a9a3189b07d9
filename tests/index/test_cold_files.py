"""What is read from disk, if an index is not in the memory of the system: little, and at once."""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what it has read")

DOCUMENTS, TOKENS, DIM = 300, 64, 128
"""Two pages for each document as int8."""


@pytest.fixture(params=["int8", "residual4"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A calibrated index that follows up documents at many places."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((64, DIM), np.float32)
    rows = centres[rng.integers(0, 64, DOCUMENTS * TOKENS)] + rng.standard_normal((DOCUMENTS * TOKENS, DIM), np.float32)
    documents = list(rows.reshape(DOCUMENTS, TOKENS, DIM))
    with ms.Index.build(documents, path=tmp_path / "index", store=request.param) as index:
        index.calibrate(list(rng.standard_normal((20, 8, DIM), np.float32)), k=5)
    return tmp_path / "index"


def forget(folder: Path) -> None:
    """Drops the files from the cache of the system, or skips the test where that can't be."""
    os.sync()
    for path in folder.glob("*.segment"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.preadv(handle, [bytearray(1)], os.fstat(handle).st_size - 1, os.RWF_NOWAIT)
            pytest.skip("files stay in memory here")
        except BlockingIOError:
            pass  # it is not in memory, as wanted
        finally:
            os.close(handle)


def advice_on(path: Path) -> list[str]:
    """The flags of each map of a file in this process."""
    found: list[str] = []
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(str(path))
        elif inside and line.startswith("VmFlags:"):
            found.append(line)
    return found


def test_opening_reads_no_vectors_ahead(folder: Path) -> None:
    with ms.Index.open(folder) as index:
        (segment,) = index.storage.snapshot.segments
        head, *_, rows = advice_on(segment.file.path)
        assert " rr" in head  # the system must not read what is behind
        assert " rr" not in rows


def test_documents_to_follow_up_are_read_at_once(folder: Path) -> None:
    with ms.Index.open(folder) as index:
        query = np.random.default_rng(1).standard_normal((8, DIM), np.float32)
        forget(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        hits = index.search(query, k=5, policy=ms.Calibrated(0.9))
        waited = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
        followed = hits.report.survivors
        assert followed is not None
        assert followed > 50
        assert waited < followed / 4  # pages that the search had to wait for, one by one
