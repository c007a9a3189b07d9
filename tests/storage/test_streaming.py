"""An index on disk is built, compacted and opened in bounded memory; an interrupted build can be continued."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.support import Rows, contents
from maxsieve.storage import segments

BLOCKS, PIECES, REST = 2.25, 3, 2 << 20
"""The peak memory of a build: a block of input, the same block as stored, and codes.

A compaction holds three pieces. The interpreter needs memory as well, and each document some bytes.
"""


def script(text: str, *arguments: object, **how: Any) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **how,
    )


def output(text: str, *arguments: object) -> list[str]:
    process = script(text, *arguments)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return said.split()


def document(i: int, d: int = 64) -> Rows:
    rng = np.random.default_rng(i)
    return rng.standard_normal((rng.integers(0, 40), d)).astype(np.float32)


PEAKS = """
import itertools, sys, tracemalloc
import numpy as np
import maxsieve as ms
from maxsieve.storage import segments
from maxsieve.storage import segment_file
from storage.test_streaming import document

path, store, similarity = sys.argv[1:]
segments.BLOCK_BYTES = segment_file.PIECE_BYTES = 4 << 20
total = 8000
some = [document(i) for i in range(50)]
docs = (some[i % 50] for i in range(total))
tracemalloc.start()
index = ms.Index.build(docs, path=path, store=store, similarity=similarity, metadata=None, threads=1)
print(tracemalloc.get_traced_memory()[1])
print(index.nbytes)
index.delete(range(0, total, 3))
tracemalloc.reset_peak()
before = tracemalloc.get_traced_memory()[0]
index.compact()
print(tracemalloc.get_traced_memory()[1] - before)
assert len(index.storage.snapshot.segments) == 1
index.verify()
"""


@pytest.mark.parametrize(("store", "similarity"), [("float32", "dot"), ("float16", "cosine")])
def test_building_and_compacting_take_bounded_memory(tmp_path: Path, store: str, similarity: str) -> None:
    build, size, compaction = map(int, output(PEAKS, tmp_path / "x", store, similarity))
    assert build < BLOCKS * (4 << 20) + REST
    assert compaction < PIECES * (4 << 20) + REST
    assert size > 1.8 * max(build, compaction)


RESIDENT = """
import os, sys, time
import numpy as np
import maxsieve as ms

def resident(index):
    # Of each block of the one segment: bytes that this process has in memory.
    file = index.storage.snapshot.segments[0].file
    ranges, wanted = [], None
    for line in open("/proc/self/smaps"):
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            wanted = [int(end, 16) for end in words[0].split("-")] if line.rstrip().endswith(".segment") else None
        elif wanted and words[0] == "Rss:":
            ranges.append((*wanted, 1024 * int(words[1])))
    return sum(size for _, _, size in ranges), file

for name in os.listdir(sys.argv[1]):
    handle = os.open(os.path.join(sys.argv[1], name), os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)
