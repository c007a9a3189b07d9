"""`maxsieve lab tune`: the cheapest setting that reaches a target, and the line of code to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.console import emit, shows_progress
from maxsieve.cli.lab.options import DEFAULT_DIM, DEFAULT_ENCODER, CorpusNames, Dim, Encoder, Queries, Quick
from maxsieve.cli.lab.show import output, show_result
from maxsieve.cli.lab.sources import open_sources
from maxsieve.cli.options import AsJson, K, Progress, Threads

if TYPE_CHECKING:
    from maxsieve.lab.tuning import Tuning


def register(group: typer.Typer) -> None:
    """Puts the command into the group."""
    group.command(epilog="Example:  maxsieve lab tune --corpus path/to/scifact --target 0.95 -k 10")(tune)


def tune(
    corpus: CorpusNames,
    target: Annotated[float, typer.Option(help="The share of the true top K to find, on average.")] = 0.99,
    k: K = 10,
    confidence: Annotated[float, typer.Option(help="How sure that must be.")] = 0.95,
    encoder: Encoder = DEFAULT_ENCODER,
    dim: Dim = DEFAULT_DIM,
    queries: Queries = None,
    threads: Threads = None,
    quick: Quick = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest Bandit that is shown to find enough, and say which line of code to use.

    A quarter of the queries chooses; the others verify.
    """
    from maxsieve.lab import tune as lab

    for name, value in (("target", target), ("confidence", confidence)):
        if not 0 < value < 1 and (name, value) != ("target", 1):
            raise typer.BadParameter(f"--{name} must lie between 0 and 1, not {value}")
    shown = shows_progress(progress)
    grid = (lab.QUICK_ALPHAS, lab.QUICK_MARGINS) if quick else (lab.ALPHAS, lab.MARGINS)
    for source in open_sources(corpus, encoder, dim, progress=shown):
        found = lab.tune(
            source, target, k, confidence, queries, alphas=grid[0], margins=grid[1], threads=threads, progress=shown
        )
        if as_json:
            emit(to_plain(found))
        else:
            show_result(output(), found.result())


def to_plain(found: Tuning) -> dict[str, Any]:
    """What becomes JSON."""
    chosen = found.chosen
    setting = chosen and {
        "alpha": chosen.setting.policy.alpha,
        "margin": chosen.setting.policy.margin,
        "overlap": chosen.overlap,
        "at_least": chosen.bound,
        "coverage": chosen.coverage,
        "rescored": chosen.rescored,
        "milliseconds": found.milliseconds,
    }
    return {
        "corpus": found.corpus,
        "encoder": found.encoder,
        "target": found.target,
        "k": found.k,
        "confidence": found.confidence,
        "choosing": found.choosing,
        "held_out": found.held_out,
        "line": found.line,
        "advice": found.advice,
        "bandit": setting,
        "certified": {"milliseconds": found.certified_milliseconds},
    }
