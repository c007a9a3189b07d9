"""Options that several commands share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from maxsieve.policies import Bandit, Certified, Exhaustive, Policy

CollectionPath = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, one object a line, for scripts.")]
Progress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Progress bars on standard error.", show_default="on a terminal"),
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


class FirstStageName(str, Enum):
    """What names candidates before late interaction ranks them."""

    BM25 = "bm25"


FirstStage = Annotated[
    FirstStageName | None, typer.Option(help="Rank only the candidates it names.", show_default=False)
]
Depth = Annotated[
    int | None, typer.Option(min=1, help="Candidates of the first stage.", show_default=str(DEFAULT_DEPTH))
]


class PolicyName(str, Enum):
    """Which sieve runs."""

    CERTIFIED = "certified"
    EXHAUSTIVE = "exhaustive"
    BANDIT = "bandit"


class RadiusName(str, Enum):
    """The bandit's radius."""

    PAPER = "paper"
    SERFLING = "serfling"


PolicyOption = Annotated[
    PolicyName, typer.Option("--policy", help="certified and exhaustive are exact; bandit is the published sieve.")
]
Alpha = Annotated[
    float | None, typer.Option(help="Bandit: scales the radius, in (0, 1].", show_default=str(Bandit().alpha))
]
Delta = Annotated[float | None, typer.Option(help="Bandit: the radius's confidence.", show_default=str(Bandit().delta))]
Radius = Annotated[RadiusName | None, typer.Option(help="Bandit: which radius.", show_default=Bandit().radius)]
Seed = Annotated[int | None, typer.Option(min=0, help="Bandit: of the reveal order.", show_default=str(Bandit().seed))]


def to_policy(
    name: PolicyName,
    alpha: float | None = None,
    delta: float | None = None,
    radius: RadiusName | None = None,
    seed: int | None = None,
) -> Policy:
    """The policy the options name; the bandit's knobs belong to the bandit only.

    >>> to_policy(PolicyName.BANDIT, alpha=0.3)
    Bandit(alpha=0.3, delta=0.01, margin=5, block=4, seed=0, radius='paper')
    """
    knobs = {"alpha": alpha, "delta": delta, "radius": radius and radius.value, "seed": seed}
    given = {knob: value for knob, value in knobs.items() if value is not None}
    if name is PolicyName.BANDIT:
        try:
            return Bandit(**given)  # type: ignore[arg-type]
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
    if given:
        raise typer.BadParameter(f"--{next(iter(given))} belongs to --policy bandit")
    return Certified() if name is PolicyName.CERTIFIED else Exhaustive()
