"""What `tune` found: the setting, how sure it is, and what to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxsieve.lab.metrics.confidence import samples_needed
from maxsieve.lab.results import Cell, Column, Result, Table
from maxsieve.policies import Bandit, Certified


@dataclass(frozen=True)
class Setting:
    """A policy on the queries to choose by: the share of cells it computes, and each query's overlap."""

    policy: Bandit
    cost: float
    overlaps: Sequence[float]

    @property
    def overlap(self) -> float:
        """The mean over queries."""
        return float(np.mean(self.overlaps))


@dataclass(frozen=True)
class Look:
    """A setting on the queries held out."""

    setting: Setting
    overlap: float
    bound: float
    """What the overlap reaches, with the confidence asked for."""
    coverage: float
    rescored: float


@dataclass(frozen=True)
class Recommendation:
    """The answer of `tune`; printed, it says which line of code to use and why."""

    corpus: str
    encoder: str
    documents: int
    target: float
    k: int
    confidence: float
    choosing: int
    """Queries the setting was chosen by."""
    held_out: int
    """Queries it was verified on."""
    settings: list[Setting]
    looks: list[Look]
    """In the order in which they were tried: the most careful first, up to the first that failed."""
    chosen: Look | None
    certified_milliseconds: float
    milliseconds: float | None
    """Of the chosen setting; both are medians on one thread."""

    @property
    def policy(self) -> Bandit | Certified:
        """What to use: the chosen setting if it is faster than `Certified`, which is exact."""
        if self.chosen is None or self.milliseconds is None or self.milliseconds >= self.certified_milliseconds:
            return Certified()
        return self.chosen.setting.policy

    @property
    def line(self) -> str:
        """The line of code to use."""
        return f"index.search(query, k={self.k}{_argument(self.policy)})"

    @property
    def advice(self) -> str:
        """Why that line, in a sentence or two."""
        if self.chosen is None:
            return f"{self._failure()} Use Certified, the default: it is exact."
        name, figures = _knobs(self.chosen.setting.policy), self.chosen
        shown = (
            f"{name} finds {figures.overlap:.2%} of the true top {self.k} on {self.held_out} held-out queries, at "
            f"least {figures.bound:.2%} with {self.confidence:.0%} confidence, in {self.milliseconds:.2f} ms with "
            f"{figures.coverage:.0%} of the cells revealed"
        )
        certified = f"Certified, which is exact, takes {self.certified_milliseconds:.2f} ms"
        return f"{shown}; {certified}." if self.policy != Certified() else f"{shown}. But {certified}: use that."

    def _failure(self) -> str:
        needed = samples_needed(self.target, self.confidence)
        reach = f"an overlap of {self.target:.2%} with {self.confidence:.0%} confidence"
        if needed > self.held_out:
            more = f"it takes {needed:,}" if needed < float("inf") else "no number of them does"
            return f"{self.held_out} held-out queries can't show {reach}, even if every answer is right: {more}."
        if not self.looks:
            return f"No setting reaches an overlap of {self.target:.2%} on the {self.choosing} queries to choose by."
        best = self.looks[0]
        return (
            f"No setting is shown to reach {reach}: the most careful, {_knobs(best.setting.policy)}, finds "
            f"{best.overlap:.2%} on {self.held_out} held-out queries, which shows {best.bound:.2%}."
        )

    def __str__(self) -> str:
        return f"{self.line}\n{self.advice}"

    def result(self) -> Result:
        """As a result of the lab, with a table of what was tried."""
        looks = {look.setting.policy: look for look in self.looks}
        rows: list[list[Cell]] = []
        for setting in sorted(self.settings, key=lambda one: one.cost):
            look = looks.get(setting.policy)
            verified: list[Cell] = (
                [None, None, None] if look is None else [look.overlap, look.bound, look.bound >= self.target]
            )
            rows.append([setting.policy.alpha, setting.policy.margin, setting.cost, setting.overlap, *verified])
        columns = [Column("alpha", "g"), Column("margin"), Column("cost", ".1%"), Column("overlap", ".2%")]
        columns += [Column("held-out overlap", ".2%"), Column("at least", ".2%"), Column("shown")]
        return Result(
            "tune",
            self.corpus,
            f"The cheapest Bandit that finds {self.target:.2%} of the true top {self.k}: chosen by {self.choosing} "
            f"queries, verified on {self.held_out} others with {self.confidence:.0%} confidence; "
            f"{self.documents:,} documents, {self.encoder}. Cost is the share of cells computed.",
            [Table("Settings, the cheapest first", columns, rows)],
            remarks=[f"`{self.line}`", self.advice],
        )


def _argument(policy: Bandit | Certified) -> str:
    return f", policy=ms.{_knobs(policy)}" if isinstance(policy, Bandit) else ""


def _knobs(policy: Bandit) -> str:
    return f"Bandit(alpha={policy.alpha:g}, margin={policy.margin})"
