"""Every figure of the README, and every chart, comes from benchmarks/results."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from benchmarks.figures import documents, overlap_chart, published
from benchmarks.figures.names import OURS, RUNS, alone, number, runs, side_by_side

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARISON = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
MARK = 10.0
"""The pixels of a point in a chart."""
MEASURED = re.compile(r"\d[\d.,]* ?(?:ms|ns|milliseconds|microseconds|seconds|times)\b")


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=lambda path: path.stem)
def test_parts_are_as_the_results_say(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert documents.rewritten(text) == text, "`make figures` brings it up to date"


def test_every_part_is_used() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in documents.DOCUMENTS)
    assert {found["name"] for found in documents.PART.finditer(texts)} == set(documents.PARTS)
    assert texts.count("<!-- figures: ") == len(list(documents.PART.finditer(texts)))


def test_the_readme_has_no_other_measured_figures() -> None:
    assert MEASURED.findall(documents.PART.sub("", README)) == []
    assert MEASURED.findall(README)


def test_another_figure_would_be_noticed() -> None:
    certified = alone(published.read("zen5-engines"), "hotpotqa")["certified"]
    written = f"| {number(certified.time)} | {number(certified.p95 or 0)} | **1** |"
    assert written in README
    wrong = README.replace(written, "| 0.001 | 0.001 | **1** |")
    assert documents.rewritten(wrong) == README


def test_charts_are_of_these_results() -> None:
    shown = documents.shown()
    assert {path.stem for path in documents.CHARTS.glob("*.svg")} == set(shown)
    for name, data in shown.items():
        drawn = (documents.CHARTS / f"{name}.svg").read_text(encoding="utf-8")
        assert f"<!-- {documents.digest(data)} -->" in drawn, f"{name}: `make figures` draws it again"


@pytest.mark.parametrize("chart", documents.time_and_overlap())
def test_every_point_of_the_chart_has_its_name(chart: str) -> None:
    labels = [label for panel in documents.time_and_overlap()[chart] for label, _ in panel.rows]
    drawn = (documents.CHARTS / f"{chart}.svg").read_text(encoding="utf-8")
    for label in labels:
        assert drawn.count(f">{label}</text>") == labels.count(label), label


@pytest.mark.parametrize("chart", documents.time_and_overlap())
def test_every_name_is_nearest_to_its_own_point(chart: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    overlap_chart.draw(documents.time_and_overlap()[chart], OURS, overlap_chart.LIGHT, tmp_path / "it.svg")
    for axes in drawn[0].axes:
        names = [text for text in axes.texts if isinstance(text, Annotation)]
        points = {name: axes.transData.transform(name.xy) for name in names}
        for name in (name for name in names if not name.get_rotation()):
            box = name.get_window_extent()
            away = {
                other.get_text(): np.hypot(max(box.x0 - x, 0.0, x - box.x1), max(box.y0 - y, 0.0, y - box.y1))
                for other, (x, y) in points.items()
            }
            assert away[name.get_text()] <= min(away.values()) + MARK, away  # points may overlap
            assert not any(box.overlaps(other.get_window_extent()) for other in names if other is not name)


def test_the_readme_shows_calibrated() -> None:
    labels = {label for panel in documents.time_and_overlap()["time-overlap"] for label, _ in panel.rows}
    assert {"Calibrated(0.99)", "Certified", "colbandit alpha 0.2", "torch"} <= labels


NEW = "zen4-avx512vnni"


@pytest.fixture
def two_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results, and those of another machine, as `bench.py` writes them: several kernels, K, threads, batches."""
    shutil.copytree(published.FOLDER, tmp_path / "results")
    run = json.loads((tmp_path / "results" / "zen3-avx2.json").read_text())
    rows = []
    for row in run["rows"] + [
        {"shape": shape, "method": "calibrated-0.99", "isa": "avx2", "milliseconds": 2.0, "overlap": 0.99}
        for shape in ("scifact", "hotpotqa")
    ]:
        for k, threads, batch in ((5, 1, 1), (100, 1, 1), (5, 2, 1), (5, 1, 32)):
            same = row | {"k": k, "threads": threads, "batch": batch}
            rows.append(same)
            if row.get("isa"):
                quicker = 1 / 4 if threads == batch == 1 else 1 / 8
                rows.append(same | {"isa": "avx512vnni", "milliseconds": row["milliseconds"] * quicker})
    run |= {"machine": "2 virtual cores of an AMD EPYC (Zen 4), AVX-512 VNNI", "note": "", "rows": rows}
    (tmp_path / "results" / f"{NEW}.json").write_text(json.dumps(run))
    monkeypatch.setattr(published, "FOLDER", tmp_path / "results")
    return tmp_path


