"""`maxsieve lab report` and `page`: many experiments on many corpora, gone on with if interrupted, as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.failures import sentence
from maxsieve.cli.lab.options import DEFAULT_OUT, Out, Settings
from maxsieve.cli.options import AsJson, Progress, with_groups
from maxsieve.common.files import replacing
from maxsieve.errors import MaxsieveError
from maxsieve.lab.experiments import SUMMARIES

if TYPE_CHECKING:
    from maxsieve.lab.dataset import Dataset
    from maxsieve.lab.experiment import Options
    from maxsieve.lab.results import Result


class Entry(NamedTuple):
    """A result of the report, or why there is none."""

    experiment: str
    corpus: str
    result: Result | None
    reused: bool
    seconds: float
    failure: str | None = None


def register(group: typer.Typer) -> None:
    """Puts the commands into the group."""
    group.command(epilog="Example:  maxsieve lab report --corpus path/to/scifact --only margin")(with_groups(report))
    group.command(epilog="Example:  maxsieve lab page lab-results")(page)


def report(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERIMENT", help="Only this one; repeat it for more.", show_default=False),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERIMENT", help="Not this one; repeat it for more.", show_default=False),
    ] = None,
    *,
    settings: Settings,
    again: Annotated[bool, typer.Option("--again", help="Run also what is there already.")] = False,
    out: Out = DEFAULT_OUT,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Run many experiments on many corpora, and make one page of them.

    Results are written as they come. The same command again goes on after an interruption: results that are there, of
    the same corpus with the same settings, are kept. An experiment that fails is named and left out.
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
        raise KeyboardInterrupt(f"interrupted; {out} has what is done: the same command goes on from there") from None
    write_pages([entry.result for entry in entries if entry.result is not None], out, as_json=as_json)
    failed = [f"{entry.experiment} on {entry.corpus}" for entry in entries if entry.failure]
    if failed:
        raise MaxsieveError(f"{len(failed)} of {len(entries)} failed: {', '.join(failed)}")


def page(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="With saved results.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Make the page again, of all results in a folder."""
    from maxsieve.lab.results import load

    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise FileNotFoundError(f"there are no results in {folder}; maxsieve lab report makes some")
    write_pages([load(path) for path in paths], folder, as_json=as_json)


def chosen(only: Sequence[str] | None, skip: Sequence[str] | None) -> list[str]:
    """The experiments to run, in the order of the list.

    >>> chosen(["margin", "pareto", "block"], ["block"])
    ['pareto', 'margin']
    """
    for name in (*(only or ()), *(skip or ())):
        if name not in SUMMARIES:
            raise typer.BadParameter(f"there is no experiment {name!r}; maxsieve lab list names them")
    names = [name for name in SUMMARIES if (not only or name in only) and name not in (skip or ())]
    if not names:
        raise typer.BadParameter("no experiment is left to run")
    return names


def _entries(
    names: Sequence[str], datasets: Sequence[Dataset], options: Options, folder: Path, *, again: bool
) -> Iterator[Entry]:
    from maxsieve.lab.results import save
    from maxsieve.lab.running import reusable, run

    for dataset in datasets:
        for name in names:
            started = perf_counter()
            known, result, failure = None, None, None
            try:
                known = None if again else reusable(name, dataset, options, folder)
                if known is None:
                    result = run(name, dataset, options)
                    save(result, folder)
            except Exception as problem:  # a night's work is not lost for one experiment that a corpus doesn't suit
                failure = sentence(problem)
            seconds = 0.0 if known else perf_counter() - started
            yield Entry(name, dataset.name, known or result, known is not None, seconds, failure)


def tell(entry: Entry, *, as_json: bool) -> None:
    """Says what became of an experiment."""
    if entry.failure:
        say(f"{entry.experiment} on {entry.corpus}: {entry.failure}")
    elif not as_json:
        done = "was there" if entry.reused else f"{entry.seconds:.0f} s"
        print_line(f"{entry.experiment} on {entry.corpus}: {done}")
    if as_json:
        emit({**entry._asdict(), "result": None if entry.result is None else entry.result.stem})


def write_pages(results: Sequence[Result], folder: Path, *, as_json: bool) -> None:
    """Writes the pages of some results, and says where."""
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
