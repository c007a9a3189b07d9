"""Drawing charts with matplotlib, to files."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from maxsieve.lab.results import Chart, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLOURS = ["#1f5fa8", "#d1622b", "#3b8f4f", "#8a4fa3", "#b8860b", "#5f6b73", "#c2477f", "#2a9d9d", "#7a5c3e"]
"""Dark enough on white, and told apart in grey by their order of lightness and by the markers."""
MARKERS = "osD^vPX*h"
BAR_GROUP = 0.8
"""Of the room between two places on the axis that their bars fill."""

ANONYMOUS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}
"""What would change with the date or the version of matplotlib, left out."""


def draw(chart: Chart, target: Path | IO[bytes], kind: str = "") -> None:
    """Writes the chart as ``"svg"`` or ``"png"``; a path's ending says which. The same chart gives the same file."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise ImportError("charts need matplotlib: pip install 'maxsieve[lab]'") from missing
    with mpl.rc_context({"font.size": 9, "svg.hashsalt": "maxsieve", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=150)
        axes = figure.add_subplot()
        right = axes.twinx() if any(series.kind == "marks" for series in chart.series) else None
        _draw_all(chart, axes, right)
        _label(chart, axes, right)
        chosen = target.suffix[1:] if isinstance(target, Path) else kind
        figure.savefig(target, format=chosen, metadata=ANONYMOUS[chosen])


def _draw_all(chart: Chart, axes: Axes, right: Axes | None) -> None:
    places = _places(chart)
    bars = [series for series in chart.series if series.kind == "bars"]
    for number, series in enumerate(chart.series):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        x = [places[str(one)] for one in series.x] if places else [float(one) for one in series.x]
        target = axes
        if series.kind == "bars":
            width = BAR_GROUP / len(bars)
            x = [one + width * (bars.index(series) - (len(bars) - 1) / 2) for one in x]
            axes.bar(x, series.y, width * 0.95, color=colour, label=series.name, yerr=_errors(series), capsize=2)
        elif series.kind == "marks" and right is not None:
            target = right
            right.plot(x, series.y, linestyle="", marker="D", markersize=5, color="#6a3d9a", label=series.name)
        else:
            axes.errorbar(
                x, series.y, _errors(series), color=colour, marker=marker, markersize=4, capsize=2, label=series.name
            )
        for one, value, note in zip(x, series.y, series.notes or [], strict=False):
            target.annotate(note, (one, value), (0, 4), textcoords="offset points", fontsize=7, ha="center")
    if places:
        axes.set_xticks(list(places.values()), list(places), rotation=20 if max(map(len, places)) > 12 else 0)


def _label(chart: Chart, axes: Axes, right: Axes | None) -> None:
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    if chart.x_scale == "log":  # setting a scale forgets the names of places
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
    """The places of words on the axis below; none if it has numbers."""
    words = dict.fromkeys(one for series in chart.series for one in series.x if isinstance(one, str))
    return {word: place for place, word in enumerate(words)}


def _errors(series: Series) -> list[list[float]] | None:
    if series.low is None or series.high is None:
        return None
    below = [max(0.0, y - low) for y, low in zip(series.y, series.low, strict=True)]
    above = [max(0.0, high - y) for y, high in zip(series.y, series.high, strict=True)]
    return [below, above]
