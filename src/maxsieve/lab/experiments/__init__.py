"""The experiments by name, and the options that they share.

A module is imported when one of its experiments is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count

if TYPE_CHECKING:
    from maxsieve.lab.dataset import Dataset
    from maxsieve.lab.results import ExperimentResult

SUMMARIES = {
    "pareto": "Overlap@K against coverage, for Bandit and the paper's baselines.",
    "efficiency": "Coverage needed for 90 % and 95 % of exhaustive scoring's figures.",
    "wallclock": "Milliseconds of every policy, and the 100/coverage rule.",
    "k-sensitivity": "Time, coverage and overlap for K from 5 to 1,000.",
    "alpha-guidance": "Coverage and overlap of each alpha, over seeds.",
    "margin": "Bandit with margins of 0, 5 and 10 documents.",
    "block": "Bandit with rounds of 1 to 32 tokens.",
    "overhead": "Shares of kernel, elimination and rescore in a query's time.",
    "effectiveness": "Judged quality kept at 20 % and 40 % coverage.",
    "encoders": "The sieve's figures for full and for reduced vectors.",
    "retrieval": "nDCG@10 of what a collection is by default, of BM25, one vector and hybrid search.",
    "matryoshka": "Bandit on vectors cut to half their dimensions.",
    "pooling": "Ward token pooling: the loss by pooling and the loss by elimination.",
    "simulation": "The engine's Bandit beside a simulation on exact cells.",
    "quantisers": "Int8 codes by the largest value or clipped at a percentile.",
    "miss-rates": "Miss rates against delta, and whether certificates hold.",
    "tiers": "Overlap against nanoseconds a token, for every policy.",
    "guarantee": "How often Calibrated keeps the overlap it promises, over 200 splits of the queries.",
    "stand-ins": "What real queries find after calibrating on sentences of the documents.",
    "ageing": "What added and deleted documents do to a calibration and to a codebook.",
    "stores": "nDCG@10 against bytes a token, by dimensions, store and pooling.",
    "scaling": "Time and memory against N, tokens, T, K, d and threads.",
}
"""All experiments in the order of a report, with summaries. Nothing is imported for them, so that help is fast."""

FILES = {
    "effectiveness": "efficiency",
    "k-sensitivity": "latency",
    "overhead": "latency",
    "alpha-guidance": "knobs",
    "margin": "knobs",
    "block": "knobs",
    "encoders": "retrieval",
}
"""The module of each experiment that is not in a module of its own name. Its function always has its name."""


Run: TypeAlias = "Callable[[Dataset, Options], ExperimentResult]"


@dataclass(frozen=True)
class Options:
    """The options of every experiment."""

    queries: int | None = None
    """How many of the judged queries to use; None: all, or the number of ``quick``."""
    threads: int | None = None
    """Threads for work that is not timed; timed runs set their own."""
    quick: bool = False
    """Fewer queries and settings, for a quick look."""
    progress: bool = False

    QUICK_QUERIES = 20

    @property
    def count(self) -> int | None:
        """How many queries to run."""
        return self.QUICK_QUERIES if self.queries is None and self.quick else self.queries

    @property
    def cores(self) -> int:
        """Threads for work that is not timed."""
        return thread_count(self.threads)

    def bar(self, description: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar, if wanted."""
        return progress_bar(description, total, shown=self.progress)


def find(name: str) -> Run:
    """The function that runs the experiment of that name.

    >>> find("pareto").__name__
    'pareto'
    """
    if name not in SUMMARIES:
        raise KeyError(f"there is no experiment {name!r}; the experiments are {', '.join(SUMMARIES)}")
    function = name.replace("-", "_")
    module = import_module(f"{__name__}.{FILES.get(name, function)}")
    run: Run = getattr(module, function)
    return run
