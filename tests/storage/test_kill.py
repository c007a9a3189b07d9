"""A writer that is killed at any moment leaves the index as before or as after its change, and no lock."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from long_form import scaled
from maxsieve.storage.manifest import read_manifest

from . import writer
from .killing import kill_soon


@pytest.mark.parametrize("listed", [False, True])
def test_killed_writers_lose_and_invent_nothing(listed: bool, tmp_path: Path) -> None:
    rng = random.Random(5)
    folder = tmp_path / "index"
    model: writer.Model = {}
    number = within = strays = kills = 0
    with ms.Index.create(writer.DIM, path=folder) as index:
        if listed:  # segments get lists with their documents
            writer.perform(index, what := writer.operation(0, []))
            model, number = writer.follow(model, what), 1
            index.train_codebook()
    while kills < scaled(50) or within <= 10 or not strays:  # most are killed during a change, but not all
        kills += 1
        assert kills < 200
        begun, done = _run_and_kill(folder, number, rng)
        for finished in range(number, done + 1):
            model = writer.follow(model, writer.operation(finished, list(model)))
        with ms.Index.open(folder) as index:
            index.verify()
            assert (index.storage.snapshot.codebook is not None) == listed
            strays += _strays(folder)
            if begun > done:
                within += 1
                after = writer.follow(model, what := writer.operation(begun, list(model)))
                assert index.ids in (list(model), list(after)), what
                if _holds(index, after):
                    model = after
            _check(index, model)
        number = max(number, begun + 1)
    with ms.Index.open(folder) as index:  # there were files that nothing refers to: the next writer removes them
        index.compact()
        assert not index.storage.snapshot.here.lacks_lists
        assert not _strays(folder)
        _check(index, model)


def _run_and_kill(folder: Path, number: int, rng: random.Random) -> tuple[int, int]:
    """The last operations that a new writer began and finished before it was killed."""
    command = [sys.executable, writer.__file__, os.fspath(folder), str(number)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment())
    reports = kill_soon(process, rng, 12, 0.02)
    begun = max(int(report[1]) for report in reports if report[0] == "begin")
    return begun, max((int(report[1]) for report in reports if report[0] == "done"), default=number - 1)


def _environment() -> dict[str, str]:
    source = os.path.dirname(os.path.dirname(ms.__file__))
    return {**os.environ, "PYTHONPATH": source}


def _strays(folder: Path) -> int:
    known = {"lock", "manifest.json", *read_manifest(folder).files}
    return sum(path.name not in known for path in folder.iterdir())


def _holds(index: ms.Index, model: writer.Model) -> bool:
    return index.ids == list(model) and all(np.array_equal(index.vectors(one), model[one].rows) for one in model)


def _check(index: ms.Index, model: writer.Model) -> None:
    assert index.ids == list(model)
    for one, doc in model.items():
        assert index.vectors(one).tobytes() == doc.rows.tobytes()
        assert index.metadata(one) == doc.record
    if model:
        query = np.random.default_rng(len(model)).standard_normal((3, writer.DIM))
        expected = ms.Index.build([doc.rows for doc in model.values()], list(model)).search(query, k=20)
        hits = index.search(query, k=20)
        assert hits.ids == expected.ids
        assert hits.scores.tobytes() == expected.scores.tobytes()
        assert hits.metadata == [model[str(one)].record for one in hits.ids]
