"""Search policies and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from maxsieve import _core
from maxsieve.common.checks import as_count, check_choice
from maxsieve.errors import Argument, hinted

Radius: TypeAlias = Literal["paper", "serfling"]
RADII: tuple[str, ...] = get_args(Radius)

LARGEST_SEED = 2**64 - 1

MOST = 2**40
"""More documents or tokens than any index has. Larger numbers are reduced to it: the core has 64-bit integers."""


class Parameter(NamedTuple):
    """A parameter of a policy: its type, default and limits, for every place that reads parameters.

    A float is above ``least``, and at most ``most``, or below it if it is ``open``. An int includes both.
    """

    name: str
    type: type[float] | type[int] | type[str]
    default: Any
    help: str
    least: float | None = None
    most: float | None = None
    open: bool = False
    choices: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        """The value with the right type; an error if it is not allowed. None is allowed if it is the default."""
        if value is None and self.default is None:
            return None
        if self.type is str:
            check_choice(value, self.name, self.choices)
            return value
        if self.type is int:
            at_most = None if self.most is None else int(self.most)
            return as_count(value, self.name, at_least=int(self.least or 0), at_most=at_most)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{self.name} must be a number, not {value!r}")
        number: Any = value
        with suppress(OverflowError):  # too large for a float: the range check refuses it
            number = float(value)
        least, most = self.least or 0, 1 if self.most is None else self.most
        if not (least < number < most or (number == most and not self.open)):
            bracket = ")" if self.open else "]"
            raise ValueError(f"{self.name} must lie in ({least:g}, {most:g}{bracket}, not {value}")
        return number


def _parameter(default: Any, help: str, **limits: Any) -> Any:  # noqa: A002 - as everywhere for such a text
    return field(default=default, metadata={"help": help, **limits})


class _Checked:
    """Checks all parameters when a policy is made."""

    def __post_init__(self) -> None:
        for parameter in parameters_of(self):
            object.__setattr__(self, parameter.name, parameter.check(getattr(self, parameter.name)))


def parameters_of(policy: Any) -> tuple[Parameter, ...]:
    """The parameters of a policy, in order.

    >>> [parameter.name for parameter in parameters_of(Bandit)]
    ['alpha', 'delta', 'margin', 'block', 'seed', 'radius']
    """
    return tuple(
        Parameter(field.name, default=field.default, **{"type": type(field.default), **field.metadata})
        for field in fields(policy)
        if field.default is not MISSING
    )


@dataclass(frozen=True)
class Certified(_Checked):
    """The default: the exact answer, proven, from a quantised scan and canonical scores of a few documents.

    >>> Certified()
    Certified()
    """


@dataclass(frozen=True)
class Exhaustive(_Checked):
    """Scores every document canonically. It is the reference for the other policies.

    >>> Exhaustive()
    Exhaustive()
    """


@dataclass(frozen=True)
class Calibrated(_Checked):
    """Much faster: lists of documents select those to follow up, and `Certified` finds the best of them.

    overlap
        the share of the true top k that the answer contains on average, in (0, 1), over queries like those that the
        index was calibrated on (`Index.calibrate`).
    share
        if given, in (0, 1): the answers to this share of the queries contain at least ``overlap`` of the true top k.
        ``Calibrated(0.9, share=0.95)`` finds at least 9 of 10 for 95 % of the queries.

    >>> Calibrated()
    Calibrated(overlap=0.99, share=None)
    """

    overlap: float = _parameter(0.99, "the share of the exact answer to find on average", open=True)
    share: float | None = _parameter(None, "find that overlap for this share of the queries", type=float, open=True)

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except ValueError as wrong:
            raise hinted(wrong, "; {} is exact", Argument("policy", CERTIFIED)) from None

    @property
    def target(self) -> Fraction:
        """The overlap as a decimal fraction: 0.9 is nine tenths, not the nearest float."""
        return Fraction(repr(self.overlap))

    @property
    def tail(self) -> Fraction | None:
        """The share as a decimal fraction, or None."""
        return None if self.share is None else Fraction(repr(self.share))


@dataclass(frozen=True)
class Bandit(_Checked):
    """The paper's policy: reveals query tokens in blocks, and drops documents whose interval is below the K-th best.

    alpha
        scales the radius, in (0, 1]: a smaller one drops documents earlier and misses more.
    delta
        the radius's error probability, in (0, 1).
    margin
        revealing stops when at most ``k + margin`` documents are left; all of those are rescored.
    block
        query tokens revealed in a round.
    seed
        random seed of the reveal order, 0 to 2^64 - 1.
    radius
        ``"paper"``: as published, no proven bound; ``"serfling"``: the full inequality, wider; at ``alpha=1`` the
        answer is the exhaustive one with probability at least ``1 - delta`` (docs/theory.md).

    >>> Bandit(alpha=0.3)
    Bandit(alpha=0.3, delta=0.01, margin=5, block=4, seed=0, radius='paper')
    """

    alpha: float = _parameter(0.2, "scales the radius")
    delta: float = _parameter(0.01, "the error probability of the radius", open=True)
    margin: int = _parameter(5, "it may stop when k + margin documents are left", least=0)
    block: int = _parameter(4, "query tokens revealed in a round", least=1)
    seed: int = _parameter(0, "random seed of the reveal order", least=0, most=LARGEST_SEED)
    radius: Radius = _parameter("paper", "which radius", choices=RADII)  # noqa: RUF009 - a field


@dataclass(frozen=True)
class CalibratedDepth:
    """`Calibrated` in one index: how many documents are followed up, by which walk of lists (None: tier 0).

    ``mean_length`` is that of all documents that can be hits, in tokens. Documents from the number ``since`` on, in
    insertion order, are all followed up: they were added after the calibration.
    """

    depth: int
    mean_length: float
    walk: tuple[int, int] | None = None
    since: int = 2**62


Policy: TypeAlias = Certified | Calibrated | Bandit | Exhaustive

FixedPolicy: TypeAlias = Certified | CalibratedDepth | Bandit | Exhaustive
"""A policy whose parameters do not depend on an index."""

CERTIFIED = Certified()
"""The default."""


class PolicyKind(NamedTuple):
    """A policy by name: what the command line, HTTP, the page, the lab and the documents say of it."""

    name: str
    policy: type[Certified | Calibrated | Bandit | Exhaustive]
    guarantee: str
    summary: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters."""
        return parameters_of(self.policy)

    @property
    def parameter_names(self) -> list[str]:
        """The names of its parameters."""
        return [parameter.name for parameter in self.parameters]


