"""The demo's corpus and its comparison, with the tiny model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from long_form import FULL
from maxsieve.cli.demo import QUESTIONS, compare, library, library_path
from maxsieve.cli.demo.docstrings import collect


def test_the_corpus_is_what_a_programmer_looks_for() -> None:
    before = set(sys.modules)
    found = {one.name: one for one in collect()}
    assert 2500 < len(found) < 5000
    assert sum(len(one.name) + len(one.text) for one in found.values()) < 1_000_000  # some 250,000 tokens
    wanted = ["os.path.splitext", "str.split", "itertools.chain", "numpy.linalg.solve", "heapq.merge", "os.listdir"]
    wanted += ["struct.pack", "json.dumps", "pathlib.Path.glob", "math.isclose", "collections.deque.rotate", "sorted"]
    assert [name for name in wanted if name not in found] == []
    assert found["os.path.splitext"].text.startswith("Split the extension from a pathname.")
    assert not any(name.startswith(("this", "antigravity", "idlelib", "tkinter", "test.")) for name in found)
    for name in set(sys.modules) - before:
        assert name.split(".")[0] not in ("this", "antigravity", "idlelib", "tkinter", "test", "turtle")


def test_asyncio_works_after_the_corpus_is_collected() -> None:
    """Its C part must not be imported before it: tasks would then be unknown to it."""
    code = """
import sys
from maxsieve.cli.demo.docstrings import collect
assert "asyncio" not in sys.modules
collect()
import asyncio
async def current():
    return asyncio.current_task() is not None
print(asyncio.run(current()))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr


def test_it_is_made_once_and_answers_as_exhaustive_scoring_does(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path))
    monkeypatch.setattr("maxsieve.cli.demo.collect", lambda: collect()[:: 1 if FULL else 20])
    (tmp_path / "demo" / "python-2.7").mkdir(parents=True)
    collection, made = library(str(tiny_model), progress=False)
    with collection:
        assert made
        assert len(QUESTIONS) == 6
        assert all(compare(collection, question).equal for question in QUESTIONS)
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [library_path().name]
    assert "indexing" in capsys.readouterr().err
    again, made = library(str(tiny_model), progress=False)
    again.close()
    assert not made
    assert capsys.readouterr().err == ""
