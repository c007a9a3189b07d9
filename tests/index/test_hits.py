"""Results: hits, their explanation and report; scoring without an index; the current kernel."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import spec

from .support import POLICIES, Rows, answer, bits, eighths, expected, query_of, run_script

DOCUMENTS = eighths(21, 25, longest=6)
SOLID = [doc for doc in DOCUMENTS if len(doc)]


@pytest.fixture(scope="module")
def index() -> ms.Index:
    return ms.Index.build(DOCUMENTS)


@pytest.mark.parametrize("policy", POLICIES)
def test_hits_are_a_sequence_of_pairs(policy: Any, index: ms.Index) -> None:
    hits = index.search(query_of(0), 4, policy=policy)
    assert len(hits) == len(hits.ids) == len(hits.scores) == 4
    assert type(hits.ids) is list
    assert type(hits.scores) is np.ndarray
    assert (hits.scores.dtype, hits.scores.ndim) == (np.float32, 1)
    pairs = list(hits)
    assert pairs == list(hits), "it can be iterated again"
    assert [one for one, _ in pairs] == hits.ids
    assert [score for _, score in pairs] == hits.scores.tolist()
    assert all(type(score) is float for _, score in pairs)
    assert repr(hits) == f"Hits({pairs!r}, guarantee={hits.report.guarantee!r})"
    assert np.all(np.diff(hits.scores) <= 0)
    assert bool(hits) is True
    assert dict(hits)[hits.ids[0]] == hits.scores[0]


HOSTILE = "<script>alert('&')</script>"


def named_index() -> ms.Index:
    documents = [[[float(i + 1)]] for i in range(6)]
    return ms.Index.build(documents, [HOSTILE, *"bcdef"], metadata=[{"n": i} for i in range(6)])


def through_pickle(hits: ms.Hits) -> Any:
    return pickle.loads(pickle.dumps(hits))


@pytest.mark.parametrize("sent", [lambda hits: hits, through_pickle], ids=["at home", "pickled"])
def test_a_hit_by_rank(sent: Any) -> None:
    hits = sent(named_index().search([[2.0]], 4))
    first, last = hits[0], hits[-1]
    assert (first.id, first.score, first.metadata, first.rank, first.text) == ("f", 12.0, {"n": 5}, 0, None)
    assert (last.id, last.score, last.metadata, last.rank) == ("c", 6.0, {"n": 2}, 3)
    document, score = first
    assert (document, score) == ("f", 12.0) == first == hits[-4]
    assert first.explain() == hits.explain(0)
    assert through_pickle(first).metadata == first.metadata
    for rank in (4, -5):
        with pytest.raises(IndexError):
            hits[rank]


@given(
    part=st.slices(5),
    then=st.slices(3),
    sent=st.sampled_from([lambda hits: hits, through_pickle, copy.copy]),
)
def test_a_slice_is_the_hits_of_a_list_with_that_slice(part: slice, then: slice, sent: Any) -> None:
    hits = named_index().search([[2.0], [1.0]], 5)
    some = sent(hits)[part]
    assert type(some) is ms.Hits
    for got, want in ((some, list(hits)[part]), (sent(some)[then], list(hits)[part][then])):
        assert list(got) == want
        assert got.ids == [one for one, _ in want]
        assert got.scores.tolist() == [score for _, score in want]
        assert got.metadata == [hit.metadata for hit in want]
        assert [got.explain(rank) for rank in range(len(got))] == [hit.explain() for hit in want]
        assert (got.report, got.query_tokens) == (hits.report, 2)


def test_a_notebook_shows_tables_with_nothing_of_the_ids_as_html() -> None:
    index = named_index()
    hits = index.search([[-1.0]], 2)
    assert hits.ids == [HOSTILE, "b"]
    for shown in (hits._repr_html_(), through_pickle(hits)._repr_html_()):
        assert "<td>&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;</td><td>-1.0000</td>" in shown
        assert "<script" not in shown
        assert "guarantee: exact" in shown
    assert "<td>exact</td>" in hits.report._repr_html_()
    facts = index._repr_html_()
    assert "<td>documents</td><td>6</td>" in facts
    assert "<td>tokens</td><td>6</td>" in facts


def test_a_notebook_shows_that_an_index_is_closed() -> None:
    index = named_index()
    index.close()
    assert index._repr_html_() == "&lt;closed maxsieve.Index&gt;"


@pytest.mark.parametrize("policy", POLICIES)
def test_the_report_has_the_promised_fields(policy: Any, index: ms.Index, isa: str) -> None:
    for k in (1, 4, 100):
        report = index.search(query_of(0, 9), k, policy=policy).report
        assert report.guarantee in ("exact", "pac", "none")
        assert type(report.coverage) is float
        assert 0 <= report.coverage <= 1
        assert type(report.rescored) is int
        assert min(k, len(SOLID)) <= report.rescored <= len(SOLID)
        assert report.isa == isa == ms.isa()
        assert type(report.seconds) is float
        assert 0 < report.seconds < 10
        assert report.stages
        assert all(type(name) is str and type(took) is float and took >= 0 for name, took in report.stages.items())
        assert sum(report.stages.values()) <= report.seconds * 1.01 + 1e-5
        assert type(report.rounds) is list
        for one in report.rounds:
            active, revealed, threshold = one
            assert (one.active, one.revealed, one.threshold) == (active, revealed, threshold)
            assert type(active) is type(revealed) is int
            assert type(threshold) is float
            assert 0 < revealed <= 9
            assert 0 < active <= len(SOLID)
    assert set(get_type_hints(ms.Report)) == {
        "guarantee",
        "coverage",
        "survivors",
        "touched",
        "calibrated_for",
        "rescored",
        "rounds",
        "isa",
        "seconds",
        "stages",
        "calibrated_on",
        "added",
        "deleted",
        "missing",
        "members",
        "agreements",
        "retried",
        "hedged",
    }


def test_what_the_policies_report(index: ms.Index) -> None:
    query = query_of(0, 9)
    certified = index.search(query, 3).report
    assert (certified.guarantee, certified.coverage) == ("exact", 1.0)
    assert [(one.active, one.revealed) for one in certified.rounds] == [(len(SOLID), 9)]
    exhaustive = index.search(query, 3, policy=ms.Exhaustive()).report
    assert (exhaustive.guarantee, exhaustive.coverage, exhaustive.rescored) == ("exact", 1.0, len(SOLID))
    lazy = index.search(query, 3, policy=ms.Bandit(margin=1000)).report
    assert (lazy.guarantee, lazy.coverage, lazy.rescored, lazy.rounds) == ("exact", 0.0, len(SOLID), [])
    bold = index.search(query, 3, policy=ms.Bandit(alpha=0.01, margin=0, block=2)).report
    assert bold.guarantee == "none"
    assert 0 < bold.coverage < 1
    assert [one.revealed for one in bold.rounds] == [2, 4, 6, 8, 9][: len(bold.rounds)]
    actives = [one.active for one in bold.rounds]
    assert actives == sorted(actives, reverse=True)
    assert answer(index.search(query, 3)) == answer(index.search(query, 3, policy=ms.Certified()))


def check_explanation(hits: ms.Hits, query: Rows, documents: dict[Any, Rows]) -> None:
    for rank, one in enumerate(hits.ids):
        table = spec.similarities(query, documents[one])
        matches = hits.explain(rank)
        assert [match.query_token for match in matches] == list(range(len(query)))
        assert [match.document_token for match in matches] == table.argmax(axis=1).tolist()
        found = np.array([match.similarity for match in matches], np.float32)
        assert found.tobytes() == table[np.arange(len(query)), table.argmax(axis=1)].tobytes()
        assert spec.score_of_cells(found).tobytes() == hits.scores[rank].tobytes()
        assert all(type(part) in (int, float) for match in matches for part in match)


@given(seed=st.integers(0, 10_000), tokens=st.integers(1, 9), d=st.sampled_from([1, 3, 8, 17]))
def test_explanations_are_those_of_the_specification(seed: int, tokens: int, d: int) -> None:
    documents = dict(enumerate(eighths(seed, 5, d, longest=5)))
    query = query_of(seed, tokens, d)
    for store in ("float32", "float16"):
        index = ms.Index.build(list(documents.values()), store=store)  # type: ignore[arg-type]
        check_explanation(index.search(query, 5), query, documents)


def test_explanations_on_every_kernel(isa: str) -> None:
    rng = np.random.default_rng(0)
    documents = {i: rng.standard_normal((n, 37)).astype(np.float32) for i, n in enumerate((1, 2, 70))}
    query = rng.standard_normal((19, 37)).astype(np.float32)
    index = ms.Index.build(list(documents.values()))
    check_explanation(index.search(query, 3), query, documents)
    cosine = ms.Index.build(list(documents.values()), similarity="cosine")
    normalised = {i: spec.normalise(rows) for i, rows in documents.items()}
    check_explanation(cosine.search(query, 3), spec.normalise(query), normalised)


def test_the_first_of_equal_tokens_is_named() -> None:
    row = np.ones((1, 4), np.float32)
    document = np.concatenate([-row, row, row, row])
    assert ms.rerank(row, [document]).explain(0) == [ms.Match(0, 1, 4.0)]
    assert ms.rerank(row, [-row, document]).explain(0) == [ms.Match(0, 1, 4.0)]


# Scoring without an index


def ragged(count: int, seed: int = 0, d: int = 11) -> list[Rows]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((int(n), d)).astype(np.float32) for n in rng.integers(1, 7, count)]


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_maxsim_is_canonical(threads: int | None, isa: str) -> None:
    queries, documents = ragged(4), [*ragged(9, 1), np.zeros((0, 11), np.float32), *ragged(2, 2)]
    scores = ms.maxsim(queries, documents, threads=threads)
    assert (scores.dtype, scores.shape) == (np.float32, (4, 12))
    assert scores.tobytes() == np.stack([spec.scores(query, documents) for query in queries]).tobytes()
    assert np.all(scores[:, 9] == -np.inf)


def test_maxsim_with_masks_reads_nothing_else(isa: str) -> None:
    rng = np.random.default_rng(3)
    queries = np.full((3, 6, 11), np.nan, np.float32)
    documents = np.full((5, 8, 11), np.nan, np.float32)
    query_mask, document_mask = rng.random((3, 6)) < 0.6, rng.random((5, 8)) < 0.5
    query_mask[:, 2] = True
    document_mask[3] = False
    queries[query_mask] = rng.standard_normal((query_mask.sum(), 11))
    documents[document_mask] = -np.abs(rng.standard_normal((document_mask.sum(), 11)))
    kept = [documents[i][document_mask[i]] for i in range(5)]
    want = np.stack([spec.scores(queries[i][query_mask[i]], kept) for i in range(3)])
    scores = ms.maxsim(queries, documents, query_mask=query_mask, document_mask=document_mask)
    assert scores.tobytes() == want.tobytes()
    assert np.all(scores[:, 3] == -np.inf)
    as_numbers = ms.maxsim(
        queries, documents, query_mask=query_mask.astype(int).tolist(), document_mask=document_mask.astype(np.float32)
    )
    assert as_numbers.tobytes() == want.tobytes()
    mixed = ms.maxsim([queries[i][query_mask[i]] for i in range(3)], documents, document_mask=document_mask)
    assert mixed.tobytes() == want.tobytes()


def test_maxsim_of_one_and_of_none() -> None:
    query, document = ragged(1)[0], ragged(1, 1)[0]
    want = spec.scores(query, [document]).tobytes()
    for queries in (query, [query], query[None], iter([query])):
        for documents in (document, [document], document[None]):
            assert ms.maxsim(queries, documents).tobytes() == want
            queries = [query]
    assert ms.maxsim([query] * 3, []).shape == (3, 0)
    assert ms.maxsim(query, np.zeros((0, 4, 11))).shape == (1, 0)
    assert ms.maxsim(query, np.zeros((2, 0, 11))).tolist() == [[-np.inf, -np.inf]]
    assert ms.maxsim(query, [[], document.tolist(), []]).tolist()[0][::2] == [-np.inf, -np.inf]


@pytest.mark.parametrize("policy", [None, *POLICIES])
def test_rerank_is_an_index_searched_once(policy: Any, index: ms.Index) -> None:
    for k in (1, 5, 99):
        hits = ms.rerank(query_of(1), DOCUMENTS, k, policy=policy)
        assert answer(hits) == answer(index.search(query_of(1), k, policy=policy))
        assert hits.explain(0) == index.search(query_of(1), k, policy=policy).explain(0)
    assert ms.rerank(query_of(1), (doc for doc in DOCUMENTS), policy=policy).ids[0] == hits.ids[0]


def test_rerank_of_nothing() -> None:
    for nothing in ([], iter([]), [[], []], [np.zeros((0, 5))], np.zeros((0, 3, 5)), np.zeros((4, 0, 5))):
        hits = ms.rerank(query_of(1), nothing)
        assert (hits.ids, len(hits.scores), hits.report.guarantee) == ([], 0, "exact")


# Bits


@pytest.mark.parametrize("policy", [ms.Certified(), ms.Exhaustive()])
def test_hits_are_those_of_the_specification(policy: Any, isa: str) -> None:
    documents = dict(enumerate(ragged(20, 5, 33)))
    index = ms.Index.build(list(documents.values()))
    for query in ragged(5, 6, 33):
        for k in (1, 3, 20, 21):
            assert bits(index.search(query, k, policy=policy)) == expected(query, documents, k)


FLUSHED = """
import sys
import numpy as np
import torch
import maxsieve as ms

