"""After any changes, through any of its open instances, a corpus in shards has the content of one index."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import maxsieve as ms
from index.support import listed
from long_form import scaled
from maxsieve.cluster import rebuild
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebuild import rebalance, train_codebook
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.storage import codebook, disk, segment_file, segments
from maxsieve.storage.segments import Layout

from .holding import content, plain, put

rows = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), max_size=3).map(
    lambda some: np.array(some, np.float32).reshape(-1, 3)
)
records: st.SearchStrategy[Any] = st.sampled_from([None, None, "text", {"title": "Füße"}, 0, [], "\x00'; DROP"])
documents = st.tuples(rows, records)
numbers = st.lists(st.integers(-3, 8), max_size=5, unique=True)
openings = st.integers(0, 1)


def spelled(number: int) -> str:
    """Str ids of many shapes: empty, a prefix of another, beyond ASCII, half a surrogate pair."""
    return ("", "a", "aa", "\x00", "ü", "\udc80", "𝄞", "b" * 40, "1", "-1", " ", "z")[number + 3]


class ShardedCorpus(RuleBasedStateMachine):
    """Two open instances of one corpus, and an index in memory that gets the same changes."""

    @initialize(
        text=st.booleans(),
        shards=st.sampled_from([1, 2, 3, 7]),
        store=st.sampled_from(["float32", "float16", "int8"]),
        similarity=st.sampled_from(["dot", "cosine"]),
        block=st.sampled_from([24, 100, 1 << 20]),
        small=st.sampled_from([0, 300, 1 << 20]),
        large=st.sampled_from([0, 500, 1 << 20]),
        most_open=st.sampled_from([1, 2, 64]),
    )
    def begin(
        self,
        text: bool,
        shards: int,
        store: Any,
        similarity: Any,
        block: int,
        small: int,
        large: int,
        most_open: int,
    ) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(codebook, "FEWEST", 8)
        self.patch.setattr(segments, "BLOCK_BYTES", block)
        self.patch.setattr(segment_file, "PIECE_BYTES", block)
        self.patch.setattr(disk, "SMALL_BYTES", small)
        self.patch.setattr(disk, "LARGE_BYTES", large)
        self.patch.setattr(rebuild, "MOST_OPEN", most_open)
        self.work = Path(tempfile.mkdtemp())
        self.name: Callable[[int], Any] = spelled if text else int
        folder = ShardedFolder.create(self.work / "corpus", Layout(3, store, similarity), shards=shards)
        self.folders = [folder, ShardedFolder.open(self.work / "corpus")]
        self.index = ms.Index.create(3, store=store, similarity=similarity)
        self.numbers: dict[Any, int] = {}

    @rule(which=openings, some=numbers, docs=st.lists(documents, min_size=5, max_size=5), replace=st.booleans())
    def add(self, which: int, some: list[int], docs: list[Any], replace: bool) -> None:
        self._add(which, [self.name(one) for one in some], docs, replace, [])

    @rule(which=openings, some=numbers, docs=st.lists(documents, min_size=5, max_size=5), gone=numbers)
    def add_and_delete(self, which: int, some: list[int], docs: list[Any], gone: list[int]) -> None:
        present = [self.name(one) for one in gone if one not in some and self.name(one) in self.index]
        self._add(which, [self.name(one) for one in some], docs, True, present)

    @rule(which=openings, some=numbers, docs=st.lists(documents, min_size=5, max_size=5), gone=numbers)
    def add_and_delete_anything(self, which: int, some: list[int], docs: list[Any], gone: list[int]) -> None:
        self._add(which, [self.name(one) for one in some], docs, True, [self.name(one) for one in gone])

    @rule(which=openings, some=numbers)
    def delete(self, which: int, some: list[int]) -> None:
        ids = [self.name(one) for one in some]
        self._both(lambda: self.index.delete(ids), lambda: self.folders[which].delete(ids))

    @rule(which=openings)
    def delete_all(self, which: int) -> None:
        ids = self.index.ids
        self._both(lambda: self.index.delete(ids), lambda: self.folders[which].delete(ids))

    @rule(which=openings)
    def compact(self, which: int) -> None:
        self.folders[which].compact()

    @rule(which=openings, shards=st.sampled_from([1, 2, 3, 5, 7]))
    def rebalance(self, which: int, shards: int) -> None:
        rebalance(self.folders[which], shards)
        assert len(self.folders[which].manifest.shards) == shards

    @rule(which=openings)
    def train(self, which: int) -> None:
        folder = self.folders[which]
        self._both(self.index.train_codebook, lambda: train_codebook(folder))
        book = self.index.storage.snapshot.codebook
        if book is not None and self.index.tokens:
            ours = folder.snapshot.here.codebook
            assert ours is not None
            for name in ("heads", "starts", "codes", "length"):
                assert getattr(ours, name).tobytes() == getattr(book, name).tobytes()
            assert (ours.scale, ours.tokens) == (book.scale, book.tokens)

    @rule(which=openings)
    def other_type(self, which: int) -> None:
        if len(self.index):
            other: Any = 5 if self.name is spelled else "5"
            with pytest.raises(TypeError, match=r"^ids"):
                put(self.folders[which], [np.ones((1, 3))], [other])

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "folders"):
            return
        for folder in self.folders:
            folder.refresh()
            found = content(folder)
            assert [one[:3] for one in found] == plain(self.index)
            kept = {one[0]: one[3] for one in found}
            assert all(self.numbers.setdefault(one, number) == number for one, number in kept.items())
            self.numbers = kept
            folder.verify()
            if folder.manifest.codebook is not None:
                self._same_names(folder)

    def teardown(self) -> None:
        if hasattr(self, "work"):
            self.patch.undo()
            shutil.rmtree(self.work, ignore_errors=LOCK_STAYS)  # it is still open

    def _same_names(self, folder: ShardedFolder) -> None:
        """Every document with lists has the same centroids as in the index."""
        theirs = self.index.storage.snapshot.here
        assert theirs.codebook is not None
        wanted = listed(theirs.coded(theirs.codebook, 1))
        for state in (folder.snapshot.here, theirs):
            assert all(mine in ([], wanted[one]) for one, mine in listed(state).items())

    def _add(self, which: int, ids: list[Any], docs: list[Any], replace: bool, delete: list[Any]) -> None:
        vectors, metadata = [one for one, _ in docs[: len(ids)]], [one for _, one in docs[: len(ids)]]
        done = self._both(
            lambda: self.index.add(vectors, ids, metadata=metadata, replace=replace, delete=delete),
            lambda: put(self.folders[which], vectors, ids, metadata, replace=replace, delete=delete),
        )
        if done:
            for one in ids:
                self.numbers.pop(one, None)

    def _both(self, plainly: Callable[[], object], sharded: Callable[[], object]) -> bool:
        """Makes a change to both, or checks that both refuse it for the same reason. Returns whether it was made."""
        try:
            plainly()
        except (KeyError, ValueError) as problem:
            with pytest.raises(type(problem)):
                sharded()
            return False
        sharded()
        return True


ShardedCorpus.TestCase.settings = settings(max_examples=scaled(40), stateful_step_count=12)
test_a_corpus_in_shards_holds_what_an_index_holds = ShardedCorpus.TestCase


def test_only_shards_have_a_place_in_the_folder(tmp_path: Path) -> None:
    folder = ShardedFolder.create(tmp_path / "corpus", Layout(3), shards=2)
    assert sorted(os.listdir(folder.path)) == ["cluster.json", "lock", "shards"]
    assert sorted(os.listdir(folder.path / "shards")) == ["0000", "0001"]
