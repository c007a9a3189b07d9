"""Options that several commands share."""

from __future__ import annotations

import json
import math
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.policies import Bandit, Calibrated, Certified, Exhaustive, Policy
from maxsieve.where import to_where

if TYPE_CHECKING:
    from maxsieve.text import Collection
    from maxsieve.text.fusion import Hybrid

CollectionPath = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, one object a line, for scripts.")]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Progress on standard error: a bar on a terminal, else a line a minute.",
        show_default="if it takes a minute, or on a terminal",
    ),
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder", help="What the collection was made with, if that is no built-in model.", show_default=False
    ),
]
K = Annotated[int, typer.Option("--k", "-k", min=1, help="How many documents to find.")]
Threads = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Threads to use.", show_default="the CPUs there are")
]
DEFAULT_DEPTH = 100


class StoreName(str, Enum):
    """The type in which vectors are kept."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"
    INT8 = "int8"


class FirstStageName(str, Enum):
    """What names candidates before late interaction ranks them."""

    BM25 = "bm25"


FirstStage = Annotated[
    FirstStageName | None, typer.Option(help="Rank only the candidates it names.", show_default=False)
]
HybridOption = Annotated[
    str | None,
    typer.Option(
        "--hybrid",
        metavar="rrf|WEIGHT",
        help="Let BM25 have a say: by reciprocal ranks, or with a weight between 0 and 1.",
        show_default=False,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        min=1, help="Candidates of the first stage, or documents that --hybrid ranks.", show_default=str(DEFAULT_DEPTH)
    ),
]


WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="JSON",
        help='Search only documents whose metadata match, as in {"year": {"gte": 2020}}.',
        show_default=False,
    ),
]


class PolicyName(str, Enum):
    """Which sieve runs."""

    CERTIFIED = "certified"
    CALIBRATED = "calibrated"
    EXHAUSTIVE = "exhaustive"
    BANDIT = "bandit"


class RadiusName(str, Enum):
    """The bandit's radius."""

    PAPER = "paper"
    SERFLING = "serfling"


PolicyOption = Annotated[
    PolicyName,
    typer.Option(
        "--policy",
        help="certified and exhaustive are exact; calibrated finds most of that far sooner; bandit is the published "
        "sieve.",
    ),
]
Overlap = Annotated[
    float | None,
    typer.Option(
        help="Calibrated: the share of the exact answer to find on average, in (0, 1).",
        show_default=str(Calibrated().overlap),
    ),
]
Alpha = Annotated[
    float | None, typer.Option(help="Bandit: scales the radius, in (0, 1].", show_default=str(Bandit().alpha))
]
Delta = Annotated[float | None, typer.Option(help="Bandit: the radius's confidence.", show_default=str(Bandit().delta))]
Radius = Annotated[RadiusName | None, typer.Option(help="Bandit: which radius.", show_default=Bandit().radius)]
Margin = Annotated[
    int | None,
    typer.Option(min=0, help="Bandit: documents beyond k that it may stop at.", show_default=str(Bandit().margin)),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Bandit: of the reveal order.", show_default=str(Bandit().seed))]


def to_policy(
    name: PolicyName,
    alpha: float | None = None,
    delta: float | None = None,
    radius: RadiusName | None = None,
    seed: int | None = None,
    overlap: float | None = None,
    margin: int | None = None,
) -> Policy:
    """The policy the options name; knobs belong to one policy only.

    >>> to_policy(PolicyName.BANDIT, alpha=0.3)
    Bandit(alpha=0.3, delta=0.01, margin=5, block=4, seed=0, radius='paper')
    """
    knobs: dict[PolicyName, dict[str, Any]] = {
        PolicyName.BANDIT: {
            "alpha": alpha,
            "delta": delta,
            "margin": margin,
            "radius": radius and radius.value,
            "seed": seed,
        },
        PolicyName.CALIBRATED: {"overlap": overlap},
    }
    given = {owner: {knob: value for knob, value in own.items() if value is not None} for owner, own in knobs.items()}
    for owner, own in given.items():
        if own and owner is not name:
            raise typer.BadParameter(f"--{next(iter(own))} belongs to --policy {owner.value}")
    try:
        if name is PolicyName.BANDIT:
            return Bandit(**given[name])
        if name is PolicyName.CALIBRATED:
            return Calibrated(**given[name])
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    return Certified() if name is PolicyName.CERTIFIED else Exhaustive()


def to_hybrid(given: str | None) -> Hybrid | None:
    """The fusion that is named, or the weight.

    >>> to_hybrid("rrf"), to_hybrid("0.3")
    ('rrf', 0.3)
    """
    if given is None or given == "rrf":
        return given  # type: ignore[return-value]
    try:
        weight = float(given)
    except ValueError:
        weight = math.nan
    if not 0 < weight < 1:
        raise typer.BadParameter(f"--hybrid is rrf, or a weight of more than 0 and less than 1, not {given}")
    return weight


def to_filter(given: str | None) -> Any:
    """The filter that is written as JSON, with its mistakes told.

    >>> to_filter('{"year": {"gte": 2020}}')
    {'year': {'gte': 2020}}
    """
    if given is None:
        return None
    try:
        where = json.loads(given)
    except (ValueError, RecursionError) as problem:
        raise typer.BadParameter(f"--where is no JSON: {problem}") from None
    try:
        to_where(where)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    if where is None:
        raise typer.BadParameter("--where is null; a filter is expected")
    return where


def check_calibrated(collection: Collection) -> None:
    """An error that says which command is missing, if it is."""
    if collection.index.snapshot.calibration is None:
        raise ValueError(
            f"{collection.path} is not calibrated: maxsieve calibrate does that, with --queries FILE or without"
        )
