"""Lists: which documents they hold, which lists a query reads, and what a document gets from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxsieve import spec


def a_codebook(rng: np.random.Generator, d: int, groups: int, each: int) -> spec.Codebook:
    return spec.Codebook(
        rng.integers(-127, 128, (groups, d)).astype(np.int8),
        np.arange(groups + 1) * each,
        rng.integers(-127, 128, (groups * each, d)).astype(np.int8),
        np.float32(0.01),
        rng.uniform(0.5, 2.0, groups * each).astype(np.float32),
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 129), max_size=6), min_size=1, max_size=20), st.sampled_from([1, 3, 65536]))
def test_each_document_is_once_in_the_list_of_each_of_its_centroids(named: list[list[int]], block: int) -> None:
    lists = spec.make_lists([np.array(ids, np.int64) for ids in named], 130, block)
    blocks = -(-len(named) // block)
    present = [c for c in range(130) if int(lists.present[c // 64]) >> (c % 64) & 1]
    assert present == sorted({c for ids in named for c in ids})
    assert len(lists.starts) == len(present) * blocks + 1
    for number, c in enumerate(present):
        found = []
        for b in range(blocks):
            i = number * blocks + b
            found += [b * block + int(m) for m in lists.members[lists.starts[i] : lists.starts[i + 1]]]
        assert found == [document for document, ids in enumerate(named) if c in ids]


@pytest.mark.parametrize("seed", range(5))
def test_with_all_groups_open_the_nearest_are_the_nearest_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    book = a_codebook(rng, 8, 4, 5)
    y = rng.integers(-127, 128, 8).astype(np.int8)
    ids, similarity = spec.nearest_centroids(book, y, spec.Walk(6, 4, 1))
    every = (book.codes.astype(np.int64) @ y.astype(np.int64)).astype(np.float32) * book.length
    assert ids.tolist() == np.lexsort((np.arange(20), -every))[:6].tolist()
    assert similarity.tolist() == every[ids].tolist()
    one_group = spec.nearest_centroids(book, y, spec.Walk(6, 1, 1))[0]
    assert len(one_group) == 5
    assert sorted(one_group) == spec.groups_of(book, y, 1).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_a_proxy_is_the_gain_over_the_last_centroid(seed: int) -> None:
    """In units of the largest gain, a document's proxy is what its best centroids have over the last, but rounding."""
    rng = np.random.default_rng(seed)
    book, walk = a_codebook(rng, 8, 4, 6), spec.Walk(10, 3, 2)
    Q = rng.standard_normal((5, 8)).astype(np.float32)
    y = spec.quantise_query(Q)
    named = [rng.integers(0, 24, rng.integers(0, 5)) for _ in range(30)]
    gains = np.zeros((5, 24))
    for t in range(5):
        ids, similarity = spec.nearest_centroids(book, y.codes[t], walk)
        gains[t, ids] = float(y.scale[t]) * (similarity.astype(float) - float(similarity[-1]))
    wanted = np.array([gains[:, ids].max(axis=1, initial=0).sum() for ids in named]) * (65535 // 5) / gains.max()
    proxies = spec.list_proxies(spec.list_weights(book, y, walk), named)
    assert np.abs(np.where(proxies < 0, 0, proxies) - wanted).max() <= 5 * 0.5 + 1e-6
    assert proxies.max() <= 65535
    assert (proxies != 0).all()
    assert (proxies[[len(ids) == 0 for ids in named]] == -1).all()


def test_without_gains_no_document_has_a_place() -> None:
    book = a_codebook(np.random.default_rng(0), 8, 2, 3)
    Q = np.zeros((2, 8), np.float32)
    documents = [np.ones((2, 8), np.float32)] * 3
    assert spec.walked_proxies(Q, documents, book, spec.Walk(4, 2, 1)).tolist() == [-1, -1, -1]
    one_near = spec.walked_proxies(np.ones((2, 8), np.float32), documents, book, spec.Walk(1, 2, 1))
    assert one_near.tolist() == [-1, -1, -1]
    answer = spec.first_by_lists(Q, documents, book, 2, 1, spec.Walk(4, 2, 1))
    assert answer.survivors == 3  # too few have a place, so all are followed up
