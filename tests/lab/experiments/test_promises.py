"""guarantee, ageing and tiers, compared with the index and the specification."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.vectors.structured import Structured
from lab.experiments.test_sweeps import rows_of
from lab.support import save_vectors
from maxsieve import Calibrated, Certified, Exhaustive, Index
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded, ensure_codebook, to_strings
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.ageing import ageing, old_ranks
from maxsieve.lab.experiments.guarantee import guarantee, kept, ranks_for, ranks_of
from maxsieve.lab.experiments.tiers import halves, tiers
from maxsieve.lab.metrics.quality import overlap
from maxsieve.storage.calibration import Calibration

DOCUMENTS, QUERIES = 300, 44
QUICK = Options(quick=True, queries=QUERIES, threads=2)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Documents of which 256 centroids miss some, and enough queries to promise 0.95."""
    corpus = Structured(DOCUMENTS, 24, mean_length=20, seed=3)
    documents, queries = list(corpus.documents()), corpus.queries(QUERIES, 6)
    path: Path = tmp_path_factory.mktemp("asked") / "asked.npz"
    save_vectors(path, documents, queries)
    return Dataset.of(path)


@pytest.fixture(scope="module")
def data(asked: Dataset) -> Embedded:
    made = asked.embedded()
    return made.with_documents(made.ids)


@pytest.fixture(scope="module")
def ranks(data: Embedded) -> Calibration:
    data.index.train_codebook()
    return ranks_of(data.index.storage.snapshot, list(data.queries.values()), QUICK)


