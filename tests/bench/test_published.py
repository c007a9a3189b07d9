"""What a run of the benchmark keeps for the README can be read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def results() -> Any:
    from benchmarks.runs.comparison.results import Holding, Results, Row

    machine = {"CPU": "a CPU", "CPUs to use": "2", "kernels": "avx2, scalar", "system": "of somebody", "torch": "2.13"}
    row = Row(
        "few", "certified", True, 5, "avx2", 1, 1, 9, 1.23456, (1.0, 2.0), 2.5, 7.0, None, {}, 1.0, 1.0, 0.0, None, 3.0
    )
    return Results(
        machine, {}, {"few": "40 documents"}, [row], [Holding("few", "maxsieve, resident, certified", 6.125, None)]
    )


def test_it_is_read_as_it_was_measured(results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.figures import published

    monkeypatch.setattr(published, "FOLDER", tmp_path)
    published.write(results, tmp_path / "mine.json", "--shape few", "beside other work")
    run = published.read("mine")
    assert run.one(method="certified").time == 1.235
    assert run.one(method="certified").p95 == 2.5
    assert run.one(method="certified").resident_bytes_per_token == 6.125
    assert run.machine == "a CPU, 2 cores, kernels: avx2, scalar"
    assert run.command == 'make bench ARGS="--shape few"'
    assert (run.note, run.versions, run.shapes) == ("beside other work", {"torch": "2.13"}, {"few": "40 documents"})
    assert "of somebody" not in json.dumps(json.loads((tmp_path / "mine.json").read_text()))


def test_a_machine_can_be_named(results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.figures import published

    monkeypatch.setattr(published, "FOLDER", tmp_path)
    published.write(results, tmp_path / "mine.json", "", "", "a large machine")
    assert published.read("mine").machine == "a large machine"


def test_the_command_that_is_kept_says_what_was_measured() -> None:
    from benchmarks.figures.published import measuring

    given = ["--k", "10", "--machine", "a large one", "--results", "x.json", "--note", "quiet", "--queries", "3"]
    assert measuring(given) == ["--k", "10", "--queries", "3"]


def test_what_is_not_known_is_an_error(tmp_path: Path) -> None:
    from benchmarks.figures.published import Measured

    nothing = Measured("few", "torch", 5)
    for name in ("time", "found", "ns"):
        with pytest.raises(ValueError, match="of torch on few"):
            getattr(nothing, name)
