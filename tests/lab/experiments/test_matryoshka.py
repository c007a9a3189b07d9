"""Truncated vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.matryoshka import matryoshka, truncated


def test_truncated_rows_are_the_first_numbers_at_unit_length() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    short = truncated(rows, 3)
    assert short.shape == (4, 3)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(short * np.linalg.norm(rows[:, :3], axis=1, keepdims=True), rows[:, :3], rtol=1e-5)


def test_figures_are_those_of_an_index_of_truncated_vectors(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    result = matryoshka(tiny_dataset, Options())
    whole, half = result.tables[0].rows
    assert (whole[0], half[0]) == (24, 12)
    assert whole[-1] == 1.0
    ids = [str(one) for one in data.index.ids]
    index = ms.Index.build([truncated(data.vectors(one), 12) for one in ids], ids)
    shares, coverages, kept = [], [], []
    for query, rows in data.queries.items():
        exclude = data.exclusions.get(query)
        true = index.search(truncated(rows, 12), 5, policy=ms.Exhaustive(), exclude=exclude)
        found = index.search(truncated(rows, 12), 5, policy=ms.Bandit(0.2), exclude=exclude)
        shares.append(len(set(true.ids) & set(found.ids)) / 5)
        coverages.append(found.report.coverage)
        kept.append(len(set(true.ids) & set(data.truth(5)[query])) / 5)
    assert half[1] == pytest.approx(np.mean(coverages))
    assert half[2] == pytest.approx(np.mean(shares))
    assert half[-1] == pytest.approx(np.mean(kept))


def test_retention_is_bandits_ndcg_over_exhaustive_scorings(tiny_dataset: Dataset) -> None:
    for row in matryoshka(tiny_dataset, Options()).tables[0].rows:
        assert row[6] == pytest.approx(row[4] / row[7])
        assert 0 < row[7] <= row[8] <= 1


def test_without_judgements_there_is_no_ndcg(tiny_dataset: Dataset) -> None:
    bare = replace(tiny_dataset, _made={tiny_dataset.dim: replace(tiny_dataset.embedded(), judgements={})})
    for row in matryoshka(bare, Options(quick=True)).tables[0].rows:
        assert row[4:9] == [None] * 5
        assert 0 < row[2] <= 1


def test_only_so_many_queries(tiny_dataset: Dataset) -> None:
    assert "3 queries" in matryoshka(tiny_dataset, Options(queries=3)).summary
