"""A writer that is killed while vectors become residuals, or get another codebook: the version before, or the next."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.residuals import few_tokens, ragged
from long_form import scaled
from maxsieve.storage.manifest import read_manifest

from .killing import kill_soon

D = 8
SETS = [ragged(seed, 30, D) for seed in (1, 2)]
WRITER = """
import sys
from itertools import count
import numpy as np
import maxsieve as ms
from maxsieve.storage import codebook, segments
codebook.TOKENS_OF_CENTROID, segments.BLOCK_BYTES = 4, 900
index, sets = ms.Index.open(sys.argv[1]), np.load(sys.argv[2])
for turn in count():
    print(turn, flush=True)
    if turn == 0:
        index.train_codebook()
    else:
        index.reencode(sets[f"rows{turn % 2}"], lengths=sets[f"lengths{turn % 2}"])
"""


def state(index: ms.Index) -> tuple[Any, ...]:
    hits = index.search(np.ones((2, D)), 5)
    return (*hits.ids, hits.scores.tobytes(), *(index.vectors(one).tobytes() for one in index.ids))


def test_killed_writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_tokens(monkeypatch, 10**6)
    monkeypatch.setattr("maxsieve.storage.segments.BLOCK_BYTES", 900)
    original = tmp_path / "original"
    with ms.Index.create(D, path=original, store="residual2") as index:
        index.add(SETS[0], range(30))
        known = {state(index): "awaiting"}
    with ms.Index.open(shutil.copytree(original, tmp_path / "after")) as index:
        index.train_codebook()
        known[state(index)] = "encoded"
        for turn in (1, 0):
            index.reencode(SETS[turn])
            known[state(index)] = f"set {turn}"
    rows = {f"rows{i}": np.concatenate(docs) for i, docs in enumerate(SETS)}
    lengths = {f"lengths{i}": np.array([len(one) for one in docs]) for i, docs in enumerate(SETS)}
    np.savez(tmp_path / "sets.npz", **rows, **lengths)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(ms.__file__))}
    rng = random.Random(3)
    for kill in range(scaled(24)):
        folder = Path(shutil.copytree(original, tmp_path / f"index {kill}"))
        command = [sys.executable, "-c", WRITER, str(folder), str(tmp_path / "sets.npz")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        kill_soon(process, rng, 3, 0.05)
        with ms.Index.open(folder) as index:
            index.verify()
            assert state(index) in known
            index.add([], [])  # a writer removes what another has left
        files = {path.name for path in folder.iterdir()}
        assert files == read_manifest(folder).files | {"manifest.json", "lock"}
        shutil.rmtree(folder)
