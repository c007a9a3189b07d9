"""Search policies and their parameters."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Literal, TypeAlias, get_args

from maxsieve import _core
from maxsieve.common.checks import as_count
from maxsieve.errors import Argument, hinted

Radius: TypeAlias = Literal["paper", "serfling"]


@dataclass(frozen=True)
class Certified:
    """The default: the exact answer, proven, from a quantised scan and canonical scores of a few documents.

    >>> Certified()
    Certified()
    """


@dataclass(frozen=True)
class Exhaustive:
    """Scores every document canonically. It is the reference for the other policies.

    >>> Exhaustive()
    Exhaustive()
    """


@dataclass(frozen=True)
class Calibrated:
    """Much faster: two bytes per token select the documents to follow up, and `Certified` finds the best of those.

    overlap
        the share of the true top k that the answer contains on average, in (0, 1), over queries like those that the
        index was calibrated on (`Index.calibrate`).

    >>> Calibrated()
    Calibrated(overlap=0.99)
    """

    overlap: float = 0.99

    def __post_init__(self) -> None:
        _check_number(self, "overlap")
        if not 0 < self.overlap < 1:
            wrong = ValueError(f"overlap must lie in (0, 1), not {self.overlap}")
            raise hinted(wrong, "; {} is exact", Argument("policy", Certified()))

    @property
    def target(self) -> Fraction:
        """The overlap as a decimal fraction: 0.9 is nine tenths, not the nearest float."""
        return Fraction(repr(self.overlap))


@dataclass(frozen=True)
class Bandit:
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

    alpha: float = 0.2
    delta: float = 0.01
    margin: int = 5
    block: int = 4
    seed: int = 0
    radius: Radius = "paper"

    def __post_init__(self) -> None:
        _check_number(self, "alpha")
        _check_number(self, "delta")
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha must lie in (0, 1], not {self.alpha}")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie in (0, 1), not {self.delta}")
        object.__setattr__(self, "margin", as_count(self.margin, "margin", at_least=0))
        object.__setattr__(self, "block", as_count(self.block, "block", at_least=1))
        object.__setattr__(self, "seed", as_count(self.seed, "seed", at_least=0, at_most=2**64 - 1))
        if self.radius not in get_args(Radius):
            raise ValueError(f"radius must be 'paper' or 'serfling', not {self.radius!r}")


def _check_number(policy: object, name: str) -> None:
    """Converts a parameter to float; refuses a value that is not a number."""
    value = getattr(policy, name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    with suppress(OverflowError):  # too large for a float: the range check refuses it
        object.__setattr__(policy, name, float(value))


@dataclass(frozen=True)
class CalibratedDepth:
    """`Calibrated` in one index: how many documents, by tier 0, are followed up.

    ``mean_length`` is that of all documents that can be hits, in tokens.
    """

    depth: int
    mean_length: float


Policy: TypeAlias = Certified | Calibrated | Bandit | Exhaustive

FixedPolicy: TypeAlias = Certified | CalibratedDepth | Bandit | Exhaustive
"""A policy whose parameters do not depend on an index."""

CERTIFIED = Certified()
"""The default."""

MOST = 2**40
"""More documents or tokens than any index has. Larger numbers are reduced to it: the core has 64-bit integers."""


def to_native(policy: object) -> _core.Policy:
    """The engine's form of a policy. For `Calibrated`, calibrating.py makes a `CalibratedDepth` first."""
    if type(policy) is Certified:
        return _core.Certified()
    if type(policy) is Exhaustive:
        return _core.Exhaustive()
    if type(policy) is CalibratedDepth:
        return _core.Calibrated(policy.depth, policy.mean_length)
    if type(policy) is Bandit:
        margin, block = min(policy.margin, MOST), min(policy.block, MOST)
        return _core.Bandit(policy.alpha, policy.delta, margin, block, policy.seed, policy.radius)
    raise TypeError(f"policy must be Certified(), Calibrated(), Bandit() or Exhaustive(), not {policy!r}")