rng = np.random.default_rng(0)
documents = [(rng.standard_normal((n, 9)) * 2.0 ** e).astype(np.float32)
             for n, e in ((3, -70), (2, -75), (4, -130), (5, -60), (1, -140), (3, -149), (6, -65))]
halves = [(rng.standard_normal((3, 9)) * 2.0 ** -20).astype(np.float16) for _ in range(5)]
query = (rng.standard_normal((6, 9)) * 2.0 ** -66).astype(np.float32)
ones = np.ones((3, 9), np.float32)

def everything():
    for how in ({}, {"similarity": "cosine"}, {"store": "float16"}):
        for docs in (documents, halves):
            for threads in (1, 2):
                index = ms.Index.build(docs, threads=threads, **how)
                for one in index.ids:
                    yield index.vectors(one).tobytes()
                for q in (query, ones):
                    for policy in (ms.Certified(), ms.Exhaustive(), ms.Bandit(margin=0, block=1)):
                        hits = index.search(q, 5, policy=policy, threads=threads)
                        report = hits.report
                        yield hits.ids, hits.scores.tobytes(), report.rescored, report.rounds, report.guarantee
                        explained = [match for rank in range(len(hits)) for match in hits.explain(rank)]
                        yield [match.document_token for match in explained]
    yield ms.maxsim([query, ones], documents + halves, threads=2).tobytes()