index = ms.Index.open(sys.argv[1])
opened, file = resident(index)
rng = np.random.default_rng(0)
query = index.vectors(17)[:4]
taken = resident(index)[0]
hits = index.search(query, 3)
assert hits.ids[0] == 17
searched = resident(index)[0]
sizes = {name: block.nbytes for name, block in file.blocks.items()}
index.search(query, 3, policy=ms.Exhaustive())
print(file.nbytes, sizes["codes"], sizes["rows"], opened, taken, searched, hits.report.rescored, resident(index)[0])
"""


@pytest.mark.skipif(not Path("/proc/self/smaps").exists() or not hasattr(os, "posix_fadvise"), reason="needs Linux")
def test_rows_become_resident_only_for_rescored_documents(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((600, 256, 64)).astype(np.float32)
    ms.Index.build(rows, lengths=[256] * 600, path=tmp_path / "x", similarity="cosine").close()
    fault = 256 << 10  # the kernel also maps neighbours of a page that is read, and cached pages in larger folios
    total, codes, rows_bytes, opened, taken, searched, rescored, everything = map(int, output(RESIDENT, tmp_path / "x"))
    assert rows_bytes > 19e6
    assert opened < 4 * fault
    assert taken <= opened + 2 * fault
    document_bytes = 256 * 32 * 4
    assert rescored < 60
    assert codes * 0.9 < searched < codes + opened + (rescored + 2) * (document_bytes + fault)
    assert searched < codes + rows_bytes / 2
    assert everything > 0.95 * total


def interrupted(path: Path, error: type[BaseException], after: int, total: int) -> None:
    def docs() -> Any:
        for i in range(total):
            if i == after:
                raise error("the encoder died")
            yield document(i)

    with pytest.raises(error):
        ms.Index.build(docs(), [f"d{i}" for i in range(total)], path=path, metadata=[{"i": i} for i in range(total)])


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_build_leaves_nothing_or_a_prefix(
    tmp_path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", 64 << 10)
    total = 150
    ids, metadata = [f"d{i}" for i in range(total)], [{"i": i} for i in range(total)]
    docs = [document(i) for i in range(total)]
    whole = ms.Index.build(docs, ids, metadata=metadata, path=tmp_path / "whole")
    interrupted(tmp_path / "none", error, 5, total)
    assert not (tmp_path / "none").exists()
    (tmp_path / "was there").mkdir()
    interrupted(tmp_path / "was there", error, 5, total)
    assert not list((tmp_path / "was there").iterdir())
    for after in (60, 149):
        path = tmp_path / str(after)
        interrupted(path, error, after, total)
        index = ms.Index.open(path)
        index.verify()
        done = len(index)
        assert 0 < done <= after
        assert index.ids == ids[:done]
        assert {one.name for one in path.iterdir()} == index.storage._directory.manifest.files | {  # type: ignore[attr-defined]
            "lock",
            "manifest.json",
        }
        index.add(docs[done:], ids[done:], metadata=metadata[done:])
        assert contents(index) == contents(whole)
        assert [index.metadata(one) for one in ids] == metadata


KILLED = """
import sys
import maxsieve as ms
from maxsieve.storage import segments
from storage.test_streaming import document

segments.BLOCK_BYTES = 64 << 10

def docs():
    for i in range(10**6):
        if i == int(sys.argv[2]):
            print("there", flush=True)
        yield document(i)

ms.Index.build(docs(), path=sys.argv[1])
"""


@pytest.mark.parametrize("after", [3, 200, 500])
def test_a_killed_build_leaves_a_prefix_that_can_be_continued(
    tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    process = script(KILLED, path, after)
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    process.kill()
    process.communicate()
    index = ms.Index.open(path)
    index.verify()
    done = len(index)
    assert index.ids == list(range(done))
    assert (done > 0) == (after > 100)
    monkeypatch.setattr(segments, "BLOCK_BYTES", 64 << 10)
    total = done + 50
    docs = [document(i) for i in range(total)]
    index.add((docs[i] for i in range(done, total)), range(done, total))
    assert contents(index) == contents(ms.Index.build(docs))
    assert not [one for one in path.iterdir() if one.suffix == ".tmp"]


def test_a_document_larger_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", 4 << 10)
    docs = [np.full((length, 8), length, np.float32) for length in (3, 1000, 0, 0, 2000, 1, 128, 129)]
    index = ms.Index.build(iter(docs), path=tmp_path / "x")
    assert [index.vectors(i).tolist() for i in range(8)] == [rows.tolist() for rows in docs]
    assert contents(index) == contents(ms.Index.open(tmp_path / "x")) == contents(ms.Index.build(docs))


def test_too_few_or_too_many_documents_are_an_error(tmp_path: Path) -> None:
    docs = [document(i) for i in range(5)]
    for ids in (range(4), range(6)):
        with pytest.raises(ValueError, match="documents"):
            ms.Index.build(iter(docs), ids, path=tmp_path / "x")
        with pytest.raises(ValueError, match="documents"):
            ms.Index.build(iter(docs), path=tmp_path / "x", metadata=list(ids))
        assert not (tmp_path / "x").exists()
