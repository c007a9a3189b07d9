"""How many query tokens to reveal in a round."""

from __future__ import annotations

from maxsieve import Bandit
from maxsieve.lab.experiment import Experiment, Options
from maxsieve.lab.experiments.ablation import ablate
from maxsieve.lab.results import Result
from maxsieve.lab.source import Source

BLOCKS = (1, 2, 4, 8, 16, 32)


def run(source: Source, options: Options) -> Result:
    """Blocks of 1 to 32 tokens."""
    return ablate("block", "block", {size: Bandit(0.2, block=size) for size in BLOCKS}, {}, source, options)


EXPERIMENT = Experiment("block", "Bandit with rounds of 1 to 32 tokens.", run)
