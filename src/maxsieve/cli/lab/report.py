"""`maxsieve lab report` and `page`: runs many experiments on many corpora, resumably, and makes one page of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.failures import sentence
from maxsieve.cli.lab.options import DEFAULT_OUT, ExperimentOptions, Out
from maxsieve.cli.options import AsJson, Progress
from maxsieve.cli.terminal import Output
from maxsieve.common.files import replacing
from maxsieve.errors import MaxsieveError
from maxsieve.lab.experiments import SUMMARIES

if TYPE_CHECKING:
    from maxsieve.lab.dataset import Dataset
    from maxsieve.lab.experiments import Options
    from maxsieve.lab.results import ExperimentResult, Table


class ReportEntry(NamedTuple):
    """A result of the report, or why there is none."""

    experiment: str
    corpus: str
    result: ExperimentResult | None
    reused: bool
    seconds: float
    failure: str | None = None


def report(
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPERIMENT", help="Run only this experiment. Repeat the option for more.", show_default=False
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPERIMENT", help="Leave out this experiment. Repeat the option for more.", show_default=False
        ),
    ] = None,
    *,
    settings: ExperimentOptions,
    again: Annotated[
        bool, typer.Option("--again", help="Run all experiments again, even if there is a result.")
    ] = False,
    out: Out = DEFAULT_OUT,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Run many experiments on many corpora, and make one page of them.

    Each result is written when its experiment ends. After an interruption, run the same command again: results of the
    same corpus with the same settings are reused. An experiment that fails is reported and left out.
    """
    names = chosen(only, skip)
    shown = shows_progress(progress)
    datasets = settings.datasets(progress=shown)
    entries = []
    try:
        for entry in _entries(names, datasets, settings.options(progress=shown), out, again=again):
            entries.append(entry)
            tell(entry, as_json=as_json)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; {out} has the results so far: run the same command again to continue"
        ) from None
    write_pages([entry.result for entry in entries if entry.result is not None], out, as_json=as_json)
    failed = [f"{entry.experiment} on {entry.corpus}" for entry in entries if entry.failure]
    if failed:
        raise MaxsieveError(f"{len(failed)} of {len(entries)} failed: {', '.join(failed)}")


def page(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder with saved results.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Make the page again from all results in a folder."""
    from maxsieve.lab.results import load

    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise FileNotFoundError(f"there are no results in {folder}; maxsieve lab report makes some")
    write_pages([load(path) for path in paths], folder, as_json=as_json)


def chosen(only: Sequence[str] | None, skip: Sequence[str] | None) -> list[str]:
    """The experiments to run, in the order of ``maxsieve lab list``.

    >>> chosen(["margin", "pareto", "block"], ["block"])
    ['pareto', 'margin']
    """
    for name in (*(only or ()), *(skip or ())):
        if name not in SUMMARIES:
            raise typer.BadParameter(f"there is no experiment {name!r}; maxsieve lab list shows them")
    names = [name for name in SUMMARIES if (not only or name in only) and name not in (skip or ())]
    if not names:
        raise typer.BadParameter("--only and --skip leave no experiment to run")
    return names


def _entries(
    names: Sequence[str], datasets: Sequence[Dataset], options: Options, folder: Path, *, again: bool
) -> Iterator[ReportEntry]:
    from maxsieve.lab.results import save
    from maxsieve.lab.runs import reusable, run

    for dataset in datasets:
        for name in names:
            started = perf_counter()
            known, result, failure = None, None, None
            try:
                known = None if again else reusable(name, dataset, options, folder)
                if known is None:
                    result = run(name, dataset, options)
                    save(result, folder)
            except Exception as problem:  # one experiment that fails must not end a run of many hours
                failure = sentence(problem)
            seconds = 0.0 if known else perf_counter() - started
            yield ReportEntry(name, dataset.name, known or result, known is not None, seconds, failure)


def tell(entry: ReportEntry, *, as_json: bool) -> None:
    """Reports how an experiment ended."""
    if entry.failure:
        say(f"{entry.experiment} on {entry.corpus}: {entry.failure}")
    elif not as_json:
        done = "reused" if entry.reused else f"{entry.seconds:.0f} s"
        print_line(f"{entry.experiment} on {entry.corpus}: {done}")
    if as_json:
        emit({**entry._asdict(), "result": None if entry.result is None else entry.result.stem})


def write_pages(results: Sequence[ExperimentResult], folder: Path, *, as_json: bool) -> None:
    """Writes the pages of these results, and prints their paths."""
    from maxsieve.lab.page import html_page, markdown_page

    paths = [folder / "index.html", folder / "results.md"]
    folder.mkdir(parents=True, exist_ok=True)
    for path, page in zip(paths, (html_page(results), markdown_page(results)), strict=True):
        with replacing(path) as file:
            file.write(page.encode())
    if as_json:
        emit({"pages": [str(path) for path in paths], "results": len(results)})
    else:
        for path in paths:
            print_line(str(path))


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
