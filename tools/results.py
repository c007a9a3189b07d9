"""Writes what the lab measured into docs/results.md, below the words about it, and its charts beside it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from maxsieve.lab.charts import draw
from maxsieve.lab.experiments import SUMMARIES
from maxsieve.lab.page import markdown_page
from maxsieve.lab.results import load

MARK = "<!-- What follows is written by `make results`. -->"


def main(saved: Path, docs: Path) -> None:
    """Puts the results saved in one folder into the page in another."""
    results = [load(path) for path in sorted(saved.glob("*.json"))]
    order = list(SUMMARIES)
    results.sort(key=lambda result: (order.index(result.experiment), result.corpus != "scifact", result.corpus))
    charts = docs / "results"
    shutil.rmtree(charts, ignore_errors=True)
    charts.mkdir()
    for result in results:
        for chart in result.charts:
            draw(chart, charts / f"{result.stem}-{chart.name}.svg")
    page = docs / "results.md"
    words = page.read_text(encoding="utf-8").partition(MARK)[0]
    page.write_text(f"{words}{MARK}\n\n{markdown_page(results, charts.name)}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