want = list(everything())
assert torch.set_flush_denormal(True), "this CPU can't flush denormals"
assert np.float32(1e-39) * np.float32(1) == 0, "and NumPy sees it"
got = list(everything())
torch.set_flush_denormal(False)
print([i for i, (a, b) in enumerate(zip(want, got, strict=True)) if a != b])
"""


@pytest.mark.full
def test_flushing_denormals_changes_no_bits() -> None:
    """Of ids, scores, reports, tokens of an explanation. (A denormal float32 becomes 0 as a Python float there.)"""
    for isa in ms.isas():
        done = run_script(FLUSHED, env={**os.environ, "MAXSIEVE_ISA": isa})
        if "can't flush" in done.stderr:
            pytest.skip("this CPU can't flush denormals")
        assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


# The current kernel


def test_the_kernels_of_this_machine() -> None:
    assert ms.isas()[-1] == "scalar"
    assert set(ms.isas()) <= {"amx", "avx512vnni", "avx2", "neon", "scalar"}
    assert ms.isa() in ms.isas()


ASK = """
import numpy as np
import maxsieve as ms

print(ms.isas())
for attempt in (ms.isa, lambda: ms.Index.build([np.eye(3)]), lambda: ms.maxsim(np.eye(3), [np.eye(3)]),
                lambda: ms.rerank(np.eye(3), [np.eye(3)])):
    try:
        print(attempt())
    except ValueError as problem:
        print(problem)
"""


@pytest.mark.parametrize("name", ["pentium", "AVX2", " scalar", "neon", "../x", "é"])
def test_a_kernel_that_is_not_there_is_an_error(name: str) -> None:
    if name in ms.isas():
        pytest.skip(f"this machine has {name}")
    done = run_script(ASK, env={**os.environ, "MAXSIEVE_ISA": name})
    assert done.returncode == 0, done.stderr
    available, *problems = done.stdout.splitlines()
    assert available == str(ms.isas())
    assert len(problems) == 4
    for problem in problems:
        assert "MAXSIEVE_ISA" in problem
        assert name in problem
        assert "scalar" in problem


@pytest.mark.parametrize("name", ["", "scalar"])
def test_a_kernel_can_be_forced(name: str) -> None:
    script = "import numpy as np, maxsieve as ms; print(ms.isa(), ms.rerank(np.eye(3), [np.eye(3)]).report.isa)"
    done = run_script(script, env={**os.environ, "MAXSIEVE_ISA": name})
    forced = name or ms.isas()[0]
    assert (done.returncode, done.stdout) == (0, f"{forced} {forced}\n"), done.stderr