def test_a_further_machine_needs_only_its_file(two_machines: Path) -> None:
    assert list(side_by_side()) == [NEW, "zen3-avx2"]
    text = documents.rewritten(COMPARISON)
    assert "| maxsieve `Certified` | 14 | **1** | 12.5 | **1** |" in text
    assert "| maxsieve `Certified` | 55.9 | **1** | 50.1 | **1** |" in text
    assert f"[{NEW}.json](benchmarks/results/{NEW}.json)" in documents.rewritten(README)
    said = " ".join(text.split())
    assert (
        "**AVX-512 VNNI (Zen 4).** `Certified` is 16 to 95 times as fast as the other exact scorers. It is also" in said
    )
    assert "On AMX (Xeon), AVX-512 VNNI (Xeon) and AVX-512 VNNI (Zen 4), `Certified` is also faster" in said
    assert "On AVX2 (Zen 3), colbandit alpha 0.2 is faster than `Certified`, but not exact." in said
    for name, panels in documents.time_and_overlap().items():
        if name == "engines":
            continue
        assert [panel.title.rpartition(", ")[2] for panel in panels] == ["AVX-512 VNNI (Zen 4)", "AVX2 (Zen 3)"]
        drawn = two_machines / f"{name}.svg"
        overlap_chart.draw(panels, OURS, overlap_chart.LIGHT, drawn)
        assert ">Calibrated(0.99)</text>" in drawn.read_text()


def test_a_run_without_some_libraries_or_shapes_is_shown(two_machines: Path) -> None:
    path = two_machines / "results" / f"{NEW}.json"
    run = json.loads(path.read_text())
    run["rows"] = [row for row in run["rows"] if row.get("isa") and row["shape"] == "scifact"]
    run["shapes"] = {"scifact": run["shapes"]["scifact"]}
    path.write_text(json.dumps(run))
    text = documents.rewritten(COMPARISON)
    said = " ".join(text.split())
    assert (
        "On AMX (Xeon) and AVX-512 VNNI (Xeon), `Certified` is also faster" in said
    )  # nothing to compare with on the new one
    assert "| one query, K = 5, one thread | SciFact: ms | overlap |\n" in text
    assert [len(panels) for panels in documents.time_and_overlap().values()] == [2, 2, 2]


def test_a_faster_exact_scorer_would_be_told(two_machines: Path) -> None:
    lead = "No exact scorer of another library that was measured is as fast as `Certified`."
    assert lead in " ".join(COMPARISON.split())
    path = two_machines / "results" / f"{NEW}.json"
    run = json.loads(path.read_text())
    for row in run["rows"]:
        if row["method"] == "torch":
            row["milliseconds"] = 0.001
    path.write_text(json.dumps(run))
    assert lead not in " ".join(documents.rewritten(COMPARISON).split())


def test_every_results_file_says_where_it_comes_from() -> None:
    assert {path.stem for path in published.FOLDER.glob("*.json")} <= set(RUNS)
    for run in runs().values():
        assert run.machine
        assert run.rows
        assert "bench" in run.command or "by hand" in run.note
        assert run.date or run.note
        assert {row.shape for row in run.rows} <= set(run.shapes)
