"""Frozen indexes of format version 4, whose vectors are centroids and residuals: they open, answer and change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from golden.freezing import GOLDEN, check_form, shown
from golden.make_v2 import POLICIES, documents
from index.support import contents, listed
from maxsieve.storage.manifest import read_manifest

INDEXES = [GOLDEN / "v4" / name for name in ("two_codebooks", "two_bits", "four_bits", "awaiting")]


def check(index: ms.Index, wanted: Any) -> None:
    assert {**shown(index), "answers": wanted["answers"]} == wanted
    for answer in wanted["answers"]:
        query = np.frombuffer(bytes.fromhex(answer["query"]), "<f4").reshape(-1, index.dim)
        for name, (ids, scores, *facts) in answer["found"].items():
            hits = index.search(query, 5, policy=POLICIES[name])
            report = hits.report
            assert hits.ids == ids, name
            assert hits.scores.astype("<f4").tobytes().hex() == scores, name
            found = [report.guarantee, report.survivors, report.rescored, report.calibrated_on]
            assert [[*found, report.added, report.deleted]] == facts or not facts, name


def test_it_answers_as_it_did(frozen: Path, wanted: Any, isa: str) -> None:
    before = {path.name: path.read_bytes() for path in frozen.iterdir()}
    assert read_manifest(frozen).version == 4
    with ms.Index.open(frozen) as index:
        index.verify()
        check(index, wanted)
    assert {path.name: path.read_bytes() for path in frozen.iterdir()} == before


def test_documents_would_have_the_same_lists(frozen: Path, isa: str) -> None:
    with ms.Index.open(frozen) as index:
        state = index.storage.snapshot.here
        again = listed(state.listed(1))
        assert all(mine in ([], again[one]) for one, mine in listed(state).items())


def test_it_can_be_changed(copy: Path, wanted: Any) -> None:
    index = ms.Index.open(copy)
    kept = {one: index.vectors(one).tobytes() for one in index.ids[1:]}
    new: Any = ["new", "newer"] if isinstance(index.ids[0], str) else [555, 556]
    index.add(documents(7, 2), new, metadata=[{"is": "new"}, None])
    index.delete(wanted["ids"][:1])
    index.compact()
    assert {one: index.vectors(one).tobytes() for one in index.ids[:-2]} == kept
    again = ms.Index.open(copy)
    again.verify()
    assert contents(again) == contents(index)
    again.reencode(documents(7, 2), new)
    again.verify()
    index.refresh()
    assert contents(again) == contents(index)


def test_what_is_written_today_has_the_same_form(tmp_path: Path) -> None:
    """A change of the format needs a new version and new frozen files. This test notices a change without them."""
    check_form("make_v4.py", INDEXES, tmp_path)
