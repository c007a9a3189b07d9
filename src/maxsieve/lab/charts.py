"""Draws charts to files, with matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.lab.results import Chart, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

COLOURS = ["#1f5fa8", "#d1622b", "#3b8f4f", "#8a4fa3", "#b8860b", "#5f6b73", "#c2477f", "#2a9d9d", "#7a5c3e"]
"""Dark enough on white; in grey they differ by lightness and by markers."""
MARKERS = "osD^vPX*h"
DPI = 150
POINT = 0.03 * DPI
"""Half of a marker's width, in pixels."""
STEPS = 60
"""How many points of each line segment are checked for overlap with a label."""
BAR_GROUP = 0.8
"""The share of the axis between two positions that their bars fill."""

ANONYMOUS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}
"""Metadata that depend on the date or the version of matplotlib are left out."""


def draw(chart: Chart, target: Path | IO[bytes], kind: str = "") -> None:
    """Writes the chart as ``"svg"`` or ``"png"``; for a path, its suffix decides. Equal charts give equal files."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise ImportError("charts need matplotlib: pip install 'maxsieve[lab]'") from missing
    with mpl.rc_context({"font.size": 9, "svg.hashsalt": "maxsieve", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=DPI)
        put_on(figure, chart)
        chosen = target.suffix[1:] if isinstance(target, Path) else kind
        figure.savefig(target, format=chosen, metadata=ANONYMOUS[chosen])


def put_on(figure: Figure, chart: Chart) -> None:
    """Draws the chart on an empty figure."""
    axes = figure.add_subplot()
    right = axes.twinx() if any(series.kind == "marks" for series in chart.series) else None
    notes = _draw_all(chart, axes, right)
    _label(chart, axes, right)
    place_notes(figure, axes, notes)


class Note(NamedTuple):
    """The label of a point; it may be empty."""

    axes: Axes
    x: float
    y: float
    text: str


def place_notes(
    figure: Figure, axes: Axes, notes: Sequence[Note], size: float = 7, others: Sequence[Annotation] = ()
) -> None:
    """Places each label near its point, so that it covers no other label, no point and no bar.

    It covers a line only if there is no other position. A label without a free position is left out, and so is a
    repeated label of the same point; the tables have all figures. ``others`` are labels that are placed already.
    """
    figure.draw_without_rendering()  # so that the positions of everything else are known
    inside = axes.get_window_extent()
    taken, lines = _points_and_bars(figure), _along_lines(figure)
    taken += [other.get_window_extent() for other in others]
    for note in dict.fromkeys(notes):
        if not note.text:
            continue
        place = (note.x, note.y)
        text = note.axes.annotate(note.text, place, (0, 0), textcoords="offset points", fontsize=size, ha="center")
        text.set(va="center", in_layout=False)
        boxes: dict[tuple[float, float], Bbox] = {}
        for offset in _offsets(len(note.text)):
            text.set_position(offset)
            box = text.get_window_extent()
            if _within(box, inside) and not any(box.overlaps(other) for other in taken):
                boxes[offset] = box
        if not boxes:
            text.remove()
            continue
        best = next((corner for corner, box in boxes.items() if not box.count_contains(lines)), next(iter(boxes)))
        text.set_position(best)
        taken.append(boxes[best])


def _points_and_bars(figure: Figure) -> list[Bbox]:
    """The bounding boxes of all markers and bars, in pixels."""
    from matplotlib.transforms import Bbox

    boxes = [patch.get_window_extent() for axes in figure.axes for patch in axes.patches]
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_marker() not in ("None", "", " ", "_"):
                for x, y in axes.transData.transform(line.get_xydata()).tolist():
                    boxes.append(Bbox.from_bounds(x - POINT, y - POINT, 2 * POINT, 2 * POINT))
    return boxes


def _along_lines(figure: Figure) -> NDArray[np.float64]:
    """Pixels [n, 2] on the lines between points and on the error bars."""
    ends = [axes.transData.transform(line.get_xydata()) for axes in figure.axes for line in axes.lines]
    for axes in figure.axes:
        errors = [group.get_segments() for group in axes.collections if hasattr(group, "get_segments")]
        ends += [axes.transData.transform(run) for some in errors for run in some if len(run)]
    share = np.linspace(0, 1, STEPS)[:, None, None]
    pieces = [(run[:-1] + share * (run[1:] - run[:-1])).reshape(-1, 2) for run in ends if len(run) > 1]
    return np.concatenate([np.zeros((0, 2)), *pieces])


def _within(box: Bbox, area: Bbox) -> bool:
    return bool(area.x0 <= box.x0 and box.x1 <= area.x1 and area.y0 <= box.y0 and box.y1 <= area.y1)


def _offsets(letters: int) -> Iterator[tuple[float, float]]:
    """Places around a point, in points of 1/72 inch, the nearest first: above, below, to the right, to the left."""
    aside = 6 + 2.0 * letters
    for step in (0, 7, 14, 21):
        yield from ((0, 8 + step), (0, -8 - step), (aside + step, 0), (-aside - step, 0))
        yield from ((aside, 8 + step), (-aside, 8 + step), (aside, -8 - step), (-aside, -8 - step))


def _draw_all(chart: Chart, axes: Axes, right: Axes | None) -> list[Note]:
    """Draws the series, and returns the labels of their points, which are placed later."""
    places = _places(chart)
    notes: list[Note] = []
    bars = [series for series in chart.series if series.kind == "bars"]
    for number, series in enumerate(chart.series):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        x = [places[str(value)] for value in series.x] if places else [float(value) for value in series.x]
        target = axes
        if series.kind == "bars":
            width = BAR_GROUP / len(bars)
            x = [centre + width * (bars.index(series) - (len(bars) - 1) / 2) for centre in x]
            axes.bar(x, series.y, width * 0.95, color=colour, label=series.name, yerr=_errors(series), capsize=2)
        elif series.kind == "marks" and right is not None:
            target = right
            right.plot(x, series.y, linestyle="", marker="D", markersize=5, color="#6a3d9a", label=series.name)
        else:
            axes.errorbar(
                x, series.y, _errors(series), color=colour, marker=marker, markersize=4, capsize=2, label=series.name
            )
        words = series.notes or [""] * len(x)
        notes += [Note(target, *point) for point in zip(x, series.y, words, strict=True)]
    if bars:
        axes.margins(y=0.12)  # space above them for labels
    if places:
        axes.set_xticks(list(places.values()), list(places), rotation=20 if max(map(len, places)) > 12 else 0)
    return notes


def _label(chart: Chart, axes: Axes, right: Axes | None) -> None:
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    if chart.x_scale == "log":  # setting a scale removes the tick labels
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)
    if chart.y_scale == "log":
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    handles, labels = axes.get_legend_handles_labels()
    if right is not None:
        right.set_ylabel(chart.right_label)
        right.set_ylim(min(0.5, *right.get_ylim()), 1.05)
        more = right.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    if len(labels) > 1:
        axes.figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)


def _plain_numbers(axis: Axis) -> None:
    """Ticks at 1, 2, 5, 10, ... with these numbers, not powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def _places(chart: Chart) -> dict[str, int]:
    """The positions of categories on the x axis; empty if the axis has numbers."""
    words = dict.fromkeys(label for series in chart.series for label in series.x if isinstance(label, str))
    return {word: place for place, word in enumerate(words)}


def _errors(series: Series) -> list[list[float]] | None:
    if series.low is None or series.high is None:
        return None
    below = [max(0.0, y - low) for y, low in zip(series.y, series.low, strict=True)]
    above = [max(0.0, high - y) for y, high in zip(series.y, series.high, strict=True)]
    return [below, above]
