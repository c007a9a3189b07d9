"""Errors of the predecessors (colbandit 0.1.0 if no other is named): each of them is a test here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve import spec

Rows = NDArray[np.float32]
POLICIES: tuple[Any, ...] = (
    ms.Certified(),
    ms.Exhaustive(),
    ms.Bandit(alpha=1.0),
    ms.Bandit(radius="serfling", alpha=1.0),
)
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)


def corpus(seed: int, count: int, d: int, longest: int = 6) -> list[Rows]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, d)).astype(np.float32) for n in rng.integers(1, longest + 1, count)]


def query_of(seed: int, tokens: int, d: int) -> Rows:
    return np.random.default_rng(1000 + seed).standard_normal((tokens, d)).astype(np.float32)


def check(query: Rows, documents: list[Rows], k: int, policy: Any) -> None:
    """Ids, order and bits are those of exhaustive scoring."""
    scores = spec.scores(query, documents)
    best = spec.top_k(scores, k)
    hits = ms.Index.build(documents).search(query, k, policy=policy)
    assert hits.ids == best
    assert hits.scores.tobytes() == scores[best].tobytes()


@every_policy
@pytest.mark.parametrize("k", [12, 13, 1000])
def test_k_of_all_documents_and_more_gives_them_all_with_true_scores(k: int, policy: Any, isa: str) -> None:
    check(query_of(0, 8, 32), corpus(0, 12, 32), k, policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_query_without_tokens_is_an_error_not_a_crash(policy: Any) -> None:
    index = ms.Index.build(corpus(0, 5, 32))
    for empty in (np.zeros((0, 32), np.float32), []):
        with pytest.raises(ValueError, match="query"):
            index.search(empty, policy=policy)
    assert len(index.search(query_of(0, 1, 32), policy=policy)) == 5


@every_policy
@pytest.mark.parametrize("tokens", [1, 2, 3, 5])
def test_queries_shorter_than_a_block_stay_in_bounds(tokens: int, policy: Any, isa: str) -> None:
    check(query_of(tokens, tokens, 32), corpus(tokens, 20, 32), 20, policy)
    for k in (1, 3):
        hits = ms.Index.build(corpus(tokens, 20, 32)).search(query_of(tokens, tokens, 32), k, policy=policy)
        assert all(one.revealed <= tokens for one in hits.report.rounds)


@every_policy
@pytest.mark.parametrize("d", [1, 3, 31, 33, 100, 130])
def test_dimensions_that_are_no_multiple_of_32_are_right(d: int, policy: Any, isa: str) -> None:
    check(query_of(d, 6, d), corpus(d, 15, d), 15, policy)


@every_policy
@pytest.mark.parametrize("d", [1025, 1536, 4096])
def test_dimensions_beyond_1024_are_right(d: int, policy: Any) -> None:
    check(query_of(d, 3, d), corpus(d, 5, d, 3), 5, policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_query_of_another_dimension_is_an_error_not_a_crash(policy: Any) -> None:
    index = ms.Index.build(corpus(0, 5, 32))
    for d in (1, 31, 33, 64, 4096):
        with pytest.raises(ValueError, match=rf"^query\b.*\b{d}\b.*\b32\b"):
            index.search(query_of(0, 4, d), policy=policy)


@every_policy
def test_an_empty_document_is_no_copy_of_its_neighbour(policy: Any, isa: str) -> None:
    documents = corpus(1, 9, 32)
    query = documents[4][:3]
    with_gaps = [np.zeros((0, 32), np.float32), *documents[:5], np.zeros((0, 32), np.float32), *documents[5:]]
    hits = ms.Index.build(with_gaps).search(query, 20, policy=policy)
    assert hits.ids[0] == 5
    assert set(hits.ids) == set(range(11)) - {0, 6}
    check(query, with_gaps, 20, policy)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_do_not_pass(number: float) -> None:
    documents = corpus(1, 9, 32)
    documents[3][0, 7] = number
    with pytest.raises(ValueError, match="document 3, row 0"):
        ms.Index.build(documents)
    with pytest.raises(ValueError, match="query, row 0"):
        ms.Index.build(corpus(1, 9, 32)).search(documents[3])


def test_the_seed_is_respected() -> None:
    documents, query = corpus(2, 200, 16), query_of(2, 32, 16)
    index = ms.Index.build(documents)

    def rounds(seed: int) -> list[Any]:
        return list(index.search(query, 5, policy=ms.Bandit(alpha=0.3, seed=seed)).report.rounds)

    assert rounds(7) == rounds(7)
    assert len({tuple(rounds(seed)) for seed in range(8)}) == 8
    thresholds = {rounds(seed)[0].threshold for seed in (0, 1, 2**32, 2**63, 2**64 - 1)}
    assert len(thresholds) == 5, "all 64 bits count"


@pytest.mark.parametrize(
    "knobs", [{"alpha": 0}, {"alpha": -1}, {"alpha": 1.5}, {"delta": 0}, {"delta": 1}, {"delta": -3}]
)
def test_alpha_and_delta_are_checked(knobs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"^({'|'.join(knobs)})\b"):
        ms.Bandit(**knobs)


@every_policy
def test_vectors_are_normalised_only_if_asked(policy: Any, isa: str) -> None:
    documents = [np.float32(scale) * rows for scale, rows in zip((0.01, 7, 100, 1, 3), corpus(3, 5, 32), strict=True)]
    index = ms.Index.build(documents)
    assert all(index.vectors(i).tobytes() == rows.tobytes() for i, rows in enumerate(documents))
    query = 50 * query_of(3, 4, 32)
    check(query, documents, 5, policy)
    assert index.search(query, 1, policy=policy).scores[0] > 100


@every_policy
def test_scores_are_similarities_higher_is_better(policy: Any) -> None:
    unit = np.eye(4, dtype=np.float32)
    hits = ms.Index.build([-unit[:1], unit[:1], 0.5 * unit[:1]]).search(unit[:1], 3, policy=policy)
    assert list(hits) == [(1, 1.0), (2, 0.5), (0, -1.0)]


def test_bytes_per_token_are_few() -> None:
    documents = np.random.default_rng(0).standard_normal((50, 100, 128)).astype(np.float32)
    assert ms.Index.build(documents).nbytes <= 5000 * 128 * 5.1
    assert ms.Index.build(documents, store="float16").nbytes <= 5000 * 128 * 3.1


@every_policy
def test_documents_come_and_go(policy: Any) -> None:
    documents, query = corpus(5, 10, 32), query_of(5, 4, 32)
    index = ms.Index.build(documents[:6])
    index.add(documents[6:], range(6, 10))
    index.delete([2, 7])
    subset = [0, 3, 8, 9]
    scores = spec.scores(query, documents)
    left = [i for i in spec.top_k(scores, 10) if i not in (2, 7)]
    assert index.search(query, 10, policy=policy).ids == left
    assert index.search(query, 10, policy=policy, candidates=subset).ids == [i for i in left if i in subset]
    batch = index.search_many([query, query], 10, policy=policy)
    assert [hits.ids for hits in batch] == [left, left]


@every_policy
def test_padding_does_not_win_over_negative_similarities(policy: Any, isa: str) -> None:
    """PyLate and colpali-engine pad with zeros."""
    query = np.abs(query_of(6, 4, 16))
    documents = [-np.abs(rows) for rows in corpus(6, 8, 16)]
    longest = max(map(len, documents))
    padded = np.zeros((8, longest, 16), np.float32)
    for i, rows in enumerate(documents):
        padded[i, : len(rows)] = rows
    lengths = [len(rows) for rows in documents]
    scores = spec.scores(query, documents)
    assert scores.max() < 0
    hits = ms.Index.build(padded, lengths=lengths).search(query, 8, policy=policy)
    assert hits.scores.tobytes() == np.sort(scores)[::-1].tobytes()
    mask = np.arange(longest) < np.array(lengths)[:, None]
    assert ms.maxsim(query, padded, document_mask=mask).tobytes() == scores.tobytes()


@pytest.mark.parametrize("compact", [False, True])
def test_ids_are_stable_after_delete(compact: bool) -> None:
    """fast-plaid renumbers them."""
    documents = corpus(7, 10, 8)
    index = ms.Index.build(documents)
    index.delete([0, 4, 5])
    if compact:
        index.compact()
    assert index.ids == [1, 2, 3, 6, 7, 8, 9]
    for i in index.ids:
        assert index.vectors(i).tobytes() == documents[i].tobytes()
        norm = float(np.square(documents[i][0]).sum())
        assert index.search(documents[i][:1] / norm, 1, candidates=[i]).ids == [i]
    index.add(documents[:1], [0])
    assert index.ids == [1, 2, 3, 6, 7, 8, 9, 0]
