"""Miss rates and certificates."""

from __future__ import annotations

import numpy as np
import pytest

from maxsieve import _core
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.miss_rates import (
    QUICK_DELTAS,
    QUICK_MATRICES,
    QUICK_SEEDS,
    RULES,
    K,
    MissCount,
    certificates,
    miss_rates,
    real_models,
    sampled,
)
from maxsieve.lab.results import Cell, ExperimentResult
from maxsieve.lab.synthetic_cells import KINDS, RIVALS, ROWS, Kind, rare_large_cells, rare_small_cells, synthetic_models
from maxsieve.spec import bandit, reveal_exact, sieve, top_k


@pytest.fixture(scope="module")
def result(tiny_dataset: Dataset) -> ExperimentResult:
    return miss_rates(tiny_dataset, Options(quick=True))


def rates(result: ExperimentResult, cells: str, rule: str) -> list[Cell]:
    (row,) = [row for table in result.tables[:2] for row in table.rows if row[:2] == [cells, rule]]
    return row[3 : 3 + len(QUICK_DELTAS)]


def test_models_are_the_specifications(tiny_dataset: Dataset) -> None:
    """Of exact cells of the candidates; the first query has an exclusion."""
    data = sampled(tiny_dataset.embedded().first(3), 25)
    ids = [str(one) for one in data.index.ids]
    for (query, rows), (model, scores) in zip(data.queries.items(), real_models(data, Options()), strict=True):
        documents = [data.vectors(one) for one in ids if one not in data.exclusions.get(query, [])]
        for ours, theirs in zip(model, reveal_exact(rows, documents), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        survivors = sieve(model, K, seed=3)[0]
        answer = bandit(rows, documents, K, seed=3, reveal="exact")
        assert survivors.tolist() == answer.survivors.tolist()
        assert scores[answer.positions].tolist() == answer.scores.tolist()


def test_a_sample_has_no_empty_document_and_keeps_the_order(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    everything = sampled(data, 1000)
    assert everything.index.ids == data.index.ids[:-1]
    few = sampled(data, 20)
    assert few.index.ids == [one for one in data.index.ids if one in few.index.ids]
    assert len(few.index) == 20


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_made_up_cells_lie_in_their_support(kind: Kind) -> None:
    for model, scores in synthetic_models(kind, 5):
        assert (np.abs(model.x) <= model.b).all()
        assert len(set(top_k(scores, ROWS))) == ROWS


@pytest.mark.parametrize("kind", [rare_large_cells, rare_small_cells])
def test_in_the_adversarial_kinds_the_first_rows_are_best_and_rivals_next(kind: Kind) -> None:
    for _, scores in synthetic_models(kind, 20):
        assert set(top_k(scores, K)) == set(range(K))
        assert set(top_k(scores, K + RIVALS)) == set(range(K + RIVALS))


def test_the_papers_radius_misses_what_hides_in_few_cells(result: ExperimentResult) -> None:
    for cells in ("rare large cells", "rare small cells"):
        assert min(rates(result, cells, str(RULES[0]))) > 0.9
    assert any(str(RULES[0]) in remark and "rare large cells" in remark for remark in result.remarks)


def test_the_proven_radius_keeps_its_promise(result: ExperimentResult) -> None:
    for table in result.tables[:2]:
        for row in table.rows:
            if row[1] == str(RULES[2]):
                assert row[3 : 3 + len(QUICK_DELTAS)] == [0.0] * len(QUICK_DELTAS)


def test_a_smaller_alpha_misses_more_and_reveals_less(result: ExperimentResult) -> None:
    wide, narrow = (rates(result, "near ties", str(rule)) for rule in RULES[:2])
    assert all(one <= other for one, other in zip(wide, narrow, strict=True))
    coverages = {row[1]: row[-1] for row in result.tables[1].rows if row[0] == "near ties"}
    assert coverages[str(RULES[1])] < coverages[str(RULES[0])] <= coverages[str(RULES[2])]


def test_runs_are_counted(result: ExperimentResult) -> None:
    real, made, _ = result.tables
    assert {row[2] for row in real.rows} == {8 * QUICK_SEEDS}
    assert {row[2] for row in made.rows} == {QUICK_MATRICES}


def test_certificates_hold(tiny_dataset: Dataset) -> None:
    rows = certificates(tiny_dataset.embedded(), Options()).rows
    assert [row[2] for row in rows] == [8, 8, 8 * 149]
    assert [row[3] for row in rows] == [0, 0, 0]


def test_a_broken_bound_is_counted(tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    true = _core.bounds

    def too_narrow(*given: object) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = true(*given)
        upper[3] = lower[3] - 1
        return lower, upper

    monkeypatch.setattr(_core, "bounds", too_narrow)
    assert certificates(tiny_dataset.embedded(), Options()).rows[-1][3] == 8


def test_intervals_are_wilsons() -> None:
    """Figures of Brown, Cai and DasGupta's formula, computed by hand."""
    assert MissCount(100, 10).least == pytest.approx(0.0552, abs=1e-4)
    assert MissCount(50, 0).least == 0
    assert MissCount(10, 10).least == pytest.approx(0.7225, abs=1e-4)


def test_charts_have_the_diagonal_and_show_no_miss_as_half_a_miss(result: ExperimentResult) -> None:
    corpus, _ = result.charts
    assert corpus.series[-1].x == corpus.series[-1].y == sorted(QUICK_DELTAS)
    proven = corpus.series[2]
    assert proven.y == [0.5 / (8 * QUICK_SEEDS)] * len(QUICK_DELTAS)
    assert proven.notes == ["0"] * len(QUICK_DELTAS)
