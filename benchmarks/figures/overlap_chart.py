"""Time against overlap, for maxsieve and the others: the chart of the README, on a light and on a dark background."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures.published import Measured
from maxsieve.lab.charts import ANONYMOUS, DPI, Note, place_notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAMILIES = ("calibrated", "bandit", "colbandit", "tachiom", "lancedb")
"""Methods with a knob. A line joins their points."""
AT_THE_TOP = 0.985
"""Names of points in the top row are slanted, because there are many."""
APART = 20.0
"""The least distance between two slanted names, in pixels."""


@dataclass(frozen=True)
class Ground:
    """Colours that can be distinguished on a background."""

    paper: str
    ink: str
    ours: str
    theirs: str


LIGHT = Ground("#ffffff", "#24292f", "#1f5fa8", "#8a6d1a")
DARK = Ground("#0d1117", "#d5dbe1", "#6cb0ff", "#d9b44a")


@dataclass(frozen=True)
class Panel:
    """One shape on one machine: the name of each point, and what was measured."""

    title: str
    rows: Sequence[tuple[str, Measured]]


def draw(panels: Sequence[Panel], ours: Collection[str], ground: Ground, path: Path) -> None:
    """Writes an SVG with a panel beside another. The same figures give the same file."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ground.ink
    )
    look = {
        "font.size": 9,
        "axes.titlesize": 10,
        "svg.hashsalt": "maxsieve",
        "svg.fonttype": "none",
        "axes.facecolor": ground.paper,
        **colours,
    }
    with mpl.rc_context(look):
        figure = Figure(figsize=(4.4 * len(panels), 4.4), layout="constrained", dpi=DPI, facecolor=ground.paper)
        places = figure.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
        for axes, panel in zip(places, panels, strict=True):
            _points(axes, panel, ours, ground)
        _limits(places[0], [row for panel in panels for _, row in panel.rows])
        for axes, panel in zip(places, panels, strict=True):
            _names(axes, panel, ours, ground)
        figure.savefig(path, format="svg", metadata=ANONYMOUS["svg"])


def _points(axes: Axes, panel: Panel, ours: Collection[str], ground: Ground) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    rows = [row for _, row in panel.rows]
    for family in FAMILIES:
        some = sorted((row for row in rows if row.method.startswith(family)), key=lambda row: row.time)
        colour = ground.ours if {row.method for row in some} <= set(ours) else ground.theirs
        axes.plot([row.time for row in some], [row.found for row in some], color=colour, linewidth=0.8, alpha=0.5)
    for row in rows:
        mark, colour = ("o", ground.ours) if row.method in ours else ("s", ground.theirs)
        axes.plot(row.time, row.found, marker=mark, markersize=6, linestyle="", color=colour)
    axes.set(xscale="log", title=panel.title, xlabel="milliseconds for a query")
    if axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        axes.set_ylabel("overlap: share of the true top K found")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _limits(axes: Axes, rows: Sequence[Measured]) -> None:
    """The axis for all panels, with room for names above, on the left and on the right."""
    low, high = min(row.time for row in rows), max(row.time for row in rows)
    axes.set_xlim(low / (high / low) ** 0.3, high * (high / low) ** 0.35)
    worst = min(row.found for row in rows)
    axes.set_ylim(worst - 0.13 * (1 - worst), 1 + 0.5 * (1 - worst))
    axes.set_yticks([tick / 10 for tick in range(11) if tick / 10 >= axes.get_ylim()[0]])


def _names(axes: Axes, panel: Panel, ours: Collection[str], ground: Ground) -> None:
    """Names are slanted above points in the top row, and beside all others."""
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]  # so that the positions of points are known
    rest, slanted, last = [], [], -APART
    for name, row in sorted(panel.rows, key=lambda one: one[1].time):
        if row.found < AT_THE_TOP:
            rest.append(Note(axes, row.time, row.found, name))
            continue
        colour = ground.ours if row.method in ours else ground.theirs
        x = axes.transData.transform((row.time, row.found))[0]
        last = max(x, last + APART)
        offset = (1 + (last - x) * 72 / DPI, 6)
        text = axes.annotate(name, (row.time, row.found), offset, textcoords="offset points", fontsize=8)
        text.set(rotation=50, ha="left", va="bottom", rotation_mode="anchor", color=colour, in_layout=False)
        slanted.append(text)
    place_notes(axes.figure, axes, rest, size=8, others=slanted)  # type: ignore[arg-type]
