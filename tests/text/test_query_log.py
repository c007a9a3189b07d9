"""The sample of queries: each has the same chance, it survives a restart, and only its owner can read it."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from maxsieve.errors import DamagedIndexError, IndexLockedError, MaxsieveError
from maxsieve.text.collection import query_log
from maxsieve.text.collection.query_log import FOLDER, LONGEST, NAME, QueryLog, QuerySample


def test_all_queries_until_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "KEPT", 5)
    log = QueryLog(tmp_path)
    for number in range(3):
        log.take(f"query {number}")
    log.close()
    assert QuerySample.read(tmp_path) == (3, ["query 0", "query 1", "query 2"])
    log = QueryLog(tmp_path)
    for number in range(3, 40):
        log.take(f"query {number}")
    log.close()
    found = QuerySample.read(tmp_path)
    assert found is not None
    assert (found.asked, len(set(found.queries))) == (40, 5)
    assert set(found.queries) <= {f"query {number}" for number in range(40)}


def test_each_query_has_the_same_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "KEPT", 4)
    monkeypatch.setattr(query_log.QueryLog, "write", lambda log: None)
    seen: Counter[str] = Counter()
    for seed in range(3000):
        log = QueryLog(tmp_path)
        log._chance.seed(seed)
        for number in range(12):
            log.take(str(number))
        seen.update(log._queries)
        log.close()
    assert sum(seen.values()) == 12_000
    assert all(abs(count - 1000) < 5 * 26 for count in seen.values()), "five standard deviations"


def test_what_is_not_kept(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    for text in ("", "  ", "x" * (LONGEST + 1)):
        assert not log.take(text)
    log.close()
    assert QuerySample.read(tmp_path) is None, "nothing was written"


def test_any_text_comes_back(tmp_path: Path) -> None:
    texts = ["déjà vu", "\U0001f98a" * LONGEST, 'a "quote"\n', "\ud800 alone"]
    log = QueryLog(tmp_path)
    for text in texts:
        log.take(text)
    log.close()
    found = QuerySample.read(tmp_path)
    assert found is not None
    assert found.queries == texts


def test_writes_are_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(query_log, "monotonic", lambda: now)
    log = QueryLog(tmp_path)
    assert [log.take("a fox"), log.take("an owl")] == [True, False]
    log.write()
    now += query_log.PAUSE
    assert log.take("a crow")
    log.close()


def test_what_could_not_be_written_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = QueryLog(tmp_path)
    log.take("a fox")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            log.write()
    assert QuerySample.read(tmp_path) is None
    log.close()
    assert QuerySample.read(tmp_path) == (1, ["a fox"])


def full(handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = QueryLog(tmp_path)
        log.take("a fox")
        log.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / FOLDER / NAME).stat().st_mode) == 0o600


def test_one_at_a_time(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    with pytest.raises(IndexLockedError):
        QueryLog(tmp_path)
    log.close()
    QueryLog(tmp_path).close()


def test_a_folder_that_was_replaced_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    log = QueryLog(tmp_path / "c")
    log.take("a fox")
    (tmp_path / "c").rename(tmp_path / "old")
    (tmp_path / "c").mkdir()
    with pytest.raises(IndexLockedError):
        log.close()
    assert not (tmp_path / "c" / FOLDER).exists()


GOOD: dict[str, Any] = {"format": "maxsieve queries", "version": 1, "asked": 2, "queries": ["a", "b"]}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        json.dumps({**GOOD, "format": "another"}),
        json.dumps({**GOOD, "asked": 1}),
        json.dumps({**GOOD, "asked": "2"}),
        json.dumps({**GOOD, "queries": ["a", 7]}),
        json.dumps({**GOOD, "queries": ["a", ""]}),
        json.dumps({**GOOD, "queries": ["a", "x" * (LONGEST + 1)]}),
        json.dumps({**GOOD, "queries": "ab"}),
        json.dumps({**GOOD, "asked": 5000, "queries": ["a"] * 1001}),
        json.dumps({"format": "maxsieve queries", "version": 1}),
    ],
)
def test_damage_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / FOLDER).mkdir()
    path = tmp_path / FOLDER / NAME
    path.write_text(content)
    with pytest.raises(DamagedIndexError, match=r"sample\.json"):
        QuerySample.read(tmp_path)
    with pytest.raises(DamagedIndexError):
        QueryLog(tmp_path)
    path.write_text(json.dumps(GOOD))
    QueryLog(tmp_path).close()  # the lock was released


def test_newer_versions_and_other_files(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    path = tmp_path / FOLDER / NAME
    path.write_text(json.dumps({**GOOD, "version": 2}))
    with pytest.raises(MaxsieveError, match="version 2"):
        QuerySample.read(tmp_path)
    path.unlink()
    (tmp_path / "secret").write_text(json.dumps(GOOD))
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(DamagedIndexError, match="is a link"):
        QuerySample.read(tmp_path)
