"""What both forms of the page are made of: the order of results, what was measured on, what is left out and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from maxsieve.lab.experiments import SUMMARIES
from maxsieve.lab.results import Result, join

TITLE = "Col-Bandit's experiments with maxsieve"
ABOUT = (
    "The experiments of the Col-Bandit paper, and some that it doesn't have, run by the lab of maxsieve. A label like "
    "tab:wallclock_cpu names the paper's table or figure that a table can be laid beside."
)


class Gap(NamedTuple):
    """A part of the paper that is missing from the page."""

    what: str
    labels: tuple[str, ...]
    """Of the paper's tables and figures."""
    why: str


NOT_REPRODUCIBLE = "Not reproducible here"
GAPS = (
    Gap(
        "CPU against GPU",
        ("tab:cpu_vs_a100",),
        "There is no GPU here, and maxsieve has no code for one.",
    ),
    Gap(
        "Jina-ColBERTv2",
        ("tab:main_benchmark_universal_eff_combined", "tab:matryoshka"),
        "Its weights can't be had from a package registry. A checkpoint on disk can be given as --encoder st:FOLDER.",
    ),
    Gap(
        "Granite Vision Embedding 3.2 and REAL-MM-RAG",
        ("fig:pareto_finslides", "tab:per_dataset_eff_overlap_mm_combinedK", "tab:retrieval_real_mm_all"),
        "Neither weights nor pages can be had from a package registry. Embeddings made elsewhere can be given as .npz.",
    ),
    Gap(
        "Corpora of 500,000 to 2.7 million documents: HotpotQA, Quora, NQ",
        ("tab:wallclock_cpu", "tab:dataset_stats"),
        "To embed them on a few CPU cores takes days. How time grows with the corpus is in the experiment scaling.",
    ),
    Gap(
        "The paper's machines: AMD EPYC 7763 and Apple M1 Max",
        ("tab:wallclock_cpu_threads", "tab:m1_neon"),
        "Times belong to the machine named above. Coverage, and speed over exhaustive scoring, can be compared.",
    ),
)


def ordered(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """Results by experiment, in the order of the list of experiments; those of the same experiment as they come."""
    places = {name: place for place, name in enumerate(SUMMARIES)}
    return join(sorted(results, key=lambda result: places.get(result.experiment, len(places))))


def heading(experiment: str) -> str:
    """An experiment's name, and what it is about.

    >>> heading("block")
    'block: Bandit with rounds of 1 to 32 tokens'
    """
    return f"{experiment}: {SUMMARIES[experiment].rstrip('.')}" if experiment in SUMMARIES else experiment


def machines(results: Sequence[Result]) -> list[dict[str, str]]:
    """The machines and versions that results were measured with, each once; one, unless pages were put together."""
    found: list[dict[str, str]] = []
    for result in results:
        one = {**_words(result.facts.get("machine")), **_words(result.facts.get("versions"))}
        one.pop("encoder", None)  # it is among the settings of each result
        if one and one not in found:
            found.append(one)
    return found


def commands(results: Sequence[Result]) -> list[str]:
    """The command lines that made the results, each once."""
    return list(dict.fromkeys(str(result.facts["command"]) for result in results if "command" in result.facts))


def settings(result: Result) -> str:
    """A line below a result: when and with which settings."""
    words = [str(result.facts["date"])] if "date" in result.facts else []
    return ", ".join(words + [f"{name} {value}" for name, value in _words(result.facts.get("settings")).items()])


def _words(facts: Any) -> dict[str, str]:
    given = facts if isinstance(facts, dict) else {}
    return {str(name): str(value) for name, value in given.items() if value is not None}
