"""Which sieve to run, with its knobs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Literal, TypeAlias, get_args

from maxsieve import _core
from maxsieve.common.checks import as_count

Radius: TypeAlias = Literal["paper", "serfling"]


@dataclass(frozen=True)
class Certified:
    """The default: the exhaustive answer, proven, from a quantised scan and canonical scores of few documents.

    >>> Certified()
    Certified()
    """


@dataclass(frozen=True)
class Exhaustive:
    """Every document scored canonically: what the others are measured against.

    >>> Exhaustive()
    Exhaustive()
    """


@dataclass(frozen=True)
class Calibrated:
    """Far faster: two bytes a token choose the documents to follow up, and `Certified` finds the best of those.

    overlap
        the share of the true top k that the answer has on average, over queries like those that the index was
        calibrated on (`Index.calibrate`), in (0, 1).

    >>> Calibrated()
    Calibrated(overlap=0.99)
    """

    overlap: float = 0.99

    def __post_init__(self) -> None:
        _check_number(self, "overlap")
        if not 0 < self.overlap < 1:
            raise ValueError(f"overlap must lie in (0, 1), not {self.overlap}; Certified() finds all of it")

    @property
    def target(self) -> Fraction:
        """The overlap as it was written: 0.9 is nine tenths, not the float nearest to it."""
        return Fraction(repr(self.overlap))


@dataclass(frozen=True)
class Bandit:
    """The paper's policy: reveal query tokens in blocks and drop documents whose interval falls below the K-th best.

    alpha
        scales the radius, in (0, 1]: smaller drops sooner and misses more.
    delta
        the radius's confidence, in (0, 1).
    margin
        stop revealing when at most ``k + margin`` documents are left; all of those are rescored.
    block
        query tokens revealed in a round.
    seed
        of the reveal order, 0 to 2^64 - 1.
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
    """Makes a float of a knob that is a number; refuses any other."""
    value = getattr(policy, name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    with suppress(OverflowError):  # beyond all floats is out of range, too
        object.__setattr__(policy, name, float(value))


Policy: TypeAlias = Certified | Calibrated | Bandit | Exhaustive

CERTIFIED = Certified()
"""The default."""

MANY = 2**40
"""More documents or tokens than there ever are: the core counts in 64 bits, Python without end."""


def to_native(policy: object) -> _core.Policy:
    """The engine's own form of a policy; that of `Calibrated` depends on the index (calibrating.py)."""
    if type(policy) is Certified:
        return _core.Certified()
    if type(policy) is Exhaustive:
        return _core.Exhaustive()
    if type(policy) is Bandit:
        margin, block = min(policy.margin, MANY), min(policy.block, MANY)
        return _core.Bandit(policy.alpha, policy.delta, margin, block, policy.seed, policy.radius)
    raise TypeError(f"policy must be Certified(), Calibrated(), Bandit() or Exhaustive(), not {policy!r}")
