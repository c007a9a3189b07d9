"""Processes that calibrate: killed at any moment, they leave the old state or the new one; they exclude each other."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from index.support import listed
from long_form import scaled
from maxsieve import _core
from maxsieve.errors import IndexLockedError
from storage.killing import kill_soon

DIM = 8
QUERY = np.random.default_rng(5).standard_normal((3, DIM))

WRITER = """
import sys
import numpy as np
import maxsieve as ms
from maxsieve.storage import codebook

codebook.FEWEST, codebook.MOST = 16, 64
codebook.Codebook.outgrown_by = lambda self, tokens: self.tokens != tokens
path, number = sys.argv[1], int(sys.argv[2])
index = ms.Index.open(path)
while True:
    rng = np.random.default_rng(number)
    print("begin", number, flush=True)
    if number % 4 == 0:
        index.calibrate(rng.standard_normal((20, 2, 8)), k=5)
    elif number % 4 == 1:
        index.add([rng.standard_normal((3, 8))], [1000 + number])
        index.recalibrate()
    elif number % 4 == 2:
        index.train_codebook()
    else:
        index.delete(index.ids[:1])
        index.compact()
    print("done", number, flush=True)
    number += 1
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    rng = np.random.default_rng(0)
    ms.Index.build(rng.standard_normal((1200, DIM)), lengths=[4] * 300, path=path).close()
    return path


def start(path: Path, code: str, *arguments: object) -> subprocess.Popen[str]:
    source = os.path.dirname(os.path.dirname(ms.__file__))
    command = [sys.executable, "-c", code, os.fspath(path), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source})


def consistent(path: Path) -> None:
    """Lists are those of the current codebook, and every rank is what the calibration would find again."""
    with ms.Index.open(path) as index:
        index.verify()
        state = index.storage.snapshot
        if state.codebook is None:
            assert state.calibration is None
            return
        again = listed(state.coded(state.codebook, 1))
        assert all(mine in ([], again[one]) for one, mine in listed(state).items())
        made = state.calibration
        if made is None:
            return
        assert index.search(QUERY, k=3, policy=ms.Calibrated(0.9)).report.calibrated_on == "queries"
        if state.changes != (0, 0):
            return
        best = made.hits["documents"]
        for walk, of_walk in zip(made.walks, best.ranks, strict=True):
            for query, ranks in zip(made.queries[:3], of_walk, strict=False):
                places = np.array(index.search(query, k=len(ranks))._places)
                found = _core.ranks(state.corpus, query, state.searchable, np.sort(places), 1, walk)
                assert found[np.argsort(np.argsort(places))].tolist() == ranks.tolist()


def test_killed_calibrations_leave_the_old_state_or_the_new(path: Path) -> None:
    rng = random.Random(3)
    number = within = kills = 0
    while kills < scaled(12, at_least=6) or within <= 3:  # most are killed during a calibration, but not all
        kills += 1
        assert kills < 100
        reports = kill_soon(start(path, WRITER, number), rng, 6, 0.03)
        number = int(reports[-1][1]) + 1
        within += reports[-1][0] == "begin"
        consistent(path)
    with ms.Index.open(path) as index:
        index.train_codebook()
        index.calibrate(np.random.default_rng(1).standard_normal((20, 2, DIM)), k=5)
        known = {"lock", "manifest.json", *(one.name for one in path.glob("0*"))}
        assert {one.name for one in path.iterdir()} == known
        assert len(list(path.glob("*.codebook"))) == len(list(path.glob("*.calibration"))) == 1
    consistent(path)


SLOW = """
import sys
import numpy as np
import maxsieve as ms
from maxsieve import index as module

def calibrate(*arguments):
    print("calibrating", flush=True)
    sys.stdin.readline()
    return original(*arguments)

original, module.calibrate = module.calibrate, calibrate
ms.Index.open(sys.argv[1]).calibrate(np.random.default_rng(1).standard_normal((20, 2, 8)), k=5)
print("done", flush=True)
"""


def test_nobody_adds_while_another_process_calibrates(path: Path) -> None:
    source = os.path.dirname(os.path.dirname(ms.__file__))
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, os.fspath(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "calibrating\n"
    with ms.Index.open(path) as index:
        for use in (
            lambda: index.add([np.ones((1, DIM))], [999]),
            lambda: index.delete([1]),
            index.train_codebook,
            index.compact,
            lambda: index.calibrate([QUERY], k=1),
        ):
            with pytest.raises(IndexLockedError):
                use()
        assert index.storage.snapshot.codebook is None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        process.stdin.close()
        process.stdout.close()
        assert process.wait() == 0
        index.add([np.ones((1, DIM))], [999])
        assert index.search(QUERY, k=3, policy=ms.Calibrated(0.9)).report.added == 1
    consistent(path)
