"""Judged quality, against the definitions in plain NumPy and against ir-measures on its own."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.lab.metrics.quality import quality, ranked

DOCUMENTS = [f"d{number}" for number in range(12)]
RANKINGS = st.lists(st.sampled_from(DOCUMENTS), unique=True)
GRADES = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1)


def by_hand(ranking: list[str], grades: dict[str, int], k: int) -> dict[str, float]:
    """The measures as they are defined: linear gains, logarithmic discounts, relevant from grade 1 on."""
    gains = np.array([max(grades.get(one, 0), 0) for one in ranking[:k]], float)
    ideal = np.sort([max(grade, 0) for grade in grades.values()])[::-1][:k].astype(float)
    best = (ideal / np.log2(np.arange(2, len(ideal) + 2))).sum()
    relevant = sum(grade > 0 for grade in grades.values())
    hits = np.flatnonzero(gains)
    return {
        "nDCG": (gains / np.log2(np.arange(2, len(gains) + 2))).sum() / best if best else 0.0,
        "R": len(hits) / relevant if relevant else 0.0,
        "RR": 1 / (hits[0] + 1) if len(hits) else 0.0,
    }


@given(
    run=st.dictionaries(st.sampled_from("abcdx"), RANKINGS),
    judgements=st.dictionaries(st.sampled_from("abcd"), GRADES, min_size=1),
    k=st.integers(1, 12),
    tied=st.booleans(),
)
def test_measures_are_what_they_are_defined_to_be(
    run: dict[str, list[str]], judgements: dict[str, dict[str, int]], k: int, tied: bool
) -> None:
    """With ties, too: the order of the list is the order that counts."""
    scored = {
        query: [(one, 1.0 if tied else -float(rank)) for rank, one in enumerate(ids)] for query, ids in run.items()
    }
    found = quality(scored, judgements, [f"nDCG@{k}", f"R@{k}", f"RR@{k}"])
    assert set(found) == {f"nDCG@{k}", f"R@{k}", f"RR@{k}"}
    for query, grades in judgements.items():
        for name, value in by_hand(run.get(query, []), grades, k).items():
            assert found[f"{name}@{k}"][query] == pytest.approx(value, abs=1e-12)
    assert all(values.keys() == judgements.keys() for values in found.values())


def test_the_same_as_ir_measures_where_no_scores_are_equal() -> None:
    import ir_measures

    rng = np.random.default_rng(0)
    run = {
        f"q{number}": sorted(
            zip(rng.permutation(DOCUMENTS).tolist()[:8], rng.random(8).tolist(), strict=True), key=lambda hit: -hit[1]
        )
        for number in range(20)
    }
    judgements = {
        query: dict(zip(rng.permutation(DOCUMENTS).tolist()[:5], rng.integers(0, 3, 5).tolist(), strict=True))
        for query in run
    }
    names = ["nDCG@3", "nDCG@10", "R@5", "RR@10", "AP", "P@5"]
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.iter_calc(measures, judgements, {query: dict(hits) for query, hits in run.items()})
    expected = {(str(one.measure), one.query_id): one.value for one in theirs}
    found = quality(run, judgements, names)
    assert {(name, query): value for name, row in found.items() for query, value in row.items()} == expected


def test_ties_stay_as_they_were_broken() -> None:
    """Evaluators sort ties by document id, each in its own way. Our ties are in insertion order."""
    judgements = {"q": {"b": 1}}
    for order in (["a", "b", "c"], ["c", "b", "a"]):
        found = quality({"q": [(one, 0.5) for one in order]}, judgements, ["RR@10", "nDCG@2", "R@1", "P@2"])
        assert {name: row["q"] for name, row in found.items()} == pytest.approx(
            {"RR@10": 0.5, "nDCG@2": 1 / np.log2(3), "R@1": 0.0, "P@2": 0.5}
        )


def test_ties_stay_far_down_the_list() -> None:
    ids = [f"d{number}" for number in range(20_000)]
    assert quality({"q": ranked(ids)}, {"q": {ids[-1]: 1}}, ["RR@20000"])["RR@20000"]["q"] == 1 / 20_000


def test_both_names_of_a_measure() -> None:
    run, judgements = {"q": ranked(["x", "a"])}, {"q": {"a": 1, "b": 1}}
    found = quality(run, judgements, ["R@2", "Recall@2", "RR@2", "MRR@2", "nDCG@2", "NDCG@2"])
    assert list(found) == ["R@2", "Recall@2", "RR@2", "MRR@2", "nDCG@2", "NDCG@2"]
    assert (found["R@2"], found["RR@2"], found["nDCG@2"]) == (found["Recall@2"], found["MRR@2"], found["NDCG@2"])
    assert found["R@2"] == {"q": 0.5} == found["RR@2"]


def test_every_judged_query_counts() -> None:
    found = quality({"a": ranked(["x"]), "unjudged": ranked(["x"])}, {"a": {"x": 1}, "b": {"x": 1}}, ["RR@10", "R@1"])
    assert found == {"RR@10": {"a": 1.0, "b": 0.0}, "R@1": {"a": 1.0, "b": 0.0}}
    assert quality({}, {"a": {"x": 1}}, ["nDCG@10"]) == {"nDCG@10": {"a": 0.0}}
    assert quality({}, {}, ["nDCG@10"]) == {"nDCG@10": {}}
    assert quality({}, {"a": {"x": 1}}, []) == {}


@pytest.mark.parametrize("name", ["foo@3", "nDCG@", "nDCG@ten", "", "nDCG@10 or so", "nDCG(dcg='none')@3", "Compat@3"])
def test_an_unknown_measure(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(name))} "):
        quality({}, {"q": {"a": 1}}, [name])


def test_ids_that_are_not_text() -> None:
    """If an id is a number on one side and text on the other, all judgements would be lost."""
    with pytest.raises(TypeError, match=r"^run: .*\b7\b"):
        quality({"q": [(7, 1.0)]}, {"q": {"7": 1}}, ["RR@10"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"^judgements: .*\b7\b"):
        quality({"q": [("7", 1.0)]}, {"q": {7: 1}}, ["RR@10"])  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"^run: .*\b1\b"):
        quality({1: []}, {"1": {"7": 1}}, ["RR@10"])  # type: ignore[dict-item]


def test_a_document_comes_once() -> None:
    with pytest.raises(ValueError, match=r"'a'.*'q'"):
        quality({"q": ranked(["a", "b", "a"])}, {"q": {"a": 1}}, ["RR@10"])


def test_without_ir_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ImportError, match=r"ir_measures.*maxsieve\[lab\]"):
        quality({}, {}, ["nDCG@10"])
