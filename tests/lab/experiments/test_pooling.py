"""Pooled corpora: what is lost, and by what."""

from __future__ import annotations

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.pooling import FACTORS, pooled_corpus, pooling
from maxsieve.lab.results import ExperimentResult
from maxsieve.pooling import merges


@pytest.fixture(scope="module")
def result(tiny_dataset: Dataset) -> ExperimentResult:
    return pooling(tiny_dataset, Options())


@pytest.mark.parametrize("factor", [1, *FACTORS])
def test_every_document_is_pooled_as_by_pool(tiny_dataset: Dataset, factor: int) -> None:
    data = tiny_dataset.embedded()
    trees = {str(one): merges(data.vectors(str(one))) for one in data.index.ids}
    pooled = pooled_corpus(data, trees, factor)
    assert pooled.index.ids == data.index.ids
    for one in map(str, data.index.ids):
        assert (pooled.vectors(one) == ms.pool(data.vectors(one), factor)).all()


def test_unpooled_documents_lose_by_elimination_alone(result: ExperimentResult) -> None:
    exhaustive, bandit = result.tables[0].rows[:2]
    assert exhaustive[3] == 1.0
    assert bandit[2] == bandit[3]
    assert result.tables[1].rows[0][1] == 0


def test_the_two_losses_add_up(result: ExperimentResult) -> None:
    methods, losses = result.tables
    assert [row[0] for row in losses.rows] == ["unpooled", "Ward 2x", "Ward 4x", "Ward 8x"]
    for place, (_, by_pooling, _, elimination, _, altogether) in enumerate(losses.rows):
        assert by_pooling + elimination == pytest.approx(altogether)
        assert 100 * (1 - methods.rows[2 * place][3]) == pytest.approx(by_pooling)
        assert 100 * (1 - methods.rows[2 * place + 1][3]) == pytest.approx(altogether)


def test_pooling_costs_tokens_and_overlap(result: ExperimentResult) -> None:
    rows = result.tables[0].rows[::2]
    tokens = [row[5] for row in rows]
    assert tokens == sorted(tokens, reverse=True)
    assert tokens[3] < tokens[0] / 7
    assert rows[3][3] < 1
    assert all(row[4] > 0 for row in result.tables[0].rows)


def test_fidelity_is_overlap_on_the_pooled_corpus(tiny_dataset: Dataset, result: ExperimentResult) -> None:
    data = tiny_dataset.embedded()
    ids = [str(one) for one in data.index.ids]
    index = ms.Index.build([ms.pool(data.vectors(one), 4) for one in ids], ids)
    shares, ends = [], []
    for query, rows in data.queries.items():
        exclude = data.exclusions.get(query)
        found = set(index.search(rows, 5, policy=ms.Bandit(0.2), exclude=exclude).ids)
        shares.append(len(found & set(index.search(rows, 5, policy=ms.Exhaustive(), exclude=exclude).ids)) / 5)
        ends.append(len(found & set(data.truth(5)[query])) / 5)
    assert result.tables[0].rows[5][2] == pytest.approx(np.mean(shares))
    assert result.tables[0].rows[5][3] == pytest.approx(np.mean(ends))


def test_quick(tiny_dataset: Dataset) -> None:
    assert len(pooling(tiny_dataset, Options(quick=True)).tables[1].rows) == 3
