"""Ward token pooling."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve.pooling import cut, merges

F32 = NDArray[np.float32]


@st.composite
def documents(draw: st.DrawFn) -> F32:
    """Rows of small whole numbers, among which equal ones and equal distances are common, or of random ones."""
    L, d = draw(st.integers(0, 30)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = rng.integers(-2, 3, (L, d)) if draw(st.booleans()) else rng.standard_normal((L, d))
    return rows.astype(np.float32) * np.float32(draw(st.sampled_from([1.0, 3.0, 2.0**-60, 2.0**45])))


def ward_by_hand(rows: F32, clusters: int) -> set[frozenset[int]]:
    """The definition of Ward's rule: merge the two clusters whose union costs least, again and again."""
    wide = rows.astype(np.float64)
    groups = [frozenset([token]) for token in range(len(rows))]
    while len(groups) > clusters:

        def cost(pair: tuple[frozenset[int], frozenset[int]]) -> float:
            a, b = (list(group) for group in pair)
            gap = wide[a].mean(axis=0) - wide[b].mean(axis=0)
            return len(a) * len(b) / (len(a) + len(b)) * float(gap @ gap)

        pairs = [(a, b) for i, a in enumerate(groups) for b in groups[:i]]
        a, b = min(pairs, key=cost)
        groups = [group for group in groups if group not in (a, b)] + [a | b]
    return set(groups)


@given(documents(), st.integers(1, 40))
def test_as_many_rows_as_promised(rows: F32, factor: int) -> None:
    pooled = ms.pool(rows, factor)
    assert pooled.dtype == np.float32
    assert pooled.shape == (max(1, len(rows) // factor) if len(rows) else 0, rows.shape[1])
    assert (ms.pool(rows, factor) == pooled).all()


@given(st.integers(2, 14), st.integers(1, 5), st.integers(2, 6), st.integers(0, 2**32))
def test_rows_are_means_of_the_clusters_of_wards_rule_in_order_of_their_first_tokens(
    L: int, d: int, factor: int, seed: int
) -> None:
    rows = np.random.default_rng(seed).normal(1, 3, (L, d)).astype(np.float32)
    clusters = sorted((sorted(group) for group in ward_by_hand(rows, max(1, L // factor))), key=min)
    expected = np.array([rows[group].mean(axis=0, dtype=np.float64) for group in clusters])
    np.testing.assert_allclose(ms.pool(rows, factor), expected, rtol=1e-6, atol=1e-6)


@given(documents(), st.integers(2, 8))
def test_the_mean_of_all_rows_is_kept(rows: F32, factor: int) -> None:
    """Clusters are a partition: the mean of their means, weighted by size, is the mean of the rows."""
    if len(rows) < 2:
        return
    steps = merges(rows)
    tags = np.eye(len(rows), dtype=np.float32) + np.float32(1)  # no unit rows, so that weights can be seen
    weights = cut(tags, steps, factor) - 1
    membership = weights > 1e-6
    assert (membership.sum(axis=0) == 1).all()
    sizes = membership.sum(axis=1, keepdims=True)
    pooled = cut(np.concatenate([rows, 9 * np.ones((len(rows), 1), np.float32)], axis=1), steps, factor)[:, :-1]
    largest = np.abs(rows).max(initial=0)
    assert np.abs((pooled * sizes).sum(axis=0) - rows.sum(axis=0, dtype=np.float64)).max() <= 1e-5 * len(rows) * largest


@given(st.integers(2, 8), st.integers(0, 2**32))
def test_equal_rows_merge_first(kinds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distinct = rng.normal(0, 5, (kinds, 3)).astype(np.float32)
    rows = distinct[rng.permutation(np.repeat(np.arange(kinds), 2))]
    assert {tuple(row) for row in ms.pool(rows, 2).tolist()} == {tuple(row) for row in distinct.tolist()}


@pytest.mark.parametrize("factor", [2, 3, 7, 100])
def test_equal_rows_alone(factor: int) -> None:
    rows = np.full((9, 4), 0.25, np.float32)
    assert (ms.pool(rows, factor) == 0.25).all()
    assert (ms.pool(np.zeros((9, 4)), factor) == 0).all()


def test_factor_one_copies() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    same = ms.pool(rows, 1)
    assert (same == rows).all()
    same[:] = 0
    assert rows.any()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_unit_rows_stay_unit_rows(dtype: type) -> None:
    rows = np.random.default_rng(1).standard_normal((40, 128))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(ms.pool(rows.astype(dtype), 4), axis=1), 1, atol=1e-6)


def test_other_rows_keep_the_lengths_of_their_means() -> None:
    assert ms.pool([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], 3).tolist() == [[1.0, np.float32(1 / 3)]]


def test_opposite_unit_rows_have_no_direction() -> None:
    assert ms.pool([[1.0, 0.0], [-1.0, 0.0]], 2).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("factor", [0, -2])
def test_too_small_a_factor(factor: int) -> None:
    with pytest.raises(ValueError, match=r"^factor"):
        ms.pool(np.eye(2), factor)


@pytest.mark.parametrize("factor", [2.0, True, "2", None, np.float32(2)])
def test_a_factor_that_is_no_whole_number(factor: object) -> None:
    with pytest.raises(TypeError, match=r"^factor"):
        ms.pool(np.eye(2), factor)  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, 2.0**51])
def test_numbers_that_no_index_takes(factor: int, value: float) -> None:
    rows = np.eye(3)
    rows[1, 2] = value
    with pytest.raises(ValueError, match="doc, row 1, dimension 2"):
        ms.pool(rows, factor)


@pytest.mark.parametrize("doc", [np.zeros(3), np.zeros((1, 2, 3)), np.zeros((2, 0))])
def test_what_is_no_document(doc: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="doc"):
        ms.pool(doc, 2)


class WithoutScipy(MetaPathFinder):
    """Looks for packages as if SciPy were not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "scipy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "scipy"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "meta_path", [WithoutScipy(), *sys.meta_path])
    with pytest.raises(ImportError, match=r"pip install 'maxsieve\[pool\]'"):
        ms.pool(np.eye(2), 2)
    assert (ms.pool(np.eye(2), 1) == np.eye(2)).all()
