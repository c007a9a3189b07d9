"""What an experiment returns: tables, charts and remarks, as data that can be saved, drawn and printed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from maxsieve.common.files import replacing

Cell = str | int | float | bool | None


class Column(NamedTuple):
    """A heading, and the format of its numbers (as in `format`)."""

    name: str
    format: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under headings. ``label`` is the LaTeX label of the corresponding table in the paper."""

    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    label: str = ""
    note: str = ""

    def markdown(self) -> str:
        """The table in Markdown, with numbers aligned to the right.

        >>> print(Table("Speed", [Column("K"), Column("ms", ".1f")], [[5, 1.25], ["all", None]]).markdown())
        | K | ms |
        |---:|---:|
        | 5 | 1.2 |
        | all | - |
        """
        rules = ["---" if self.is_text(place) else "---:" for place in range(len(self.columns))]
        lines = [[column.name for column in self.columns], *self.text_rows()]
        head, *rest = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        return "\n".join([head, "|" + "|".join(rules) + "|", *rest])

    def text_rows(self) -> list[list[str]]:
        """The cells as text."""
        return [[_text(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def is_text(self, place: int) -> bool:
        """Whether a column has no numbers."""
        return not any(isinstance(row[place], int | float) for row in self.rows)


@dataclass(frozen=True)
class Series:
    """Points of one colour: a line, bars, or marks that belong to the axis on the right."""

    name: str
    x: list[float] | list[str]
    y: list[float]
    low: list[float] | None = None
    """Ends of the intervals around ``y``, if there are any."""
    high: list[float] | None = None
    notes: list[str] | None = None
    """A label for each point."""
    kind: Literal["line", "bars", "marks"] = "line"


@dataclass(frozen=True)
class Chart:
    """Series over common axes."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    right_label: str = ""
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    label: str = ""


@dataclass(frozen=True)
class ExperimentResult:
    """One experiment on one corpus."""

    experiment: str
    corpus: str
    summary: str
    """The question and the settings, in a sentence or two."""
    tables: list[Table]
    charts: list[Chart] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What the figures say."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Settings and machine."""

    def markdown(self, level: int = 2, images: str = "") -> str:
        """A section of a Markdown page, with its charts from the folder ``images``."""
        parts = [f"{'#' * level} {self.experiment}: {self.corpus}", self.summary]
        parts += ["\n".join(f"- {remark}" for remark in self.remarks)] * bool(self.remarks)
        for table in self.tables:
            parts += [f"**{table.title}**" + (f" (`{table.label}`)" if table.label else ""), table.markdown()]
            parts += [table.note] * bool(table.note)
        parts += [f"![{chart.title}]({images}{self.stem}-{chart.name}.svg)" for chart in self.charts]
        return "\n\n".join(parts) + "\n"

    @property
    def stem(self) -> str:
        """The prefix of its files' names; slashes and other special characters become hyphens."""
        return re.sub(r"[^\w.-]+", "-", f"{self.experiment}-{self.corpus}")


def save(result: ExperimentResult, folder: Path) -> list[Path]:
    """Writes JSON, Markdown, and each chart as SVG and PNG; returns the paths.

    The JSON file is written last and atomically: if it exists, the other files are complete.
    """
    from maxsieve.lab.charts import draw

    content = json.dumps(asdict(result), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{result.stem}.json", folder / f"{result.stem}.md"]
    with replacing(paths[1]) as file:
        file.write(result.markdown(1).encode())
    for chart in result.charts:
        for ending in ("svg", "png"):
            paths.append(folder / f"{result.stem}-{chart.name}.{ending}")
            draw(chart, paths[-1])
    with replacing(paths[0]) as file:
        file.write(content.encode())
    return paths


def load(path: Path) -> ExperimentResult:
    """A saved result, from its JSON file."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        tables = [
            Table(**{**table, "columns": [Column(*column) for column in table["columns"]]}) for table in raw["tables"]
        ]
        charts = [Chart(**{**chart, "series": [Series(**part) for part in chart["series"]]}) for chart in raw["charts"]]
        return ExperimentResult(**{**raw, "tables": tables, "charts": charts})
    except (ValueError, KeyError, TypeError) as wrong:
        raise ValueError(f"{path} is not a result of the lab: {wrong}") from wrong


def join(results: Sequence[ExperimentResult]) -> list[tuple[str, list[ExperimentResult]]]:
    """Results by experiment, in the order in which the experiments first occur."""
    names = dict.fromkeys(result.experiment for result in results)
    return [(name, [result for result in results if result.experiment == name]) for name in names]


def _text(cell: Cell, column: Column) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return cell if isinstance(cell, str) else format(cell, column.format)
