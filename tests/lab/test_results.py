"""Results are saved completely, are the same when they are loaded, and print as Markdown."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from maxsieve.lab import charts
from maxsieve.lab.results import Chart, Column, ExperimentResult, Series, Table, join, load, save

TABLE = Table(
    "Speed",
    [Column("policy"), Column("ms", ".1f"), Column("documents", ","), Column("exact")],
    [["Certified | the default", 1.25, 12345, True], ["Bandit", None, 7, False]],
    label="tab:wallclock_cpu",
    note="One thread.",
)
CHART = Chart(
    "k5",
    "Overlap against coverage",
    "coverage",
    "overlap",
    [
        Series("Bandit", [0.1, 0.2], [0.9, 1.0], low=[0.8, 0.9], high=[0.95, 1.0], notes=["a", ""]),
        Series("overlap", [0.1, 0.2], [0.5, 0.6], kind="marks"),
    ],
    right_label="Overlap@5",
)
BARS = Chart("bars", "Bars", "", "ms", [Series("1 thread", ["a", "b"], [1.0, 2.0], kind="bars")], y_scale="log")
RESULT = ExperimentResult(
    "pareto", "it", "What was asked.", [TABLE], [CHART, BARS], ["It is fast."], {"settings": {"dim": 8}}
)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    paths = save(RESULT, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [
        "pareto-it.json",
        "pareto-it.md",
        "pareto-it-k5.svg",
        "pareto-it-k5.png",
        "pareto-it-bars.svg",
        "pareto-it-bars.png",
    ]
    assert all(path.stat().st_size for path in paths)
    assert load(paths[0]) == RESULT
    assert paths[1].read_text() == RESULT.markdown(1)
    assert len(list(paths[0].parent.iterdir())) == len(paths)


def test_the_same_result_gives_the_same_files(tmp_path: Path) -> None:
    result = replace(RESULT, charts=[CHART])
    first, second = save(result, tmp_path / "first"), save(result, tmp_path / "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_no_json_before_all_else_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(charts, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(RESULT, tmp_path)
    assert not list(tmp_path.glob("*.json"))


def test_json_is_strict(tmp_path: Path) -> None:
    broken = replace(TABLE, rows=[["it", math.nan, 1, True]])
    with pytest.raises(ValueError, match="JSON"):
        save(replace(RESULT, tables=[broken]), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"tables": [{"title": "it"}], "charts": []})])
def test_what_is_no_result_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"other\.json"):
        load(path)


def test_markdown() -> None:
    assert RESULT.markdown(3, "images/").splitlines() == [
        "### pareto: it",
        "",
        "What was asked.",
        "",
        "- It is fast.",
        "",
        "**Speed** (`tab:wallclock_cpu`)",
        "",
        "| policy | ms | documents | exact |",
        "|---|---:|---:|---:|",
        "| Certified \\| the default | 1.2 | 12,345 | yes |",
        "| Bandit | - | 7 | no |",
        "",
        "One thread.",
        "",
        "![Overlap against coverage](images/pareto-it-k5.svg)",
        "",
        "![Bars](images/pareto-it-bars.svg)",
    ]


def test_a_corpus_with_slashes_in_its_name_stays_in_the_folder(tmp_path: Path) -> None:
    paths = save(replace(RESULT, corpus="beir/scifact/../test", charts=[]), tmp_path)
    assert {path.parent for path in paths} == {tmp_path}


def test_results_are_joined_by_experiment() -> None:
    other = replace(RESULT, experiment="margin")
    elsewhere = replace(RESULT, corpus="other")
    assert join([RESULT, other, elsewhere]) == [("pareto", [RESULT, elsewhere]), ("margin", [other])]
