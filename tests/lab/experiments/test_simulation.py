"""The simulation on exact cells is the specification's."""

from __future__ import annotations

import numpy as np
import pytest

from lab.experiments.test_sweeps import rows_of
from maxsieve.lab.experiment import Options
from maxsieve.lab.experiments import simulation
from maxsieve.lab.metrics.fidelity import overlap
from maxsieve.lab.source import Source
from maxsieve.spec import bandit


def test_it_agrees_with_the_specification(tiny_source: Source) -> None:
    [table] = simulation.run(tiny_source, Options()).tables
    data = tiny_source.embedded()
    ids = [str(one) for one in data.index.ids]
    documents = [data.vectors(one) for one in ids]
    for row in rows_of(table)[:3]:
        k, alpha = row["K"], row["alpha"]
        overlaps, coverages = [], []
        for seed, (query, rows) in enumerate(data.queries.items()):
            kept = [place for place, one in enumerate(ids) if one not in data.exclusions.get(query, [])]
            answer = bandit(rows, [documents[place] for place in kept], k, alpha=alpha, seed=seed, reveal="exact")
            truth = data.truth(k)[query]
            overlaps.append(overlap([ids[kept[place]] for place in answer.positions], truth))
            coverages.append(answer.coverage)
        assert row["overlap, exact cells"] == pytest.approx(np.mean(overlaps))
        assert row["coverage, exact cells"] == pytest.approx(np.mean(coverages), rel=0.02)