POLICIES = {
    kind.name: kind
    for kind in (
        PolicyKind("certified", Certified, "exact", "exact, from a scan of codes and the scores of few documents"),
        PolicyKind("calibrated", Calibrated, "calibrated", "most of the exact answer, much faster, after calibrating"),
        PolicyKind("bandit", Bandit, "none, or pac", "the published algorithm, Col-Bandit"),
        PolicyKind("exhaustive", Exhaustive, "exact", "exact, by scoring every document"),
    )
}
"""Every policy, in the order in which they are offered. A new policy is an entry here."""

ALIASES = {"exact": "certified"}
"""Other names."""


def policy_named(name: str, parameters: Mapping[str, Any] | None = None) -> Policy:
    """A policy by its name, with some of its parameters.

    >>> policy_named("bandit", {"alpha": 0.3})
    Bandit(alpha=0.3, delta=0.01, margin=5, block=4, seed=0, radius='paper')
    """
    check_choice(name, "policy", (*POLICIES, *ALIASES))
    kind = POLICIES[ALIASES.get(name, name)]
    if unknown := [given for given in parameters or {} if given not in kind.parameter_names]:
        owners = [other.name for other in POLICIES.values() if unknown[0] in other.parameter_names]
        where = f"works only with the policy {owners[0]}" if owners else "is not a parameter of any policy"
        raise ValueError(f"{unknown[0]} {where}")
    return kind.policy(**parameters or {})


def to_policy(policy: object) -> Policy:
    """A policy, from an object, a name, or None for the default.

    >>> to_policy("calibrated")
    Calibrated(overlap=0.99, share=None)
    """
    if policy is None:
        return CERTIFIED
    if isinstance(policy, (Certified, Calibrated, Bandit, Exhaustive)):
        return policy
    if isinstance(policy, str):
        return policy_named(policy)
    raise TypeError(f"policy must be Certified(), Calibrated(), Bandit(), Exhaustive() or a name, not {policy!r}")


def to_native(policy: FixedPolicy, added: _core.Candidates | None = None) -> _core.Policy:
    """The engine's form of a policy. For `Calibrated`, calibrated.py makes a `CalibratedDepth` first.

    ``added`` are the documents that `CalibratedDepth` follows up in any case.
    """
    if isinstance(policy, Certified):
        return _core.Certified()
    if isinstance(policy, Exhaustive):
        return _core.Exhaustive()
    if isinstance(policy, CalibratedDepth):
        return _core.Calibrated(policy.depth, policy.mean_length, policy.walk, added)
    margin, block = min(policy.margin, MOST), min(policy.block, MOST)
    return _core.Bandit(policy.alpha, policy.delta, margin, block, policy.seed, policy.radius)
