"""Words in a chart cover neither each other nor points."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from maxsieve.lab.charts import DPI, put_on
from maxsieve.lab.results import Chart, Series

CROWD = [
    Series(f"s{i}", [1.0, 1.02 + i / 50, 30.0], [1.0, 0.999 - i / 1000, 0.5], notes=["0.95", f"0.9{i}", ""])
    for i in range(4)
]
NAMES = ["Certified", "Bandit 0.1", "Bandit 0.2"]
BARS = [
    Series(f"{i} threads", NAMES, [2.5, 9.0, 8.9], notes=["20.1 ms", "5.1 ms", "6.0 ms"], kind="bars") for i in (1, 2)
]
MARKS = Series("overlap", NAMES, [1.0, 0.7, 0.95], kind="marks")
CHARTS = {
    "crowded": Chart("it", "it", "x", "y", CROWD, x_scale="log"),
    "bars": Chart("it", "it", "", "y", [*BARS, MARKS], right_label="overlap"),
    "errors": Chart(
        "it", "it", "x", "y", [Series("s", [1.0, 2.0], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], ["one", "two"])]
    ),
}


def drawn(chart: Chart) -> tuple[Figure, list[Annotation]]:
    figure = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=DPI)
    put_on(figure, chart)
    figure.draw_without_rendering()
    return figure, [text for axes in figure.axes for text in axes.texts if isinstance(text, Annotation)]


@pytest.mark.parametrize("name", CHARTS)
def test_no_word_covers_another_or_a_bar(name: str) -> None:
    figure, words = drawn(CHARTS[name])
    assert len(words) >= 2
    boxes = [word.get_window_extent() for word in words]
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    inside = figure.axes[0].get_window_extent()
    for box in boxes:
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1
        assert not [bar for bar in figure.axes[0].patches if bar.get_window_extent().overlaps(box)]
        for axes in figure.axes:
            for line in axes.lines:
                if line.get_marker() in "osD^vPX*h":
                    assert not box.count_contains(axes.transData.transform(line.get_xydata()))


def test_where_there_is_room_every_word_is_there() -> None:
    assert [word.get_text() for word in drawn(CHARTS["errors"])[1]] == ["one", "two"]
    assert len(drawn(CHARTS["bars"])[1]) == 6


def test_a_word_is_not_written_twice_at_one_point() -> None:
    series = [Series(f"s{i}", [0.1, 0.2], [1.0, 1.0], notes=["0", ""]) for i in range(3)]
    assert len(drawn(Chart("it", "it", "x", "y", series))[1]) == 1
