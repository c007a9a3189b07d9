"""Puts the figures of benchmarks/results into the README and the pages of docs/, and draws their charts.

    make figures

Only this program writes the part of a document between ``<!-- figures: NAME -->`` and ``<!-- /figures -->``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from benchmarks.figures.charts import bars, time_and_overlap
from benchmarks.figures.names import OURS
from benchmarks.figures.overlap_chart import DARK, LIGHT, draw
from benchmarks.figures.texts import PARTS
from maxsieve.lab import charts

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
CHARTS = ROOT / "docs" / "figures"
PART = re.compile(r"(<!-- figures: (?P<name>[\w-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)


def main() -> None:
    """Rewrites the parts and the charts."""
    for path in DOCUMENTS:
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    CHARTS.mkdir(exist_ok=True)
    for name, panels in time_and_overlap().items():
        for ground, suffix in ((LIGHT, ""), (DARK, "-dark")):
            target = CHARTS / f"{name}{suffix}.svg"
            draw(panels, OURS, ground, target)
            _sign(target, panels)
    for chart in bars():
        target = CHARTS / f"{chart.name}.svg"
        charts.draw(chart, target)
        _sign(target, chart)


def shown() -> dict[str, object]:
    """What each chart shows, by its name."""
    made: dict[str, object] = {}
    for name, panels in time_and_overlap().items():
        made |= {name: panels, f"{name}-dark": panels}
    return made | {chart.name: chart for chart in bars()}


def rewritten(text: str) -> str:
    """A document with its parts up to date."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found['name']]()}\n\n{found[3]}", text)


def digest(data: object) -> str:
    """A digest of what a chart shows, which tells whether it was drawn from the current results."""
    return hashlib.sha256(repr(data).encode()).hexdigest()[:16]


def _sign(path: Path, data: object) -> None:
    """Writes this digest into a chart."""
    drawn = path.read_text(encoding="utf-8")
    path.write_text(drawn.replace("<svg ", f"<!-- {digest(data)} -->\n<svg ", 1), encoding="utf-8")


if __name__ == "__main__":
    main()
