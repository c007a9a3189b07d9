"""Frozen indexes of format version 2, with tier 0 and calibrations: they open, answer and change.

Version 2 does not know the hits of a calibration. So after a deletion `Calibrated` guarantees nothing by ranks, and
answers exactly.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from golden.freezing import GOLDEN, shown
from golden.make_v2 import POLICIES, documents
from index.support import contents

INDEXES = [GOLDEN / "v2" / name for name in ("codes", "halves")]


def check(index: ms.Index, wanted: Any) -> None:
    assert {**shown(index), "answers": wanted["answers"]} == wanted
    for answer in wanted["answers"]:
        query = np.frombuffer(bytes.fromhex(answer["query"]), "<f4").reshape(-1, index.dim)
        for name, policy in POLICIES.items():
            ids, scores, facts = answer["found"][name]
            hits = index.search(query, 5, policy=policy)
            report = hits.report
            if facts[3] is not None and facts[5]:
                ids, scores, (guarantee, survivors, rescored, *_) = answer["found"]["certified"]
                facts = [guarantee, survivors, rescored, *facts[3:]]
            if (facts[0], facts[3]) == ("calibrated", "own sentences"):  # it has a name of its own since then
                facts = ["calibrated on sentences", *facts[1:]]
            assert hits.ids == ids, name
            assert hits.scores.astype("<f4").tobytes().hex() == scores, name
            found = [report.guarantee, report.survivors, report.rescored, report.calibrated_on]
            assert [*found, report.added, report.deleted] == facts, name


def test_it_answers_as_it_did(frozen: Path, wanted: Any, isa: str) -> None:
    before = {path.name: path.read_bytes() for path in frozen.iterdir()}
    with ms.Index.open(frozen) as index:
        index.verify()
        check(index, wanted)
    assert {path.name: path.read_bytes() for path in frozen.iterdir()} == before


def test_tokens_have_the_same_centroids_as_before(frozen: Path, isa: str) -> None:
    """A release may make codebooks in another way, but the centroid of a token must not change."""
    with ms.Index.open(frozen) as index:
        book = index.storage.snapshot.codebook
        assert book is not None
        for segment in index.storage.snapshot.segments:
            assert book.name_tokens(segment, 1).centroids.tobytes() == segment.centroids.tobytes()


def test_merging_changes_no_answer(copy: Path, wanted: Any) -> None:
    with ms.Index.open(copy) as index:
        index.compact()
        index.verify()
        assert len(index.storage.snapshot.segments) == 1
        check(index, wanted)


def test_it_can_be_changed(copy: Path, wanted: Any) -> None:
    index = ms.Index.open(copy)
    query = np.frombuffer(bytes.fromhex(wanted["answers"][0]["query"]), "<f4").reshape(-1, index.dim)
    before = index.search(query, 5, policy=ms.Calibrated(0.9)).report
    new: Any = ["new", "newer"] if isinstance(index.ids[0], str) else [555, 556]
    index.add(documents(7, 2), new, metadata=[{"is": "new"}, None])
    index.delete(wanted["ids"][:1])
    report = index.search(query, 5, policy=ms.Calibrated(0.9)).report
    assert (report.added, report.deleted) == (before.added + 2, before.deleted + 1)
    index.recalibrate()
    report = index.search(query, 5, policy=ms.Calibrated(0.9)).report
    assert report.guarantee.startswith("calibrated")
    assert (report.added, report.deleted) == (0, 0)
    assert report.calibrated_on == before.calibrated_on
    again = ms.Index.open(copy)
    again.verify()
    assert contents(again) == contents(index)
    again.train_codebook()
    again.verify()
    book, made = again.storage.snapshot.codebook, again.storage.snapshot.calibration
    assert book is not None
    assert made is not None
    assert not book.is_tier0
    assert made.hits_are_known
    assert again.search(query, 5, policy=ms.Calibrated(0.9)).report.guarantee in ("calibrated", "exact")
    index.refresh()
    assert index.search(query, 5).ids == again.search(query, 5).ids
    index.close()  # where open files can't be removed, the next commit removes them
    again.delete(wanted["ids"][1:2])
    assert not list(copy.glob("*.centroids"))


def test_recalibrating_what_has_not_changed_finds_the_same(tmp_path: Path) -> None:
    path = Path(shutil.copytree(GOLDEN / "v2" / "halves", tmp_path / "copy"))
    with ms.Index.open(path) as index:
        old = index.storage.snapshot.calibration
        index.recalibrate()
        new = index.storage.snapshot.calibration
        assert old is not None
        assert new is not None
        assert new.hits["documents"].ranks.tobytes() == old.hits["documents"].ranks.tobytes()
        assert new.rows.tobytes() == old.rows.tobytes()
