"""Runs one experiment on one corpus and records how to reproduce it; or finds a saved result that is still valid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from maxsieve import __version__
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options, find
from maxsieve.lab.facts import build, facts, machine, versions
from maxsieve.lab.results import ExperimentResult, load


def run(name: str, dataset: Dataset, options: Options) -> ExperimentResult:
    """Runs an experiment. The result's facts are the settings, the machine, the date and the command."""
    result = find(name)(dataset, options)
    own = {"settings": settings(dataset, options), **facts(encoder=dataset.encoder), **computed_by(dataset)}
    return replace(result, facts={**result.facts, **own})


def reusable(name: str, dataset: Dataset, options: Options, folder: Path) -> ExperimentResult | None:
    """The saved result, if it was made by the same build from the same corpus, with the same settings and machine."""
    path = folder / f"{ExperimentResult(name, dataset.name, '', []).stem}.json"
    if not path.is_file():
        return None
    found = load(path)
    wanted = {"settings": settings(dataset, options), **computed_by(dataset)}
    return found if all(found.facts.get(key) == value for key, value in wanted.items()) else None


def settings(dataset: Dataset, options: Options) -> dict[str, Any]:
    """The user's settings."""
    return {
        "maxsieve": __version__,
        "corpus": dataset.digest[:12],
        "encoder": dataset.encoder or "ready-made",
        "dim": dataset.chosen,
        "queries": options.queries,
        "threads": options.threads,
        "quick": options.quick,
    }


def computed_by(dataset: Dataset) -> dict[str, Any]:
    """What else a result depends on: sources, machine, versions, and the contents of the model's files."""
    return {
        "build": build(),
        "machine": machine(),
        "versions": versions(encoder=dataset.encoder),
        "encoder": dataset.fingerprint,
    }
