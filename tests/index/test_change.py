"""An index that was changed answers like a new one with the same documents, in insertion order."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import maxsieve as ms
from long_form import LONG, scaled
from maxsieve.storage import segments

from .support import POLICIES, Rows, answer, answers, bits, contents, eighths, expected, query_of


def one_hot(i: int, d: int = 5, scale: float = 1.0) -> Rows:
    rows = np.zeros((1, d), np.float32)
    rows[0, i] = scale
    return rows


def fresh(documents: dict[Any, Rows], dim: int = 5, **how: Any) -> ms.Index:
    index = ms.Index.create(dim, **how)
    index.add(list(documents.values()), list(documents))
    return index


def test_an_empty_index() -> None:
    index = ms.Index.create(7)
    assert (len(index), index.dim, index.tokens, index.nbytes, index.ids) == (0, 7, 0, 0, [])
    assert 0 not in index
    for policy in POLICIES:
        hits = index.search(np.ones((2, 7)), policy=policy)
        assert (len(hits), hits.ids, hits.scores.shape, hits.scores.dtype) == (0, [], (0,), np.float32)
        assert hits.report.guarantee == "exact"
        assert hits.report.rescored == 0
    assert index.search_many([]) == []
    index.compact()
    index.delete([])
    index.add([], [])
    assert len(index) == 0
    assert bool(index.search(np.ones((2, 7)))) is False


def test_sizes_count_what_is_there() -> None:
    index = fresh({"a": np.ones((3, 5)), "b": np.ones((0, 5)), "c": np.ones((2, 5))})
    assert (len(index), index.tokens) == (3, 5)
    before = index.nbytes
    assert before >= 5 * 5 * 4
    index.delete("a")
    assert (len(index), index.tokens, index.nbytes) == (2, 2, before)
    index.compact()
    assert (len(index), index.tokens) == (2, 2)
    assert index.nbytes < before
    assert "a" not in index
    assert index.vectors("b").shape == (0, 5)
    assert "2 documents, 2 tokens, dim 5" in repr(index)


def test_delete_takes_many_or_one() -> None:
    index = ms.Index.build(eighths(0, 9))
    index.delete(3)
    index.delete(np.int32(4))
    index.delete([0, 0, 8])
    index.delete(np.array([1]))
    index.delete(i for i in (5, 6))
    assert index.ids == [2, 7]
    names = ms.Index.build(eighths(0, 2), ["ab", "a"])
    names.delete("ab")
    assert names.ids == ["a"]


def test_delete_all_and_begin_again() -> None:
    index = ms.Index.build(eighths(1, 6))
    index.delete(index.ids)
    assert (len(index), index.tokens, index.ids) == (0, 0, [])
    for policy in POLICIES:
        assert index.search(query_of(0), policy=policy).ids == []
    assert index.search(query_of(0), candidates=[]).ids == []
    assert index.search(query_of(0), candidates=np.zeros(0, np.bool_)).ids == []
    index.add([one_hot(0)], [3])
    assert index.search(one_hot(0)).ids == [3]
    index.delete(3)
    index.add([one_hot(1)], ["now a text"])  # nothing is left of the integers
    assert index.ids == ["now a text"]
    index.delete("now a text")
    index.compact()
    assert index.nbytes == 0
    index.add([one_hot(1)], [0])
    assert bits(index.search(one_hot(1))) == expected(one_hot(1), {0: one_hot(1)}, 1)


@pytest.mark.parametrize("compact", [False, True])
def test_a_deleted_id_returns_at_the_end(compact: bool) -> None:
    same = one_hot(2)
    index = fresh(dict.fromkeys("abcd", same))
    assert index.search(same, 4).ids == list("abcd")
    index.delete(["b"])
    if compact:
        index.compact()
    index.add([same], ["b"])
    assert index.search(same, 4).ids == index.ids == list("acdb")


@pytest.mark.parametrize("policy", POLICIES)
def test_replacing_takes_the_last_place_also_in_ties(policy: Any) -> None:
    same = one_hot(2)
    index = fresh(dict.fromkeys("abcd", same))
    index.add([same, same], ["c", "a"], replace=True)
    assert index.ids == list("bdca")
    assert index.search(same, 3, policy=policy).ids == list("bdc")
    index.add([one_hot(2, scale=2), same], ["c", "new"], replace=True)
    assert index.search(same, 9, policy=policy).ids == ["c", "b", "d", "a", "new"]
    assert index.vectors("c").tolist() == one_hot(2, scale=2).tolist()
    assert (len(index), index.tokens) == (5, 5)
    index.add([np.zeros((0, 5))], ["c"], replace=True)
    assert index.search(same, 9, policy=policy).ids == ["b", "d", "a", "new"]
    index.compact()
    assert index.ids == ["b", "d", "a", "new", "c"]
    assert index.search(same, 9, policy=policy).ids == ["b", "d", "a", "new"]


def test_empty_documents_never_hit() -> None:
    index = fresh({0: np.zeros((0, 5)), 1: -one_hot(0), 2: np.zeros((0, 5)), 3: -one_hot(0, scale=3)})
    for policy in POLICIES:
        hits = index.search(one_hot(0), 100, policy=policy)
        assert hits.ids == [1, 3]
        assert hits.scores.tolist() == [-1, -3]
        assert index.search(one_hot(0), 100, policy=policy, candidates=[0, 2]).ids == []
        assert index.search(one_hot(0), 100, policy=policy, candidates=[0, 3]).ids == [3]
    only = fresh({0: np.zeros((0, 5))})
    assert only.search(one_hot(0)).ids == []
    assert (len(only), only.tokens) == (1, 0)


def test_ids_are_what_they_were() -> None:
    texts = ms.Index.build([one_hot(0), one_hot(1)], ["1", "-1"])
    assert "1" in texts
    assert 1 not in texts
    whole = ms.Index.build([one_hot(0), one_hot(1), one_hot(2)], np.array([1, -1, -7], np.int16))
    assert 1 in whole
    assert np.int64(-7) in whole
    assert np.uint8(1) in whole
    for strange in ("1", 1.0, True, np.bool_(True), None, [1], b"1", 2**80, np.float32(1)):
        assert strange not in whole
    assert whole.search(one_hot(1), 1).ids == [-1]
    assert all(type(one) is int for one in whole.ids + whole.search(one_hot(1)).ids)
    assert whole.vectors(np.int64(-7)).tolist() == one_hot(2).tolist()
    for odd in ("", " ", "\x00", "\udc80", "Füße", "a" * 10_000):
        assert fresh({odd: one_hot(0)}).search(one_hot(0)).ids == [odd]


def test_an_id_that_only_looks_like_a_text_is_one() -> None:
    class Colour(str, enum.Enum):
        RED = "red"

    index = ms.Index.build([one_hot(0)], [Colour.RED])
    assert index.ids == ["red"]
    assert type(index.ids[0]) is str
    assert "red" in index
    assert Colour.RED in index
    assert index.search(one_hot(0), candidates=[Colour.RED]).ids == ["red"]
    assert ms.Index.build([one_hot(0)], [np.str_("red")]).ids == ["red"]


@pytest.mark.parametrize("how", [{}, {"store": "float16", "similarity": "cosine"}])
def test_many_single_adds_leave_few_segments(how: dict[str, Any]) -> None:
    documents = dict(enumerate(eighths(3, 300, longest=6)))
    index = ms.Index.create(5, **how)
    for one, rows in documents.items():
        index.add([rows], [one])
    assert len(index.storage.snapshot.segments) <= 2 * math.log2(300)
    whole = fresh(documents, **how)
    assert len(whole.storage.snapshot.segments) == 1
    assert contents(index) == contents(whole)
    gone = list(range(0, 300, 3))
    index.delete(gone)
    whole.delete(gone)
    index.compact()
    assert contents(index) == contents(whole)
    assert len(index.storage.snapshot.segments) <= 2 * math.log2(300)


@given(sizes=st.lists(st.integers(0, 12), max_size=25), block=st.sampled_from([0, 300, 2000, 1 << 20]))
def test_merging_never_mixes_documents_up(sizes: list[int], block: int) -> None:
    documents = {i: np.full((size, 2), i, np.float32) for i, size in enumerate(sizes)}
    index = ms.Index.create(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "BLOCK_BYTES", block)
        for one, rows in documents.items():
            index.add([rows], [one])
    assert index.ids == list(documents)
    for one, rows in documents.items():
        assert index.vectors(one).tolist() == rows.tolist()
    assert bits(index.search([[1.0, 1.0]], 99)) == expected(np.ones((1, 2), np.float32), documents, 99)


def test_vectors_are_the_callers_own() -> None:
    index = ms.Index.build([one_hot(0), one_hot(1)])
    taken = index.vectors(0)
    assert taken.flags.writeable
    assert taken.flags.c_contiguous
    taken[:] = 9
    assert index.vectors(0).tolist() == one_hot(0).tolist()
    assert index.search(one_hot(0), 1).scores.tolist() == [1]


def test_a_generator_may_use_the_index_it_goes_into() -> None:
    index = ms.Index.build(eighths(2, 6))
    index.add((2 * index.vectors(one) for one in index.ids), [one + 10 for one in index.ids])
    assert index.vectors(13).tolist() == (2 * index.vectors(3)).tolist()

    def moved() -> Any:
        for one in (1, 2):
            rows = index.vectors(one)
            index.delete(one)
            yield rows

    index.add(moved(), [21, 22])
    assert index.ids == [0, 3, 4, 5, 10, 11, 12, 13, 14, 15, 21, 22]
    again = ms.Index.build([index.vectors(one) for one in index.ids], index.ids)
    assert contents(index) == contents(again)


def test_an_id_taken_meanwhile_is_refused_at_the_end() -> None:
    index = ms.Index.create(5)

    def docs() -> Any:
        index.add([one_hot(0)], ["x"])
        yield one_hot(1)

    with pytest.raises(ValueError, match="'x'"):
        index.add(docs(), ["x"])
    assert index.vectors("x").tolist() == one_hot(0).tolist()

    def other_type() -> Any:
        index.delete("x")
        index.add([one_hot(0)], [7])
        yield one_hot(1)

    with pytest.raises(TypeError, match=r"\bint\b.*\bstr\b"):
        index.add(other_type(), ["x"], replace=True)
    assert index.ids == [7]


def test_old_hits_and_their_explanations_survive_change() -> None:
    index = ms.Index.build(eighths(4, 10))
    hits = index.search(query_of(1), 5)
    before = bits(hits), [hits.explain(i) for i in range(5)]
    index.delete(hits.ids[:2])
    index.compact()
    index.add(eighths(5, 20), range(100, 120))
    index.close()
    assert (bits(hits), [hits.explain(i) for i in range(5)]) == before


def test_refresh_and_verify_do_nothing() -> None:
    index = ms.Index.build(eighths(4, 10))
    before = contents(index)
    index.refresh()
    index.verify()
    assert contents(index) == before


rows_of = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), max_size=3).map(
    lambda rows: np.array(rows, np.float32).reshape(-1, 3)
)
some_ids = st.lists(st.integers(-3, 8), max_size=4, unique=True)


class ChangingIndex(RuleBasedStateMachine):
    """An index beside a dict in insertion order."""

    @initialize(
        first=st.dictionaries(st.integers(-3, 8), rows_of, max_size=5),
        how=st.sampled_from([{}, {"store": "float16"}]),
        block=st.sampled_from([30, 200, 1 << 20]),
    )
    def begin(self, first: dict[int, Rows], how: dict[str, Any], block: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(segments, "BLOCK_BYTES", block)
        self.model = dict(first)
        self.index = fresh(first, 3, **how)
        self.how = how

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()

    @rule(ids=some_ids, data=st.data(), replace=st.booleans())
    def add(self, ids: list[int], data: st.DataObject, replace: bool) -> None:
        new = {one: data.draw(rows_of) for one in ids}
        if not replace and self.model.keys() & new.keys():
            with pytest.raises(ValueError, match=r"^ids"):
                self.index.add(list(new.values()), ids)
            return
        self.index.add(iter(new.values()), ids, replace=replace)
        for one in ids:
            self.model.pop(one, None)
        self.model.update(new)

    @rule(ids=some_ids)
    def delete(self, ids: list[int]) -> None:
        if set(ids) <= self.model.keys():
            self.index.delete(ids)
            for one in ids:
                del self.model[one]
        else:
            with pytest.raises(KeyError):
                self.index.delete(ids)

    @rule()
    def compact(self) -> None:
        self.index.compact()
        rows = sum(len(doc) for doc in self.model.values())
        assert sum(segment.tokens for segment in self.index.storage.snapshot.segments) == rows

    @rule(bad=st.sampled_from([np.full((1, 3), np.nan), np.ones((2, 2)), "text"]), ids=some_ids)
    def fail(self, bad: Any, ids: list[int]) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.index.add([np.ones((1, 3)), bad], [*ids[:1], 99], replace=True)

    @rule(query=rows_of.filter(len), k=st.integers(1, 9), chosen=some_ids, unwanted=some_ids, limit=st.booleans())
    def search(self, query: Rows, k: int, chosen: list[int], unwanted: list[int], limit: bool) -> None:
        chosen = [one for one in chosen if one in self.model]
        unwanted = [one for one in unwanted if one in self.model]
        kept = {one: rows for one, rows in self.model.items() if (not limit or one in chosen) and one not in unwanted}
        found = [
            self.index.search(query, k, policy=policy, candidates=chosen if limit else None, exclude=unwanted)
            for policy in POLICIES
        ]
        for hits in found[:2]:
            assert bits(hits) == expected(query, kept, k)
        again = fresh(kept, 3, **self.how)
        assert answer(found[2]) == answer(again.search(query, k, policy=POLICIES[2]))

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "model"):
            return
        assert self.index.ids == list(self.model)
        assert len(self.index) == len(self.model)
        assert self.index.tokens == sum(map(len, self.model.values()))
        for one in range(-3, 9):
            assert (one in self.index) == (one in self.model)
        for one, rows in self.model.items():
            assert self.index.vectors(one).tolist() == rows.tolist()


TestChangingIndex = ChangingIndex.TestCase
TestChangingIndex.settings = settings(
    max_examples=scaled(200), stateful_step_count=25, deadline=None, derandomize=not LONG
)


def test_answers_after_change_are_those_of_a_fresh_index(isa: str) -> None:
    documents = dict(enumerate(eighths(6, 60, d=37, longest=9)))
    index = fresh({one: documents[one] for one in range(40)}, 37)
    index.delete(range(0, 40, 4))
    index.add([documents[one] for one in range(30, 60)], range(30, 60), replace=True)
    kept = {one: documents[one] for one in range(30) if one % 4}
    kept.update({one: documents[one] for one in range(30, 60)})
    assert index.ids == list(kept)
    assert answers(index, 7) == answers(fresh(kept, 37), 7)
    index.compact()
    assert answers(index, 7) == answers(fresh(kept, 37), 7)


@pytest.mark.parametrize("how", [{}, {"store": "float16", "similarity": "cosine"}])
def test_compaction_and_merging_keep_codes_and_bounds_with_their_documents(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    documents = {i: rng.standard_normal((i % 5, 9)) * 2.0 ** (i % 7) for i in range(50)}
    index = ms.Index.create(9, **how)
    for one, rows in documents.items():
        index.add([rows], [one])
    index.add([documents[one] for one in (3, 30)], [3, 30], replace=True)
    index.delete(range(0, 50, 6))
    index.compact()
    kept = {one: documents[one] for one in index.ids}
    (whole,) = fresh(kept, 9, **how).storage.snapshot.segments
    assert list(whole.blocks) == ["scale", "rho", "nu", "codes", "rows"]
    for name, block in whole.blocks.items():
        parts = [segment.blocks[name] for segment in index.storage.snapshot.segments]
        assert np.concatenate(parts).tobytes() == block.tobytes(), name
    lengths = np.concatenate([np.diff(segment.offsets) for segment in index.storage.snapshot.segments])
    assert lengths.tolist() == [len(rows) for rows in kept.values()]
