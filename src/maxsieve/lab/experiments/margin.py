"""How many documents beyond K to rescore."""

from __future__ import annotations

from maxsieve import Bandit
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.experiments.ablation import ablate
from maxsieve.lab.paper import MARGIN
from maxsieve.lab.results import Result
from maxsieve.lab.source import Source

MARGINS = (0, 5, 10)


def run(source: Source, options: Options) -> Result:
    """Margins 0, 5 and 10."""
    return ablate("margin", "margin", {m: Bandit(0.2, margin=m) for m in MARGINS}, {**MARGIN}, source, options)


EXPERIMENT = Experiment("margin", "Bandit with margins of 0, 5 and 10 documents.", run)
