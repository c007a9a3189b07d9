"""Tier 0 of the specification, compared with definitions that are written in another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxsieve import spec


def a_codebook(rng: np.random.Generator, d: int, groups: int, members: int) -> spec.Codebook:
    sizes = rng.integers(1, members + 1, groups)
    total = int(sizes.sum())
    return spec.Codebook(
        rng.integers(-127, 128, (groups, d)).astype(np.int8),
        np.concatenate([[0], np.cumsum(sizes)]),
        rng.integers(-127, 128, (total, d)).astype(np.int8),
        np.float32(0.01),
        rng.random(total).astype(np.float32),
    )


def test_a_token_is_named_by_the_nearest_centroid_when_all_groups_are_searched() -> None:
    rng = np.random.default_rng(0)
    book = a_codebook(rng, 12, spec.PROBES, 9)
    codes = rng.integers(-127, 128, (60, 12)).astype(np.int8)
    dots = codes.astype(int) @ book.codes.astype(int).T
    assert spec.assign(book, codes).tolist() == dots.argmax(axis=1).tolist()


def test_groups_that_are_not_probed_name_no_token() -> None:
    d = spec.PROBES + 1
    heads = 100 * np.eye(d, dtype=np.int8)
    # The last group's head is the worst for this token, but its centroid is the token itself.
    token = np.arange(90, 90 - 9 * d, -9).astype(np.int8)
    codes = np.zeros((d, d), np.int8)
    codes[-1] = token
    book = spec.Codebook(heads, np.arange(d + 1), codes, np.float32(1), np.ones(d, np.float32))
    assert spec.assign(book, token[None]).tolist() == [0]


def test_equals_go_to_the_first() -> None:
    book = spec.Codebook(
        np.array([[1, 0], [1, 0]], np.int8),
        np.array([0, 2, 3]),
        np.array([[1, 0], [2, 0], [2, 0]], np.int8),
        np.float32(1),
        np.ones(3, np.float32),
    )
    assert spec.assign(book, np.array([[5, 5], [0, 0]], np.int8)).tolist() == [1, 0]


@pytest.mark.parametrize("seed", range(5))
def test_bytes_are_similarities_in_steps_of_the_largest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    book = a_codebook(rng, 16, 4, 6)
    Q = rng.standard_normal((7, 16)).astype(np.float32)
    y = spec.quantise_query(Q)
    similarities = (y.scale[:, None] * y.codes.astype(float)) @ (book.codes.astype(float) * float(book.scale)).T
    similarities *= book.length
    step = float(y.norm.max()) * float(book.length.max()) / 255
    wanted = np.clip(similarities.T / step, 0, 255)
    table = spec.similarity_table(book, y)
    assert table.shape == (len(book.codes), 7)
    assert np.abs(table - wanted).max() <= 0.5 + 1e-3
    assert (table[wanted == 0] == 0).all()


def test_a_query_of_zeros_has_a_table_of_zeros() -> None:
    book = a_codebook(np.random.default_rng(0), 8, 2, 3)
    assert not spec.similarity_table(book, spec.quantise_query(np.zeros((2, 8), np.float32))).any()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-1, 4), min_size=1, max_size=30), st.integers(0, 31))
def test_survivors_are_the_first_by_proxy(proxies: list[int], n: int) -> None:
    array = np.array(proxies)
    order = sorted((i for i, proxy in enumerate(proxies) if proxy >= 0), key=lambda i: (-proxies[i], i))
    assert spec.by_proxy(array).tolist() == order
    assert spec.survivors(array, n).tolist() == sorted(order[:n])
    assert spec.ranks_by_proxy(array, order).tolist() == list(range(1, len(order) + 1))


def test_a_proxy_adds_up_the_largest_bytes() -> None:
    table = np.array([[1, 200], [5, 0], [0, 255]], np.uint8)
    assert spec.lookup_proxies(table, [np.array([0, 1], np.uint16), np.array([], np.uint16)]).tolist() == [205, -1]
