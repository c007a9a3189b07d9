"""Hits by group: k counts groups, and the score of a group is that of its best document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import _core
from maxsieve.policies import Policy

from .support import small_codebooks


def document_of(one: int | str) -> str:
    return str(one).split("/")[0]


def make(groups: list[int], seed: int, *, like: float = 0.0) -> ms.Index:
    """So many documents of each group. With ``like``, those of a group are similar."""
    rng = np.random.default_rng(seed)
    ids, docs = [], []
    for group, members in enumerate(groups):
        centre = rng.standard_normal(8)
        for member in range(members):
            ids.append(f"g{group}/{member}")
            docs.append((like * centre + rng.standard_normal((3, 8))).astype(np.float32))
    order = rng.permutation(len(ids))
    return ms.Index.build([docs[i] for i in order], [ids[i] for i in order], group_by=document_of)


def best_groups(index: ms.Index, query: np.ndarray, k: int) -> list[tuple[str, float]]:
    """The definition: scores every document."""
    state = index.storage.snapshot
    scores = _core.score(state.corpus, [np.ascontiguousarray(query, np.float32)], 1)[0]
    best: dict[str, tuple[str, float]] = {}
    for position in sorted(state.searchable.tolist(), key=lambda position: (-scores[position], position)):
        one = str(state.ids_at([position])[0])
        best.setdefault(document_of(one), (one, float(scores[position])))
    return list(best.values())[:k]


@given(
    groups=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
    k=st.integers(1, 15),
    like=st.sampled_from([0.0, 3.0]),
    policy=st.sampled_from([ms.Certified(), ms.Exhaustive()]),
)
@settings(deadline=None)
def test_the_best_of_each_group_in_order(groups: list[int], seed: int, k: int, like: float, policy: Policy) -> None:
    index = make(groups, seed, like=like)
    query = np.random.default_rng(seed + 1).standard_normal((4, 8))
    hits = index.search(query, k, policy=policy)
    assert list(hits) == best_groups(index, query, k)
    assert hits.report.guarantee == "exact"
    (many,) = index.search_many([query], k, policy=policy)
    assert list(many) == list(hits)


def test_one_group_that_crowds_out_the_others_takes_one_place() -> None:
    rng = np.random.default_rng(0)
    crowd = [np.eye(4, dtype=np.float32)[:1] * (1 + i / 1000) for i in range(500)]
    others = [rng.uniform(0, 0.1, (1, 4)).astype(np.float32) for _ in range(20)]
    ids = [f"crowd/{i}" for i in range(500)] + [f"other{i}/0" for i in range(20)]
    index = ms.Index.build([*crowd, *others], ids, group_by=document_of)
    hits = index.search(np.eye(4)[:1], k=10)
    assert len(hits) == 10
    assert hits.ids[0] == "crowd/499"
    assert len({document_of(one) for one in hits.ids}) == 10
    assert list(hits) == best_groups(index, np.eye(4)[:1], 10)


def test_explain_and_metadata_are_those_of_the_best_documents() -> None:
    docs = [[[0.5, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]]
    index = ms.Index.build(docs, ["a/0", "a/1", "b/0"], metadata=["half", "whole", "none"], group_by=document_of)
    hits = index.search([[1.0, 0.0]], k=2)
    assert hits.ids == ["a/1", "b/0"]
    assert hits.metadata == ["whole", "none"]
    assert hits.explain(0) == [(0, 0, 1.0)]


def test_bandit_finds_as_many_groups() -> None:
    index = make([30] * 6, 3)
    query = np.random.default_rng(4).standard_normal((4, 8))
    hits = index.search(query, 6, policy=ms.Bandit(alpha=1, radius="serfling"))
    assert len({document_of(one) for one in hits.ids}) == 6
    assert hits.ids == index.search(query, 6, policy=ms.Bandit(alpha=1, radius="serfling")).ids


def test_a_calibration_is_about_groups_and_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_codebooks(monkeypatch)
    rng = np.random.default_rng(5)
    ids = [f"g{i // 5}/{i % 5}" for i in range(1000)]
    path = tmp_path / "index"
    with ms.Index.build(
        rng.standard_normal((3000, 8)), ids, lengths=[3] * 1000, path=path, group_by=document_of
    ) as new:
        new.calibrate(rng.standard_normal((200, 4, 8)), k=10)
    with ms.Index.open(path, group_by=document_of) as index:
        assert index.storage.snapshot.calibration is not None
        assert set(index.storage.snapshot.calibration.hits) == {"documents", "groups"}
        asked = rng.standard_normal((100, 4, 8))
        found = index.search_many(asked, 10, policy=ms.Calibrated(0.9))
        assert {hits.report.guarantee for hits in found} == {"calibrated"}
        assert {len({document_of(one) for one in hits.ids}) for hits in found} == {10}
        kept = [
            len({document_of(one) for one in hits.ids} & {document_of(one) for one, _ in best_groups(index, query, 10)})
            for hits, query in zip(found, asked, strict=True)
        ]
        assert np.mean(kept) >= 8.5
    with ms.Index.open(path) as index:  # the same calibration is about single documents
        exact = index.search_many(asked, 10)
        found = index.search_many(asked, 10, policy=ms.Calibrated(0.9))
        assert {hits.report.guarantee for hits in found} == {"calibrated"}
        assert np.mean([len({*a.ids} & {*b.ids}) for a, b in zip(found, exact, strict=True)]) >= 8.5


def test_a_group_that_is_excluded_in_part_is_another_group(monkeypatch: pytest.MonkeyPatch) -> None:
    small_codebooks(monkeypatch)
    rng = np.random.default_rng(6)
    ids = [f"g{i // 2}/{i % 2}" for i in range(1000)]
    index = ms.Index.build(rng.standard_normal((2000, 8)), ids, lengths=[2] * 1000, group_by=document_of)
    index.calibrate(rng.standard_normal((300, 4, 8)), k=40)
    query, policy = rng.standard_normal((4, 8)), ms.Calibrated(0.9)
    assert index.search(query, 10, policy=policy, exclude=["g7/0", "g7/1"]).report.guarantee == "calibrated"
    assert index.search(query, 10, policy=policy, exclude=["g7/0"]).report.guarantee == "exact"


def test_documents_are_added_and_deleted_in_one_step(tmp_path: Path) -> None:
    for path in (None, tmp_path / "index"):
        index = ms.Index.build([[[1.0]], [[2.0]], [[3.0]]], ["a", "b", "c"], path=path)
        index.add([[[4.0]]], ["a"], replace=True, delete=["b"])
        assert index.ids == ["c", "a"]
        with pytest.raises(KeyError, match="'x'"):
            index.add([[[4.0]]], ["d"], delete=["x"])
        with pytest.raises(ValueError, match="'c'"):
            index.add([[[4.0]]], ["c"], replace=True, delete=["c"])
        assert index.ids == ["c", "a"]
        index.close()
