"""`maxsieve lab`: the paper's experiments on any corpus, a report over many of them, and a tuner for Bandit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import typer

from maxsieve.cli.console import emit, print_answer, print_line, shows_progress
from maxsieve.cli.lab import report, tune
from maxsieve.cli.lab.options import DEFAULT_OUT, ExperimentOptions, Out, require_extra
from maxsieve.cli.lab.report import output, show_paths, show_result
from maxsieve.cli.options import AsJson, Progress, add_commands, with_groups
from maxsieve.lab.experiments import SUMMARIES

__all__ = ["register"]

HELP = "For experiments: the Col-Bandit paper's on a corpus, and tuning of the bandit."


def register(app: typer.Typer) -> None:
    """Registers the commands."""
    group = typer.Typer(invoke_without_command=True, help=HELP)
    group.callback(epilog="Example:  maxsieve lab list")(_overview)
    for name, summary in SUMMARIES.items():
        example = f"Example:  maxsieve lab {name} --corpus path/to/scifact --quick"
        group.command(name, help=summary, epilog=example)(with_groups(_experiment(name)))
    more = {
        with_groups(report.report): "maxsieve lab report --corpus path/to/scifact --only margin",
        report.page: "maxsieve lab page lab-results",
        with_groups(tune.tune): "maxsieve lab tune --corpus path/to/scifact --target 0.95 -k 10",
    }
    add_commands(group, more)
    group.command("list", epilog="Example:  maxsieve lab list")(list_)
    app.add_typer(group, name="lab")


def _overview(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        require_extra()
        print_line(context.get_help())


def _experiment(name: str) -> Callable[..., None]:
    def command(
        settings: ExperimentOptions,
        out: Out = DEFAULT_OUT,
        progress: Progress = None,
        as_json: AsJson = False,
    ) -> None:
        shown = shows_progress(progress)
        datasets = settings.datasets(progress=shown)
        from maxsieve.lab.results import save
        from maxsieve.lab.runs import run

        console = output()
        for dataset in datasets:
            result = run(name, dataset, settings.options(progress=shown))
            paths = save(result, out)
            if as_json:
                emit({**asdict(result), "files": [str(path) for path in paths]})
            else:
                show_result(console, result)
                show_paths(console, paths)

    return command


def list_(as_json: AsJson = False) -> None:
    """List the experiments."""
    width = max(map(len, SUMMARIES))
    for name, summary in SUMMARIES.items():
        print_answer({"name": name, "summary": summary}, f"{name:<{width}}  {summary}", as_json=as_json)
