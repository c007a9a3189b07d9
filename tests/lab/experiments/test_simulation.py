"""The simulation on exact cells agrees with the specification."""

from __future__ import annotations

import numpy as np
import pytest

from lab.experiments.test_sweeps import rows_of
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.simulation import simulation
from maxsieve.lab.metrics.quality import overlap
from maxsieve.spec import bandit


def test_it_agrees_with_the_specification(tiny_dataset: Dataset) -> None:
    [table] = simulation(tiny_dataset, Options()).tables
    data = tiny_dataset.embedded()
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
