"""The fast baselines against the specification's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import to_strings
from maxsieve.lab.sweep import doc_uniform, token_ranks
from maxsieve.spec import baselines
from maxsieve.spec.baselines import centroids, clusters

GAMMAS = (0.05, 0.3, 0.55, 1.0)
TAUS = (0.2, 0.5, 0.8, 1.0)
K = 7


@given(st.integers(0, 20), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_every_document_has_the_specifications_order(documents: int, tokens: int, seed: int) -> None:
    ranks = token_ranks(documents, tokens, seed)
    for i in range(documents):
        order = baselines.token_order(tokens, seed, i)
        assert (ranks[i, order] == np.arange(tokens)).all()


def test_doc_uniform_is_the_specifications(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    documents = [data.vectors(str(one)) for one in data.index.ids]
    for seed, query in enumerate(list(data.queries.values())[:3]):
        found = doc_uniform(data.cells(query), GAMMAS, K, seed)
        for gamma in GAMMAS:
            assert found[gamma] == baselines.doc_uniform(query, documents, K, gamma, seed=seed)


def test_doc_uniform_at_gamma_one_is_exhaustive(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    ids = [str(one) for one in data.index.ids]
    for seed, query in enumerate(data.queries.values()):
        best = to_strings(data.index.search(query, 200, policy=ms.Exhaustive()))
        assert [ids[i] for i in doc_uniform(data.cells(query), [1.0], 200, seed)[1.0]] == best


def test_equal_sums_go_to_the_first() -> None:
    assert doc_uniform(np.ones((5, 3), np.float32), [0.4], 3, 0) == {0.4: [0, 1, 2]}


def test_rows_without_cells_are_no_hits() -> None:
    cells = np.array([[1, 1], [-np.inf, -np.inf], [2, 2]], np.float32)
    assert doc_uniform(cells, [0.5, 1.0], 3, 0) == {0.5: [2, 0], 1.0: [2, 0]}


@pytest.mark.parametrize("tau", TAUS)
def test_ball_carving_finds_what_the_specification_finds(tiny_dataset: Dataset, tau: float) -> None:
    data = tiny_dataset.embedded()
    ids = [str(one) for one in data.index.ids]
    carved = {one: centroids(query, tau) for one, query in data.queries.items()}
    found = data.search(K, ms.Exhaustive(), queries=carved)
    for one, query in data.queries.items():
        assert carved[one].dtype == np.float32
        assert len(carved[one]) == len(clusters(query, tau))
        kept = [i for i, name in enumerate(ids) if name not in data.exclusions.get(one, [])]
        positions = baselines.ball_carving(query, [data.vectors(ids[i]) for i in kept], K, tau)
        assert to_strings(found[one]) == [ids[kept[i]] for i in positions]


def test_tau_one_is_exhaustive(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    carved = {one: centroids(query, 1.0) for one, query in data.queries.items()}
    found = data.search(K, ms.Exhaustive(), queries=carved)
    assert {one: to_strings(hits) for one, hits in found.items()} == data.truth(K)


def test_excluded_documents_are_excluded(tiny_dataset: Dataset) -> None:
    """The best document of the first query is its own, which it must not find."""
    data = tiny_dataset.embedded()
    (one,) = data.exclusions["q0"]
    carved = {"q0": centroids(data.queries["q0"], 0.9)}
    assert to_strings(data.index.search(carved["q0"], 1)) == [one]
    assert one not in to_strings(data.search(K, ms.Exhaustive(), queries=carved)["q0"])
