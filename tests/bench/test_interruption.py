"""A long run shows its progress; after an interruption, the tables of what was measured are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FEW = ["--method", "certified", "exhaustive", "--k", "5", "--queries", "2", "--repeat", "1", "--batch", "1"]


def test_an_interrupted_run_prints_and_saves_what_is_done(tmp_path: Path) -> None:
    """The run is interrupted in the second shape, whose vectors take long to make, after the first is done."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.bench",
        "--quick",
        "--shape",
        "tiny",
        "scidocs",
        *FEW,
        "--threads",
        "1",
        "--out",
        str(tmp_path),
    ]
    environment = {**os.environ, "MAXSIEVE_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment, cwd=ROOT) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stderr:
            # A line whose printing is interrupted is printed again, so count it once.
            if line.startswith("tiny: done") and line not in said:
                process.send_signal(signal.SIGINT)
            said.append(line)
        tables = process.stdout.read()
    assert process.returncode == 130, said
    for words in ("single calls: done", "tiny: certified", "tiny: exhaustive", "interrupted"):
        assert any(line.startswith(words) for line in said), said
    assert "tiny: 300 documents" in tables
    assert "certified" in tables
    assert "scidocs: 25,657" not in tables
    saved = json.loads((tmp_path / "bench.json").read_text())
    assert {row["method"] for row in saved["rows"]} == {"certified", "exhaustive"}
    assert (tmp_path / "bench.md").is_file()
    assert (tmp_path / "bench.png").is_file()


def test_an_interrupted_shape_leaves_what_its_methods_have_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Interrupted in the second round, when each method has run once."""
    from benchmarks.figures.report import print_all, save
    from benchmarks.runs.comparison import run, runner
    from benchmarks.runs.comparison.plan import Plan
    from benchmarks.runs.comparison.results import Results
    from benchmarks.vectors import shapes

    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path))
    monkeypatch.setattr(run, "_calls", lambda *_: None)
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 40)
    rows = rng.standard_normal((lengths.sum(), 16)).astype(np.float32)
    shape = shapes.Shape("few", rows, lengths, [rng.standard_normal((3, 16)).astype(np.float32)] * 4)
    monkeypatch.setattr(shapes, "load", lambda *_: shape)
    interleave, advances = runner.interleave, iter(range(100))

    def interrupted(tasks: Any, *given: Any, advance: Any, **options: Any) -> None:
        def stop() -> None:
            advance()
            if next(advances) == len(tasks):  # all are warm, and have run one round
                raise KeyboardInterrupt

        interleave(tasks, *given, advance=stop, **options)

    monkeypatch.setattr(runner, "interleave", interrupted)
    plan = Plan(
        shape=["few"],
        method=["certified", "exhaustive"],
        entries=[],
        k=[5],
        isa=["scalar"],
        threads=[1],
        batch=[1],
        queries=4,
        repeat=2,
        seconds=100,
        clock="wall",
        memory=1,
        quick=True,
        out=tmp_path,
    )
    results = Results({"kernels": "scalar", "CPU": "it"}, {"clock": "wall"})
    with pytest.raises(KeyboardInterrupt):
        list(run.run(plan, results))
    assert {(row.method, row.runs, row.exact_sets) for row in results.rows} == {
        ("certified", 1, 1.0),
        ("exhaustive", 1, 1.0),
    }
    print_all(results)
    save(results, tmp_path)
