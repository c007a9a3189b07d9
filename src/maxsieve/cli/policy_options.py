"""``--policy``, and an option for each parameter of a policy, as the registry has them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.failures import sentence
from maxsieve.cli.options import RARE, with_parameters
from maxsieve.policies import POLICIES, PolicyKind, policy_named
from maxsieve.policies import Parameter as PolicyParameter

if TYPE_CHECKING:
    PolicyName = Enum
else:
    PolicyName = Enum("PolicyName", {name.upper(): name for name in POLICIES}, type=str)

DEFAULT = next(iter(POLICIES))
SUMMARY = (
    "How to search. "
    + "; ".join(f"{kind.name}: {kind.summary}" for kind in POLICIES.values())
    + f". --policy {RARE} --help shows the options of {RARE}."
)


def with_policy(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameter ``policy`` is a policy, as one with the options from which it is made.

    If the default of that parameter is None, nothing has been decided if no option is given; ``--exact`` decides.
    """
    own = signature(command, eval_str=True)
    undecided = own.parameters["policy"].default is None
    parameters: list[Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == "policy":
            parameters += _options(undecided=undecided)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    def run(**given: Any) -> None:
        name = getattr(given.pop("policy"), "value", None)
        if given.pop("exact", False):
            if name not in (None, DEFAULT):
                raise typer.BadParameter(f"give --exact or --policy {name}, not both")
            name = DEFAULT
        values = {knob: given.pop(knob) for kind in POLICIES.values() for knob in kind.parameter_names}
        command(**given, policy=to_policy(name, values))

    return with_parameters(run, command, parameters)


def to_policy(name: str | None, values: dict[str, Any]) -> Any:
    """The policy that the options describe; None without a name. An option of another policy is an error.

    >>> to_policy("bandit", {"alpha": 0.3, "overlap": None})
    Bandit(alpha=0.3, delta=0.01, margin=5, block=4, seed=0, radius='paper')
    """
    given = {knob: getattr(value, "value", value) for knob, value in values.items() if value is not None}
    for owner in POLICIES.values():
        if owner.name != name and (others := [knob for knob in given if knob in owner.parameter_names]):
            raise typer.BadParameter(f"--{others[0]} works only with --policy {owner.name}")
    if name is None:
        return None
    try:
        return policy_named(name, given)
    except ValueError as problem:
        raise typer.BadParameter(sentence(problem)) from None


def _options(*, undecided: bool) -> list[Parameter]:
    """The option of the policy, and one for each parameter of each policy."""
    shown = f"{DEFAULT}; in a large collection that was calibrated, calibrated" if undecided else True
    policy = Annotated[PolicyName | None, typer.Option("--policy", help=SUMMARY, show_default=shown)]
    default = None if undecided else PolicyName(DEFAULT)
    exact = Annotated[bool, typer.Option("--exact", help=f"The same as --policy {DEFAULT}: always the exact answer.")]
    return [
        Parameter("policy", Parameter.KEYWORD_ONLY, default=default, annotation=policy),
        *([Parameter("exact", Parameter.KEYWORD_ONLY, default=False, annotation=exact)] if undecided else []),
        *(_option(kind, knob) for kind in POLICIES.values() for knob in kind.parameters),
    ]


def _option(kind: PolicyKind, knob: PolicyParameter) -> Parameter:
    limits = ""
    if knob.type is float:
        limits = f", in (0, {1 if knob.most is None else knob.most:g}{')' if knob.open else ']'}"
    option = typer.Option(
        f"--{knob.name}",
        help=f"{kind.policy.__name__}: {knob.help}{limits}.",
        show_default=str(knob.default),
        min=knob.least if knob.type is int else None,
    )
    make_enum: Any = Enum
    choices = {choice.upper(): choice for choice in knob.choices}
    value: Any = make_enum(knob.name, choices, type=str) if choices else knob.type
    return Parameter(knob.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[value | None, option])
