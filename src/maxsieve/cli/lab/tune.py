"""`maxsieve lab tune`: finds the cheapest setting that reaches a target, and prints the line of code that uses it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.console import emit, shows_progress
from maxsieve.cli.lab.options import ExperimentOptions
from maxsieve.cli.lab.report import output, show_result
from maxsieve.cli.options import AsJson, K, Progress

if TYPE_CHECKING:
    from maxsieve.lab.recommendation import Recommendation


def tune(
    target: Annotated[float, typer.Option(help="The share of the true top K to find, on average.")] = 0.99,
    k: K = 10,
    confidence: Annotated[float, typer.Option(help="The confidence that the target is reached.")] = 0.95,
    *,
    settings: ExperimentOptions,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest Bandit setting that reaches the target, and print the line of code that uses it.

    A quarter of the queries choose the setting; the other queries verify it.
    """
    from maxsieve.lab import tune as lab

    for name, value in (("target", target), ("confidence", confidence)):
        if not 0 < value < 1 and (name, value) != ("target", 1):
            raise typer.BadParameter(f"--{name} must lie between 0 and 1, not {value}")
    shown = shows_progress(progress)
    alphas, margins = (lab.QUICK_ALPHAS, lab.QUICK_MARGINS) if settings.quick else (lab.ALPHAS, lab.MARGINS)
    for dataset in settings.datasets(progress=shown):
        found = lab.tune(
            dataset,
            target,
            k,
            confidence,
            settings.first,
            alphas=alphas,
            margins=margins,
            threads=settings.threads,
            progress=shown,
        )
        if as_json:
            emit(to_plain(found))
        else:
            show_result(output(), found.result())


def to_plain(found: Recommendation) -> dict[str, Any]:
    """The recommendation as JSON-compatible values."""
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
        "command": found.command,
        "advice": found.advice,
        "bandit": setting,
        "certified": {"milliseconds": found.certified_milliseconds},
        "saving": found.saving and {**asdict(found.saving), "needed": found.needed},
    }
