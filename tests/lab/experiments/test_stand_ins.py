"""stand-ins measures what an index does that was calibrated on sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.vectors.structured import Structured
from maxsieve import Calibrated, Index
from maxsieve.lab.embedded import Embedded
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.stand_ins import compared, measured_on
from maxsieve.lab.metrics.quality import overlap

DOCUMENTS, SENTENCES, QUERIES = 300, 40, 30


@pytest.mark.parametrize("store", ["float32", "residual2"])
def test_the_overlap_is_that_of_the_index(store: Any) -> None:
    corpus = Structured(DOCUMENTS, 24, mean_length=20, seed=3)
    documents = list(corpus.documents())
    sentences, queries = [rows[:6] for rows in documents[:SENTENCES]], list(corpus.queries(QUERIES, 6))
    index = Index.build(documents, store=store)
    index.calibrate(sentences, 100, calibrated_on="own sentences")
    data = Embedded("made up", "made up", index, {})
    snapshot = index.storage.snapshot.here
    own = measured_on(data, snapshot, sentences, "own sentences", Options())
    real = measured_on(data, snapshot, queries, "queries", Options())
    for k, target in ((1, 0.9), (10, 0.9), (10, 0.95), (100, 0.95)):
        by_queries, by_sentences, found, means = compared(own, real, k, target, SENTENCES)
        hits = [index.search(query, k, policy=Calibrated(target)) for query in queries]
        assert {one.report.survivors for one in hits} == {by_sentences}, "every draw takes all sentences"
        exact = [index.search(query, k) for query in queries]
        seen = [overlap(one.ids, true.ids) for one, true in zip(hits, exact, strict=True)]
        assert found.value == pytest.approx(np.mean(seen)) == pytest.approx(means.min())
        assert by_queries is not None
    _, by_sentences, found, means = compared(own, real, 10, 0.9, SENTENCES // 2)
    assert len(means) == 200
    assert means.min() < found.value < means.max(), "draws differ"