def test_a_split_is_what_the_index_does(data: Embedded, ranks: Calibration) -> None:
    """Calibrated on one half, the index finds as many true hits of the other half as the ranks say."""
    found = kept(ranks, ranks, 10, 0.9, 3)
    rng = np.random.default_rng(0)
    queries = list(data.queries.values())
    for said, deep in zip(found.overlaps, found.depths, strict=True):
        order = rng.permutation(QUERIES)
        data.index.calibrate([queries[i] for i in order[: QUERIES // 2]], 100)
        seen = []
        for i in order[QUERIES // 2 :]:
            hits = data.index.search(queries[i], 10, policy=Calibrated(0.9))
            assert hits.report.survivors == deep
            seen.append(overlap(to_strings(hits), to_strings(data.index.search(queries[i], 10))))
        assert np.mean(seen) == pytest.approx(said)
    assert min(found.overlaps) < 1, "nothing was missed, so that nothing was tested"


@pytest.mark.parametrize("store", ["float32", "residual2"])
def test_what_is_measured_is_what_the_index_answers(data: Embedded, store: Any) -> None:
    """Also in a store that rotates its vectors, and so its queries."""
    made = data.with_documents(data.ids, store=store)
    ensure_codebook(made.index)
    snapshot, queries = made.index.storage.snapshot.here, list(made.queries.values())[:5]
    found = ranks_of(snapshot, queries, QUICK, 20)
    for query, ids in zip(queries, found.hits["documents"].ids or (), strict=True):
        hits = made.index.search(query, len(ids), policy=Exhaustive())
        assert ids == hits.ids
        scores = dict(zip(made.ids, made.scores(query).tolist(), strict=True))
        assert [scores[str(one)] for one in ids] == hits.scores.tolist()
        lower, upper = made.score_bounds(query)
        assert ((lower <= made.scores(query)) & (made.scores(query) <= upper)).all()
        np.testing.assert_allclose(made.cells(query).sum(axis=1), made.scores(query), rtol=1e-4, atol=1e-5)
    again = old_ranks(snapshot, set(made.ids), found, queries, 5, 0.9)
    assert again.tolist() == ranks_for(found, 5, 0.9)[:, :5].tolist()


def test_coverage_has_a_row_for_each_promise(asked: Dataset, ranks: Calibration) -> None:
    result = guarantee(asked, QUICK)
    table, tails, filters = result.tables
    rows = rows_of(table)
    assert [(row["K"], row["promised"]) for row in rows] == [
        (k, target) for k in (1, 10, 100) for target in (0.9, 0.95)
    ]
    for row in rows:
        found = kept(ranks, ranks, row["K"], row["promised"], 20)
        assert row["mean overlap"] == pytest.approx(np.mean(found.overlaps))
        assert row["splits below"] == np.mean(np.array(found.overlaps) < row["promised"])
        assert row["5 % quantile"] <= row["mean overlap"] <= row["95 % quantile"]
        assert row["of all"] == pytest.approx(row["documents followed up"] / DOCUMENTS)
    for row in rows_of(tails):
        assert row["high"] >= row["promised share"]
    assert [row["documents"] for row in rows_of(filters)] == [3, 3, 30, 30, 150, 150]
    assert all(row["high"] >= row["promised"] for row in rows_of(filters))
    assert "in all 6 cells" in result.remarks[0]
    assert result.remarks[1:] == ["A half of these queries is too small to promise 0.99: that needs 99."]


def test_a_broken_promise_is_said(asked: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.lab.experiments.guarantee.depth", lambda ranks, k, target: 1)
    assert "is below what was promised" in guarantee(asked, QUICK).remarks[0]


def test_too_few_queries(asked: Dataset) -> None:
    for experiment in (guarantee, ageing):
        with pytest.raises(ValueError, match=r"\b17\b.*\b18\b"):
            experiment(asked, replace(QUICK, queries=17))


def test_ageing_keeps_what_was_promised(asked: Dataset) -> None:
    changed, aged = ageing(asked, QUICK).tables
    rows = rows_of(changed)
    assert list(dict.fromkeys(row["documents"] for row in rows)) == [
        *(f"{share} added, {kind}" for kind in ("at random", "unusual") for share in ("10%", "100%", "900%")),
        *("10% deleted", "50% deleted"),
    ]
    for row in rows:
        for target in (0.9, 0.95):
            # three standard errors of a mean over 20 splits, and of 22 queries each
            assert row[f"{target} at once"] >= target - 0.05
            assert row[f"{target} updated"] >= target - 0.05
    assert min(row["0.95 by n alone"] for row in rows if "unusual" in row["documents"]) < 0.9
    assert [row["learnt from"] for row in rows_of(aged)] == ["all", "91%", "50%", "10%"]


def test_tiers_measures_what_it_did_not_calibrate_on(asked: Dataset) -> None:
    first, second = halves(asked.embedded())
    assert not {*first.queries} & {*second.queries}
    assert {*first.queries} | {*second.queries} == {*asked.embedded().queries}
    result = tiers(asked, QUICK)
    assert [chart.name for chart in result.charts] == ["k1", "k10", "k100"]
    first.index.calibrate(first.queries.values(), 100)
    for k, table in zip((1, 10, 100), result.tables, strict=True):
        rows = {row["policy"]: row for row in rows_of(table)}
        assert list(rows)[-2:] == ["Calibrated 0.9", "Calibrated 0.95"]
        assert rows["Exhaustive"][f"Ov@{k}"] == rows["Certified"][f"Ov@{k}"] == rows["Certified"]["x Certified"] == 1
        found = [
            overlap(to_strings(hits), to_strings(first.index.search(second.queries[query], k, policy=Certified())))
            for query, hits in second.search(k, Calibrated(0.9)).items()
        ]
        assert rows["Calibrated 0.9"][f"Ov@{k}"] == pytest.approx(np.mean(found))
        tokens = asked.embedded().index.tokens
        assert all(row["ns a token"] == pytest.approx(1e6 * row["ms"] / tokens) for row in rows.values())


def test_the_corpus_itself_is_left_as_it_was(asked: Dataset) -> None:
    """It may be a collection in the user's cache."""
    index: Index = asked.embedded().index
    assert index.storage.snapshot.codebook is None
    for experiment in (guarantee, ageing, tiers):
        experiment(asked, QUICK)
    assert index.storage.snapshot.codebook is None
    assert len(index) == DOCUMENTS
