"""The group `maxsieve lab`: one command for each experiment, and what is made of many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import typer

from maxsieve.cli.console import emit, shows_progress
from maxsieve.cli.lab import report, tune
from maxsieve.cli.lab.options import (
    DEFAULT_DIM,
    DEFAULT_ENCODER,
    DEFAULT_OUT,
    CorpusNames,
    Dim,
    Encoder,
    Out,
    Queries,
    Quick,
)
from maxsieve.cli.lab.show import output, show_paths, show_result
from maxsieve.cli.lab.sources import open_sources, require_extra
from maxsieve.cli.options import AsJson, Progress, Threads
from maxsieve.lab.experiments import SUMMARIES

HELP = "Run the Col-Bandit paper's experiments on a corpus, and choose a knob."


def register(app: typer.Typer) -> None:
    """Puts the commands into the tree."""
    group = typer.Typer(invoke_without_command=True, help=HELP)
    group.callback(epilog="Example:  maxsieve lab list")(_overview)
    for name, summary in SUMMARIES.items():
        example = f"Example:  maxsieve lab {name} --corpus path/to/scifact --quick"
        group.command(name, help=summary, epilog=example)(_experiment(name))
    report.register(group)
    tune.register(group)
    group.command("list", epilog="Example:  maxsieve lab list")(list_)
    app.add_typer(group, name="lab")


def _overview(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        require_extra()
        print(context.get_help())


def _experiment(name: str) -> Callable[..., None]:
    def command(
        corpus: CorpusNames,
        encoder: Encoder = DEFAULT_ENCODER,
        dim: Dim = DEFAULT_DIM,
        queries: Queries = None,
        threads: Threads = None,
        quick: Quick = False,
        out: Out = DEFAULT_OUT,
        progress: Progress = None,
        as_json: AsJson = False,
    ) -> None:
        from maxsieve.lab.experiment import Options
        from maxsieve.lab.results import save
        from maxsieve.lab.running import run

        shown = shows_progress(progress)
        console = output()
        for source in open_sources(corpus, encoder, dim, progress=shown):
            result = run(name, source, Options(queries, threads, quick, shown))
            paths = save(result, out)
            if as_json:
                emit({**asdict(result), "files": [str(path) for path in paths]})
            else:
                show_result(console, result)
                show_paths(console, paths)

    return command


def list_(as_json: AsJson = False) -> None:
    """List the experiments."""
    from maxsieve.lab.experiments import EXPERIMENTS

    width = max(map(len, EXPERIMENTS))
    for name, experiment in EXPERIMENTS.items():
        if as_json:
            emit({"name": name, "summary": experiment.summary})
        else:
            print(f"{name:<{width}}  {experiment.summary}")
