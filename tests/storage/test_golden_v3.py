"""Frozen indexes of format version 3, with lists and calibrations for filters: they open, answer and change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from golden.freezing import GOLDEN, check_form, shown
from golden.make_v2 import POLICIES, documents
from index.support import contents, listed

INDEXES = [GOLDEN / "v3" / name for name in ("lists", "sentences")]


def check(index: ms.Index, wanted: Any) -> None:
    assert {**shown(index), "answers": wanted["answers"]} == wanted
    for answer in wanted["answers"]:
        query = np.frombuffer(bytes.fromhex(answer["query"]), "<f4").reshape(-1, index.dim)
        for name, policy in POLICIES.items():
            ids, scores, facts = answer["found"][name]
            hits = index.search(query, 5, policy=policy)
            report = hits.report
            assert hits.ids == ids, name
            assert hits.scores.astype("<f4").tobytes().hex() == scores, name
            found = [report.guarantee, report.survivors, report.rescored, report.calibrated_on]
            assert [*found, report.added, report.deleted] == facts, name


def test_it_answers_as_it_did(frozen: Path, wanted: Any, isa: str) -> None:
    before = {path.name: path.read_bytes() for path in frozen.iterdir()}
    with ms.Index.open(frozen) as index:
        index.verify()
        check(index, wanted)
        survivors = [answer["found"]["calibrated-0.5"][2][1] for answer in wanted["answers"]]
        assert max(survivors) < len(index) / 2, "some documents are not followed up"
    assert {path.name: path.read_bytes() for path in frozen.iterdir()} == before


def test_documents_have_the_same_centroids_as_before(frozen: Path, isa: str) -> None:
    """A release may make codebooks in another way, but the centroid of a token must not change."""
    with ms.Index.open(frozen) as index:
        state = index.storage.snapshot.here
        assert state.codebook is not None
        again = listed(state.coded(state.codebook, 1))
        assert all(mine in ([], again[one]) for one, mine in listed(state).items())


def test_it_can_be_changed(copy: Path, wanted: Any) -> None:
    index = ms.Index.open(copy)
    query = np.frombuffer(bytes.fromhex(wanted["answers"][0]["query"]), "<f4").reshape(-1, index.dim)
    before = index.search(query, 5, policy=ms.Calibrated(0.5)).report
    filters = len(index.storage.snapshot.calibrations)
    new: Any = ["new", "newer"] if isinstance(index.ids[0], str) else [555, 556]
    index.add(documents(7, 2), new, metadata=[{"is": "new"}, None])
    index.delete(wanted["ids"][:1])
    report = index.search(query, 5, policy=ms.Calibrated(0.5)).report
    assert (report.added, report.deleted) == (before.added + 2, before.deleted + 1)
    index.compact()
    report = index.search(query, 5, policy=ms.Calibrated(0.5)).report
    assert report.guarantee.startswith("calibrated")
    assert (report.added, report.deleted) == (0, 0)
    assert report.calibrated_on == before.calibrated_on
    again = ms.Index.open(copy)
    again.verify()
    assert contents(again) == contents(index)
    again.train_codebook()
    again.verify()
    assert len(again.storage.snapshot.calibrations) == filters
    index.refresh()
    assert index.search(query, 5).ids == again.search(query, 5).ids


def test_what_is_written_today_has_the_same_form(tmp_path: Path) -> None:
    """A change of the format needs a new version and new frozen files. This test notices a change without them."""
    check_form("make_v3.py", INDEXES, tmp_path)
