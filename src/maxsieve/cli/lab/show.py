"""Results in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from maxsieve.cli.console import Output

if TYPE_CHECKING:
    from maxsieve.lab.results import ExperimentResult, Table

ROOMY = 1000
"""Width for output to a file or a pipe, where lines of a table must not be wrapped."""


def output() -> Output:
    """Standard output, for tables."""
    return Output() if sys.stdout.isatty() else Output(width=ROOMY)


def show_result(console: Console, result: ExperimentResult) -> None:
    """The summary, the tables and the remarks."""
    console.print(Text(f"{result.experiment}: {result.corpus}", "bold"), soft_wrap=True)
    console.print(result.summary, soft_wrap=True)
    for table in result.tables:
        console.print(_grid(table))
        if table.note:
            console.print(Text(table.note, "dim"), soft_wrap=True)
    for remark in result.remarks:
        console.print(f"- {remark}", soft_wrap=True)


def show_paths(console: Console, paths: Sequence[Path]) -> None:
    """The paths of the written files, one per line."""
    for path in paths:
        console.print(Text(str(path), "dim"), soft_wrap=True)


def _grid(table: Table) -> Grid:
    label = f" ({table.label})" if table.label else ""
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=Text(table.title + label), title_justify="left")
    for place, column in enumerate(table.columns):
        grid.add_column(Text(column.name), justify="left" if table.is_text(place) else "right", overflow="fold")
    for row in table.text_rows():
        grid.add_row(*map(Text, row))
    return grid
