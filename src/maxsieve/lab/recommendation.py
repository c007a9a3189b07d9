"""The result of `tune`: the setting, its confidence, and the line of code that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxsieve.lab.metrics.confidence import Mean, difference, samples_needed
from maxsieve.lab.metrics.sentences import FEWEST, interval
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.policies import Bandit, Certified

LEAST_SHARE, LEAST_MILLISECONDS = 0.2, 1.0
"""The least share of `Certified`'s time, and the least time, that must be saved to accept missing hits."""


@dataclass(frozen=True)
class Setting:
    """A policy on the queries that choose: the share of cells that it computes, and the overlap of each query."""

    policy: Bandit
    cost: float
    overlaps: Sequence[float]

    @property
    def overlap(self) -> float:
        """The mean over queries."""
        return float(np.mean(self.overlaps))


@dataclass(frozen=True)
class Look:
    """The check of a setting on the held-out queries."""

    setting: Setting
    overlap: float
    bound: float
    """The lower bound of the overlap, at the requested confidence."""
    coverage: float
    rescored: float


@dataclass(frozen=True)
class Recommendation:
    """The result of `tune`. As text, it says which line of code to use, and why."""

    corpus: str
    encoder: str
    documents: int
    target: float
    k: int
    confidence: float
    choosing: int
    """How many queries chose the setting."""
    held_out: int
    """How many queries verified it."""
    settings: list[Setting]
    looks: list[Look]
    """The settings in the order in which they were checked: the most careful first, up to the first that failed."""
    chosen: Look | None
    certified_times: Sequence[float]
    times: Sequence[float] | None
    """Milliseconds of `Certified` and of the chosen setting, for each query, on one thread."""
    collection: str | None = None
    """The folder of the collection that was searched, as arguments of a command, with ``--encoder`` if necessary; None
    if there is no collection."""

    @property
    def certified_milliseconds(self) -> float:
        """The median time of `Certified`."""
        return float(np.median(self.certified_times))

    @property
    def milliseconds(self) -> float | None:
        """The median time of the chosen setting."""
        return None if self.times is None else float(np.median(self.times))

    @property
    def saving(self) -> Mean | None:
        """Milliseconds per query that the chosen setting saves: the mean, and its 95 % interval."""
        return None if self.times is None else difference(self.certified_times, self.times)

    @property
    def needed(self) -> float:
        """Milliseconds that it must save: a fifth of the mean time of `Certified`, and at least one."""
        return max(LEAST_SHARE * float(np.mean(self.certified_times)), LEAST_MILLISECONDS)

    @property
    def policy(self) -> Bandit | Certified:
        """The policy to use: `Certified`, which is exact, unless the chosen setting certainly saves enough time.

        The whole 95 % interval of the saving must be at or above `needed`, so that noise does not decide.
        """
        saving = self.saving
        worth_it = saving is not None and saving.count >= FEWEST and saving.low >= self.needed
        return self.chosen.setting.policy if self.chosen is not None and worth_it else Certified()

    @property
    def line(self) -> str:
        """The line of code to use."""
        policy = f", policy=ms.{_knobs(self.policy)}" if isinstance(self.policy, Bandit) else ""
        return f"index.search(query, k={self.k}{policy})"

    @property
    def command(self) -> str | None:
        """The command to use. It prompts for queries on a terminal, and otherwise reads them from standard input."""
        if self.collection is None:
            return None
        policy, plain = self.policy, f"maxsieve search {self.collection} -k {self.k}"
        if isinstance(policy, Certified):
            return plain
        return f"{plain} --policy bandit --alpha {policy.alpha:g} --margin {policy.margin}"

    @property
    def advice(self) -> str:
        """The reason for that line, in one or two sentences."""
        if self.chosen is None:
            return f"{self._failure()} Use Certified, the default: it is exact."
        name, figures = _knobs(self.chosen.setting.policy), self.chosen
        shown = (
            f"{name} finds {figures.overlap:.2%} of the true top {self.k} on {self.held_out} held-out queries, at "
            f"least {figures.bound:.2%} with {self.confidence:.0%} confidence, in {self.milliseconds:.2f} ms with "
            f"{figures.coverage:.0%} of the cells revealed"
        )
        certified = f"Certified, which is exact, takes {self.certified_milliseconds:.2f} ms"
        assert self.saving is not None
        saved = f"a query saves {self.saving.value:.2f} ms {interval(self.saving, '.2f')} on average"
        rule = f"{LEAST_SHARE:.0%} of Certified's time and at least {LEAST_MILLISECONDS:g} ms"
        if self.policy != Certified():
            return f"{shown}; {certified}. {saved.capitalize()}, which is surely more than {rule}."
        if self.saving.count < FEWEST:
            return f"{shown}. But {certified}, and {self.saving.count} timed queries show no saving: use that."
        return f"{shown}. But {certified}, and {saved}, not surely {rule}: use Certified."

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

    def result(self) -> ExperimentResult:
        """A `ExperimentResult` of the lab, with a table of the settings that were checked."""
        looks = {look.setting.policy: look for look in self.looks}
        rows: list[list[Cell]] = []
        for setting in sorted(self.settings, key=lambda setting: setting.cost):
            look = looks.get(setting.policy)
            verified: list[Cell] = (
                [None, None, None] if look is None else [look.overlap, look.bound, look.bound >= self.target]
            )
            rows.append([setting.policy.alpha, setting.policy.margin, setting.cost, setting.overlap, *verified])
        columns = [Column("alpha", "g"), Column("margin"), Column("cost", ".1%"), Column("overlap", ".2%")]
        columns += [Column("held-out overlap", ".2%"), Column("at least", ".2%"), Column("shown")]
        return ExperimentResult(
            "tune",
            self.corpus,
            f"The cheapest Bandit that finds {self.target:.2%} of the true top {self.k}: chosen by {self.choosing} "
            f"queries, verified on {self.held_out} others with {self.confidence:.0%} confidence; "
            f"{self.documents:,} documents, {self.encoder}. Cost is the share of cells computed.",
            [Table("Settings, the cheapest first", columns, rows)],
            remarks=[f"`{line}`" for line in (self.line, self.command) if line] + [self.advice],
        )


def _knobs(policy: Bandit) -> str:
    return f"Bandit(alpha={policy.alpha:g}, margin={policy.margin})"
