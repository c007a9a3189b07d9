"""After any changes, through any of its open instances, an index on disk is like a dict in insertion order."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import maxsieve as ms
from index.support import POLICIES, Rows, answer
from long_form import LONG, scaled
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.storage import disk, positions, segment_file, segments

NOT_FOUND, MIXED = r"\bid\b", "^ids"


class Document(NamedTuple):
    rows: Rows
    record: Any


Model: TypeAlias = dict[Any, Document]

rows_of = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), max_size=3).map(
    lambda rows: np.array(rows, np.float32).reshape(-1, 3)
)
records: st.SearchStrategy[Any] = st.sampled_from(
    [None, None, "text", {"title": "Füße", "year": [1, 2.5]}, 0, [], True, "\x00'; DROP"]
)
documents = st.builds(Document, rows_of, records)
numbers = st.lists(st.integers(-3, 8), max_size=5, unique=True)
openings = st.integers(0, 1)


def spelled(number: int) -> str:
    """Str ids of many shapes: empty, a prefix of another, beyond ASCII, half a surrogate pair."""
    return ("", "a", "aa", "\x00", "ü", "\udc80", "𝄞", "b" * 40, "1", "-1", " ", "z")[number + 3]


def in_memory(model: Model, how: dict[str, Any]) -> ms.Index:
    index = ms.Index.create(3, **how)
    index.add([one.rows for one in model.values()], list(model), metadata=[one.record for one in model.values()])
    return index


class StoredIndex(RuleBasedStateMachine):
    """Two open instances of one index on disk. ``seen`` is what each must show: the version it was last updated to."""

    @initialize(
        first=st.lists(documents, max_size=5),
        text=st.booleans(),
        store=st.sampled_from(["float32", "float16"]),
        similarity=st.sampled_from(["dot", "cosine"]),
        block=st.sampled_from([24, 100, 1 << 20]),
        small=st.sampled_from([0, 300, 1 << 20]),
        large=st.sampled_from([0, 500, 1 << 20]),
        lookups=st.sampled_from([0, 3, 256]),
    )
    def begin(
        self,
        first: list[Document],
        text: bool,
        store: str,
        similarity: str,
        block: int,
        small: int,
        large: int,
        lookups: int,
    ) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(segments, "BLOCK_BYTES", block)
        self.patch.setattr(segment_file, "PIECE_BYTES", block)
        self.patch.setattr(disk, "SMALL_BYTES", small)
        self.patch.setattr(disk, "LARGE_BYTES", large)
        self.patch.setattr(positions, "LOOKUPS", lookups)
        self.patch.setattr(os, "fsync", lambda handle: None)  # durability is not tested here
        self.path = Path(tempfile.mkdtemp(), "an index")
        self.indexes: list[ms.Index] = []
        self.text = text
        self.how = {"store": store, "similarity": similarity}
        ids = [spelled(i) if text else i for i in range(len(first))]
        self.model: Model = dict(zip(ids, first, strict=True))
        if first:
            rows, metadata = [one.rows for one in first], [one.record for one in first]
            index = ms.Index.build(iter(rows), ids, metadata=metadata, path=self.path, **self.how)  # type: ignore[arg-type]
        else:
            index = ms.Index.create(3, path=self.path, **self.how)  # type: ignore[arg-type]
        self.indexes = [index, ms.Index.open(self.path)]
        self.seen = [dict(self.model), dict(self.model)]

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()
            for index in self.indexes:
                index.close()
            shutil.rmtree(self.path.parent)

    def ids(self, some: list[int]) -> list[Any]:
        return [spelled(one) if self.text else one for one in some]

    def wrote(self, which: int) -> None:
        """This instance has written: it is at the newest version, and no needless file is left."""
        self.seen[which] = dict(self.model)
        files = {path.name for path in self.path.iterdir()}
        wanted = self.files_of(which) | {"manifest.json", "lock"}
        assert wanted <= files
        assert not files - wanted or (LOCK_STAYS and files - wanted <= self.files_of(1 - which))  # still mapped there

    def files_of(self, which: int) -> set[str]:
        """The files of the version that this instance has."""
        store = self.indexes[which].storage
        assert isinstance(store, disk.DiskStorage)
        return store._directory.manifest.files

    @rule(some=numbers, data=st.data(), replace=st.booleans(), which=openings)
    def add(self, some: list[int], data: st.DataObject, replace: bool, which: int) -> None:
        new = {one: data.draw(documents) for one in self.ids(some)}
        rows, metadata = [one.rows for one in new.values()], [one.record for one in new.values()]
        index = self.indexes[which]
        if not replace and self.model.keys() & new.keys():
            with pytest.raises(ValueError, match=r"^ids"):
                index.add(rows, list(new), metadata=metadata)
        else:
            index.add(iter(rows), list(new), metadata=metadata, replace=replace)
            for one in new:
                self.model.pop(one, None)
            self.model.update(new)
        self.wrote(which)

    @rule(some=numbers, which=openings)
    def delete(self, some: list[int], which: int) -> None:
        ids = self.ids(some)
        if set(ids) <= self.model.keys():
            self.indexes[which].delete(ids)
            for one in ids:
                del self.model[one]
        else:
            with pytest.raises(KeyError, match=NOT_FOUND):
                self.indexes[which].delete(ids)
        self.wrote(which)

    @rule(which=openings)
    def delete_all(self, which: int) -> None:
        if len(self.model) <= 4:
            self.indexes[which].delete(list(self.model))
            self.model.clear()
            self.wrote(which)

    @rule()
    def change_id_type(self) -> None:
        if not self.model:
            self.text = not self.text

    @rule(which=openings)
    def compact(self, which: int) -> None:
        self.indexes[which].compact()
        self.wrote(which)
        parts = self.indexes[which].storage.snapshot.segments
        assert sum(segment.tokens for segment in parts) == sum(len(one.rows) for one in self.model.values())
        assert sum(segment.documents for segment in parts) == len(self.model)
        if disk.LARGE_BYTES > 10_000:
            assert len(parts) <= 1

    @rule(bad=st.sampled_from([np.full((1, 3), np.nan), np.ones((2, 2)), "text"]), some=numbers, which=openings)
    def fail(self, bad: Any, some: list[int], which: int) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.indexes[which].add([np.ones((1, 3)), bad], [*self.ids(some[:1]), "new" if self.text else 99])
        self.wrote(which)
        if self.model:
            with pytest.raises(TypeError, match=MIXED):
                self.indexes[which].add([np.ones((1, 3))], [99 if self.text else "new"])

    @rule(which=openings)
    def reopen(self, which: int) -> None:
        self.indexes[which].close()
        self.indexes[which] = ms.Index.open(self.path)
        self.indexes[which].verify()
        self.seen[which] = dict(self.model)

    @rule(which=openings)
    def refresh(self, which: int) -> None:
        self.indexes[which].refresh()
        self.indexes[which].verify()
        self.seen[which] = dict(self.model)

    @rule(
        query=rows_of.filter(len),
        k=st.integers(1, 9),
        chosen=numbers,
        unwanted=numbers,
        limit=st.sampled_from(["none", "ids", "mask"]),
        which=openings,
    )
    def search(self, query: Rows, k: int, chosen: list[int], unwanted: list[int], limit: str, which: int) -> None:
        index, seen = self.indexes[which], self.seen[which]
        names = self.ids(chosen) if limit != "none" else list(seen)
        excluded = [one for one in self.ids(unwanted) if one in seen]
        kept = {one: document for one, document in seen.items() if one in names and one not in excluded}
        candidates: Any = {
            "none": None,
            "ids": [one for one in names if one in seen] * 2,
            "mask": np.array([one in names for one in seen], np.bool_),
        }[limit]
        again = in_memory(kept, self.how)
        for policy in POLICIES:
            hits = index.search(query, k, policy=policy, candidates=candidates, exclude=excluded)
            wanted = again.search(query, k, policy=policy)
            assert answer(hits) == answer(wanted)
            assert hits.metadata == wanted.metadata == [kept[one].record for one in hits.ids]
            assert [hits.explain(i) for i in range(len(hits))] == [wanted.explain(i) for i in range(len(wanted))]

    @invariant()
    def same(self) -> None:
        for index, seen in zip(getattr(self, "indexes", ()), getattr(self, "seen", ()), strict=True):
            whole = in_memory(seen, self.how)
            assert index.ids == list(seen)
            assert [type(one) for one in index.ids] == [type(one) for one in seen]
            assert (len(index), index.tokens) == (len(whole), whole.tokens)
            for number in range(-3, 9):
                assert (number in index) == (number in seen)
                assert (spelled(number) in index) == (spelled(number) in seen)
            for one, document in seen.items():
                assert index.vectors(one).tobytes() == whole.vectors(one).tobytes()
                assert index.metadata(one) == document.record


TestStoredIndex = StoredIndex.TestCase
TestStoredIndex.settings = settings(
    max_examples=scaled(200), stateful_step_count=12, deadline=None, derandomize=not LONG
)
