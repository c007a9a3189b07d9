"""Frozen indexes of an earlier maxsieve: they open, verify and answer as before, and can be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from golden.freezing import GOLDEN, check_form, shown
from index.support import contents

INDEXES = sorted(path.with_suffix("") for path in GOLDEN.glob("v1/*.json"))
assert len(INDEXES) >= 2


def check(index: ms.Index, wanted: Any) -> None:
    assert {**shown(index), "answers": wanted["answers"]} == wanted
    for answer in wanted["answers"]:
        query = np.frombuffer(bytes.fromhex(answer["query"]), "<f4").reshape(-1, index.dim)
        for policy in (ms.Certified(), ms.Exhaustive()):
            hits = index.search(query, 6, policy=policy)
            assert hits.ids == answer["ids"]
            assert hits.scores.astype("<f4").tobytes().hex() == answer["scores"]
            assert hits.metadata == answer["metadata"]


def test_it_answers_as_it_did(frozen: Path, wanted: Any, isa: str) -> None:
    before = {path.name: path.read_bytes() for path in frozen.iterdir()}
    with ms.Index.open(frozen) as index:
        index.verify()
        assert len(index.storage.snapshot.segments) == 2
        assert len(index) < len(index.storage.snapshot.alive)
        check(index, wanted)
    assert {path.name: path.read_bytes() for path in frozen.iterdir()} == before


def test_it_can_be_changed(copy: Path, wanted: Any) -> None:
    index = ms.Index.open(copy)
    index.compact()
    index.verify()
    assert len(index.storage.snapshot.segments) == 1
    check(index, wanted)
    new: Any = "new" if isinstance(index.ids[0], str) else 555
    index.add([np.ones((2, index.dim))], [new], metadata=[{"is": "new"}])
    index.add([np.ones((1, index.dim))], index.ids[:1], replace=True)
    assert index.ids == [*wanted["ids"][1:], new, wanted["ids"][0]]
    again = ms.Index.open(copy)
    again.verify()
    assert contents(again) == contents(index)
    assert again.metadata(new) == {"is": "new"}


def test_what_is_written_today_has_the_same_form(tmp_path: Path) -> None:
    """A change of the format needs a new version and new frozen files. This test notices a change without them."""
    check_form("make_v1.py", INDEXES, tmp_path)
