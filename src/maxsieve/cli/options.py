"""Options that several commands share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from maxsieve.cli.console import say
from maxsieve.cli.failures import sentence
from maxsieve.policies import POLICIES
from maxsieve.storage.calibration import calibration_for, most_overlap, queries_needed
from maxsieve.storage.segments import Store
from maxsieve.text.collection.search import on_metadata
from maxsieve.where import to_where

if TYPE_CHECKING:
    from maxsieve.options import Hybrid
    from maxsieve.policies import Calibrated
    from maxsieve.text import Collection

CollectionPath = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line, for scripts.")]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress on standard error: a bar on a terminal, otherwise one line per minute.",
        show_default="a bar always, lines only after a minute",
    ),
]
EncoderName = Annotated[
    str | None,
    typer.Option("--encoder", help="The collection's encoder, if it is not a built-in model.", show_default=False),
]
K = Annotated[int, typer.Option("--k", "-k", min=1, help="How many documents to find.")]
KOfUnits = Annotated[int, typer.Option("--k", "-k", min=1, help="How many documents or passages to find.")]
PerDocument = Annotated[
    int, typer.Option("--per-document", min=1, help="How many of its best passages to show of each document.")
]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Number of threads.", show_default="number of CPUs")]
DEFAULT_DEPTH = 100
RARE = "bandit"
"""The policy whose parameters few people need."""


class PolicyCommand(TyperCommand):
    """A command whose help has the parameters of `Bandit` only together with ``--policy bandit``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Decides which options the help shows, and parses the arguments."""
        spelled = " ".join(args).replace("=", " ")
        for parameter in self.params:
            if (parameter.name or "") in POLICIES[RARE].parameter_names:
                parameter.hidden = f"--policy {RARE}" not in spelled  # type: ignore[attr-defined]
        return super().parse_args(ctx, args)


def add_commands(app: typer.Typer, examples: Mapping[Callable[..., None], str]) -> None:
    """Adds commands, each with an example for its help."""
    for command, example in examples.items():
        app.command(cls=PolicyCommand, epilog=f"Example:  {example}")(command)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces each parameter whose type is a NamedTuple by one option per field of it.

    So several commands can share the same options, and pass them on as one value.
    """
    own = signature(command, eval_str=True)
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in own.parameters.values()
        if hasattr(parameter.annotation, "_field_defaults")
    }
    parameters: list[Parameter] = []
    for parameter in own.parameters.values():
        if (group := groups.get(parameter.name)) is None:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(group, include_extras=True)
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
            for name, default in group._field_defaults.items()
        ]

    def expanded(**given: Any) -> None:
        filled = {name: group(**{field: given.pop(field) for field in group._fields}) for name, group in groups.items()}
        command(**given, **filled)

    return with_parameters(expanded, command, parameters)


def with_parameters(
    run: Callable[..., None], command: Callable[..., None], parameters: list[Parameter]
) -> Callable[..., None]:
    """Gives a function that runs a command the name and the help of the command, and other parameters."""
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = signature(command, eval_str=True).replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


StoreName = Enum("StoreName", {name.upper(): name for name in get_args(Store)}, type=str)  # type: ignore[misc]
"""The type in which vectors are stored."""


class UnitName(str, Enum):
    """What a hit is."""

    DOCUMENT = "document"
    PASSAGE = "passage"


By = Annotated[
    UnitName, typer.Option("--by", help="Find documents, each by its best passage, or passages of any documents.")
]


class FirstStageName(str, Enum):
    """The first stage: it selects the candidates that late interaction ranks."""

    BM25 = "bm25"


FirstStage = Annotated[
    FirstStageName | None, typer.Option(help="Rank only the candidates of this first stage.", show_default=False)
]
HybridOption = Annotated[
    str | None,
    typer.Option(
        "--hybrid",
        metavar="rrf|WEIGHT",
        help="Combine with BM25: by reciprocal rank fusion, or with BM25's weight between 0 and 1.",
        show_default=False,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many candidates the first stage selects, or --hybrid ranks.", show_default=str(DEFAULT_DEPTH)
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


def to_hybrid(given: str | None) -> Hybrid | None:
    """The name of the fusion, or the weight of BM25.

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
        raise typer.BadParameter(f"--hybrid must be rrf, or a weight between 0 and 1, not {given}")
    return weight


def to_filter(given: str | None) -> Any:
    """The filter, parsed from JSON; mistakes in it are reported.

    >>> to_filter('{"year": {"gte": 2020}}')
    {'year': {'gte': 2020}}
    """
    if given is None:
        return None
    try:
        where = json.loads(given)
    except (ValueError, RecursionError) as problem:
        raise typer.BadParameter(f"--where is not valid JSON: {problem}") from None
    try:
        to_where(where)
    except ValueError as problem:
        raise typer.BadParameter(sentence(problem)) from None
    if where is None:
        raise typer.BadParameter("--where is null; a filter is expected")
    return where


def promised(collection: Collection, policy: Calibrated, where: Any) -> Calibrated:
    """The policy, or one with the overlap that the calibration has enough queries for, which is then said.

    With a filter that was not calibrated, the answer is exact.
    """
    check_calibrated(collection, filtered=where is not None)
    calibration = calibration_for(on_metadata(where), collection.index.storage.snapshot.calibrations)
    if calibration is None or calibration.enough_for(policy.target):
        return policy
    possible = most_overlap(calibration.n_queries)
    say(
        f"{collection.path} was calibrated with {calibration.n_queries:,} queries, which is enough for --overlap "
        f"{possible:g}: searching with that; {policy.overlap:g} needs {queries_needed(policy.target):,}"
    )
    return replace(policy, overlap=possible)


def check_calibrated(collection: Collection, *, filtered: bool) -> None:
    """Raises an error that names the missing command, if the collection is not calibrated; ``filtered``: in any way."""
    if not (collection.calibrated or (filtered and collection.index.storage.snapshot.calibrations)):
        raise ValueError(f"{collection.path} is not calibrated: run maxsieve calibrate, with or without --queries FILE")
