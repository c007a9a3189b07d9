"""The simulation of quantisers against the engine's own report."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve.lab.codes import ABSMAX, PER_CORPUS, PER_DOCUMENT, corpus_percentile, limits, quantise_corpus
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.quantisers import ALPHA, KS, candidate_scores, models, outcome, quantisers, rescored
from maxsieve.spec import proxies_and_errors, quantise_document, reveal_proxies


def test_absmax_codes_are_the_specifications(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    ours = quantise_corpus(data, limits(data)[ABSMAX])
    each = [quantise_document(rows) for rows in data.documents()]
    assert (ours.codes == np.concatenate([one.codes for one in each])).all()
    assert ours.scale.tolist() == [float(one.scale) for one in each]
    assert ours.rho.tolist() == [float(one.rho) for one in each]
    assert ours.nu.tolist() == [float(one.nu) for one in each]
    assert ours.clipped == 0


def test_models_are_the_specifications(tiny_dataset: Dataset) -> None:
    """Of the candidates; the first query has an exclusion."""
    data = tiny_dataset.embedded().first(3)
    ids = [str(one) for one in data.index.ids[:-1]]
    for query, model, proxies in models(data, quantise_corpus(data, limits(data)[ABSMAX])):
        kept = [data.vectors(one) for one in ids if one not in data.exclusions.get(query, [])]
        for ours, theirs in zip(model, reveal_proxies(data.queries[query], kept), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        P, eps = proxies_and_errors(data.queries[query], kept)
        assert proxies.tolist() == P.tolist()
        assert model.eps.tolist() == eps.tolist()


@pytest.mark.parametrize("k", KS)
def test_the_simulation_of_absmax_is_the_engine(tiny_dataset: Dataset, k: int) -> None:
    """Coverage, survivors, rescored documents and answers, query by query; the first query has an exclusion."""
    data = tiny_dataset.embedded()
    truth = data.truth(k)
    bandit, certified = data.search(k, ms.Bandit(ALPHA)), data.search(k, ms.Certified())
    seen = []
    for query, model, proxies in models(data, quantise_corpus(data, limits(data)[ABSMAX])):
        found = outcome(model, proxies, candidate_scores(data, query, 1), k)
        assert found.coverage == bandit[query].report.coverage
        assert found.survivors == bandit[query].report.rescored
        assert found.rescored == certified[query].report.rescored
        assert found.overlap == len(set(bandit[query].ids) & set(truth[query])) / k
        seen.append(query)
    assert seen == list(data.queries)


def test_products_of_codes_are_exact(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    corpus = quantise_corpus(data, limits(data)[PER_CORPUS])
    tokens = np.random.default_rng(0).integers(-127, 128, (7, data.index.dim), np.int8)
    products = corpus.codes.astype(np.int64) @ tokens.astype(np.int64).T
    assert (corpus.maxima(tokens) == np.maximum.reduceat(products, corpus.offsets, axis=0)).all()


def test_clipping_clips_what_lies_beyond_the_percentile(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    values = np.abs(np.concatenate(list(data.documents())))
    smallest = float(np.percentile(values, 99.9, method="inverted_cdf"))
    assert corpus_percentile(data) == pytest.approx(smallest, abs=float(values.max()) / 32768)
    by_corpus, by_document = (quantise_corpus(data, limits(data)[name]) for name in (PER_CORPUS, PER_DOCUMENT))
    assert by_corpus.clipped == pytest.approx(0.001, abs=1e-4)
    assert 0 < by_document.clipped < 0.01
    assert len(set(by_corpus.scale.tolist())) == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30), st.integers(1, 8))
def test_rescored_counts_one_at_a_time(pairs: list[tuple[int, int]], k: int) -> None:
    scores = np.array([score for score, _ in pairs], np.float32)
    upper = scores + np.array([slack for _, slack in pairs], np.float64)
    done: list[float] = []
    for i in sorted(range(len(pairs)), key=lambda i: (-upper[i], i)):
        if len(done) >= k and upper[i] < sorted(done)[-k]:
            break
        done.append(float(scores[i]))
    assert rescored(upper, scores, k) == len(done)


def tokens_of(dataset: Dataset) -> int:
    data = dataset.embedded()
    return int(sum(map(len, data.documents())))


def test_the_experiment(tiny_dataset: Dataset) -> None:
    result = quantisers(tiny_dataset, Options())
    policies, codes, few = result.tables
    assert [(row[0], row[1]) for row in policies.rows] == [
        (k, name) for k in KS for name in (ABSMAX, PER_DOCUMENT, PER_CORPUS)
    ]
    assert [row[-2] for row in codes.rows] == [0, 0, 0]
    assert codes.rows[0][-1] == 8 * 149 - 1
    assert all(row[0] <= row[6] <= 149 for row in policies.rows)
    assert all(row[2] <= row[3] <= 1 for row in policies.rows)
    assert [row[0] for row in few.rows] == [1, 1, 2, 2, 4, 4]
    ours, plaid = few.rows[::2], few.rows[1::2]
    assert [row[2] for row in ours] == pytest.approx([row[2] + 2 + 8 * 149 / tokens_of(tiny_dataset) for row in plaid])
    assert ours[0][4] < ours[2][4] <= 1, "more bits find more"
    assert all(row[4] >= other[4] for row, other in zip(ours[1:], plaid[1:], strict=True))
    assert len(result.remarks) == 2 * len(KS), "for each of the others"


def test_vectors_of_too_many_dimensions(tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.lab.experiments.quantisers.LARGEST_DIM", 23)
    with pytest.raises(ValueError, match=r"\b23\b.*\b24\b"):
        quantisers(tiny_dataset, Options())
