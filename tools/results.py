"""Writes the results of the lab into docs/results.md, below its introduction, and the charts into its folder.

The page has two generated parts. A part without results in the folder stays as it is, so that each can be measured
alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from maxsieve.lab.charts import draw
from maxsieve.lab.experiments import SUMMARIES
from maxsieve.lab.page import machines, markdown_page, settings
from maxsieve.lab.results import ExperimentResult, load

CALIBRATED = ("tiers", "guarantee", "stand-ins", "ageing", "stores")
OWN_MARK = "<!-- What follows is written by `make results ARGS=calibrated`. -->"
MARK = "<!-- What follows is written by `make results`. -->"


def main(saved: Path, docs: Path) -> None:
    """Puts the results saved in one folder into the page in another."""
    results = [load(path) for path in sorted(saved.glob("*.json"))]
    order = list(SUMMARIES)
    results.sort(key=lambda result: (order.index(result.experiment), result.corpus != "scifact", result.corpus))
    charts, page = docs / "results", docs / "results.md"
    words, _, rest = page.read_text(encoding="utf-8").partition(OWN_MARK)
    own, _, paper = rest.partition(MARK)
    if some := [result for result in results if result.experiment in CALIBRATED]:
        draw_all(some, charts)
        own = f"\n\n{calibrated_part(some, charts.name)}\n"
    if some := [result for result in results if result.experiment not in CALIBRATED]:
        draw_all(some, charts)
        paper = f"\n\n{markdown_page(some, charts.name)}"
    page.write_text(f"{words}{OWN_MARK}{own}{MARK}{paper}", encoding="utf-8")


def draw_all(results: list[ExperimentResult], folder: Path) -> None:
    """Draws the charts of these results again. Those of other experiments stay."""
    folder.mkdir(exist_ok=True)
    for name in {result.experiment for result in results}:
        for old in folder.glob(f"{name}-*.svg"):
            old.unlink()
    for result in results:
        for chart in result.charts:
            draw(chart, folder / f"{result.stem}-{chart.name}.svg")


def calibrated_part(results: list[ExperimentResult], images: str) -> str:
    """The tables about `Calibrated` and stores, with machines and settings."""
    parts = ["# Calibrated search and what is stored"]
    parts += ["; ".join(f"{name} {value}" for name, value in machine.items()) + "." for machine in machines(results)]
    for result in results:
        parts += [result.markdown(2, f"{images}/").rstrip(), f"<sub>{settings(result)}</sub>"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
