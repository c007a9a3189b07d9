"""A store of residuals through any changes: in memory, on disk and in shards it holds what the specification holds.

Its codebook is the same however documents came: in other batches, segments, threads or shards.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from cluster.local import LocalIndex
from long_form import scaled
from maxsieve.errors import StoreWarning
from maxsieve.storage import disk, segments
from maxsieve.storage.manifest import read_manifest
from maxsieve.storage.storage import NewCalibrations, awaits_codebook

from .residuals import Expected, byte_rows, few_tokens, ragged, residual_rows
from .support import Rows

D, LIMIT = 6, 40
QUERIES = [np.random.default_rng(7).standard_normal((tokens, D)).astype(np.float32) for tokens in (2, 4)]
ASKED = [np.random.default_rng(8 + i).standard_normal((2, D)).astype(np.float32) for i in range(3)]

changes = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "add", "add", "replace", "delete", "compact", "convert", "reencode", "again", "list", "calibrate"]
        ),
        st.integers(0, 2**16),
    ),
    min_size=3,
    max_size=14,
)


class Model:
    """Documents as they were given, with the rows that the specification stores, and the indexes that hold them."""

    def __init__(self, folder: Path, like: dict[str, Any], shards: int | None) -> None:
        self.path, self.shards, self.similarity = folder / "disk", shards, like["similarity"]
        self.indexes = [ms.Index.create(D, **like), ms.Index.create(D, path=self.path, **like)]
        if shards:
            self.indexes.append(LocalIndex.create(D, path=folder / "shards", shards=shards, **like))
        self.given: dict[str, Rows] = {}
        self.rows: dict[str, Rows] = {}
        self.added = 0

    @property
    def awaits(self) -> bool:
        return awaits_codebook(self.indexes[0].storage.snapshot)

    def do(self, what: str, number: int) -> None:
        rng = np.random.default_rng(number)
        chosen = [one for one in self.given if rng.random() < 0.3]
        if what in ("add", "replace"):
            new = [f"d{self.added + i}" for i in range(1 + number % 4)] if what == "add" else chosen
            self.added += len(new)
            self.put(dict(zip(new, ragged(number, len(new), D, 8), strict=True)))
        elif what == "delete":
            for index in self.indexes:
                index.delete(chosen)
            for one in chosen:
                del self.given[one], self.rows[one]
        elif what == "compact":
            for index in self.indexes:
                index.compact()
        elif what == "convert" and self.awaits and any(map(len, self.given.values())):
            for index in self.indexes:
                index.train_codebook()
            self.encode(self.given)
        elif what == "list" and not self.awaits:  # as a calibration does
            for index in self.indexes:
                index.storage.replace_tiers(lambda *_: NewCalibrations(()), train=False)
        elif what == "calibrate" and any(map(len, self.given.values())):
            for index in self.indexes:
                index.recalibrate() if number % 2 and index.storage.snapshot.calibrations else index.calibrate(ASKED, 3)
        elif what == "again":
            self.indexes[0] = pickle.loads(pickle.dumps(self.indexes[0])) if number % 2 else copy.copy(self.indexes[0])
            self.indexes[1] = ms.Index.open(self.path)
        elif what == "reencode" and not self.shards and sum(len(self.given[one]) for one in chosen):
            for index in self.indexes:
                index.reencode([self.given[one] for one in chosen], chosen)
            self.given = {**{one: self.given[one] for one in self.given if one not in chosen},
                          **{one: self.given[one] for one in chosen}}  # fmt: skip
            self.rows = {one: self.rows[one] for one in self.given}
            awaited = self.rows and not self.converted
            self.encode(self.given if awaited else {one: self.given[one] for one in chosen})

    converted = False

    def put(self, new: dict[str, Rows]) -> None:
        for index in self.indexes:
            index.add(list(new.values()), list(new), replace=True)
        for one, rows in new.items():
            self.given.pop(one, None), self.rows.pop(one, None)
            self.given[one], self.rows[one] = rows, byte_rows(rows, self.similarity)
        if self.converted:
            self.encode(new)
        elif not self.awaits:
            self.encode(self.given)

    def encode(self, some: dict[str, Rows]) -> None:
        """These documents now have the codebook of the store."""
        book = self.indexes[0].storage.snapshot.codebook
        assert book is not None
        self.converted = True
        for one, rows in some.items():
            self.rows[one] = residual_rows(book, rows, self.similarity)

    def check(self) -> None:
        expected = Expected(self.rows, self.similarity)
        books = [index.storage.snapshot.codebook for index in self.indexes]
        assert len({book and book.digest for book in books}) == 1
        for index in self.indexes:
            expected.check(index, QUERIES)
            index.verify()
            self.check_calibration(index, expected)
            assert all(index.search(query, 3, policy=ms.Bandit()).ids == self.indexes[0].search(
                query, 3, policy=ms.Bandit()).ids for query in QUERIES)  # fmt: skip
        manifest = read_manifest(self.path)
        assert [len(index.storage.snapshot.calibrations) for index in self.indexes] == [
            len(self.indexes[0].storage.snapshot.calibrations)
        ] * len(self.indexes)
        named = {entry.codebook for entry in manifest.segments} - {None}
        assert set(manifest.codebooks) == named | ({books[1].digest} if books[1] and books[1].bits else set())
        assert {path.name for path in self.path.iterdir()} == manifest.files | {"manifest.json", "lock"}

    def check_calibration(self, index: ms.Index, expected: Expected) -> None:
        """If nothing has changed since, the best hits of a calibration are those of an exact search."""
        snapshot = index.storage.snapshot
        if snapshot.calibration is None or any(snapshot.changes):
            return
        (best,) = snapshot.calibration.hits.values()
        for query, ids, scores in zip(ASKED, best.ids or (), best.scores, strict=True):
            assert list(zip(ids, map(np.float32.tobytes, scores), strict=True)) == expected.best(query, len(ids))


@settings(max_examples=scaled(60))
@given(
    store=st.sampled_from(["residual1", "residual2", "residual4"]),
    similarity=st.sampled_from(["dot", "cosine"]),
    shards=st.sampled_from([None, None, 1, 3]),
    block=st.sampled_from([100, 1 << 20]),
    small=st.sampled_from([0, 1 << 20]),
    done=changes,
)
def test_any_changes(store: str, similarity: str, shards: int | None, block: int, small: int, done: Any) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", StoreWarning)
        few_tokens(patch, LIMIT)
        patch.setattr(segments, "BLOCK_BYTES", block)
        patch.setattr(disk, "SMALL_BYTES", small)
        patch.setattr("os.fsync", lambda handle: None)
        model = Model(Path(folder), {"store": store, "similarity": similarity}, shards)
        for what, number in done:
            model.do(what, number)
            model.check()
