"""Files that another process has open: the same result on POSIX, where that never matters, and on Windows.

`test_like_windows.py` runs these tests, and all others of storage, again on a system that refuses like Windows.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.common import cache
from maxsieve.common.files import open_regular, replacing, replacing_folder
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.doctor import cache_entries
from maxsieve.errors import IndexLockedError
from maxsieve.storage.lock import discard_lock, writer_lock

DOCS = [np.full((2, 4), i, np.float32) for i in range(8)]


def built(path: Path) -> ms.Index:
    """An index of two segments, one with a tombstone."""
    index = ms.Index.build(DOCS, metadata=[{"i": i} for i in range(8)], path=path)
    index.add(DOCS[:2], [20, 21], metadata=["new", None])
    index.delete([0])
    return index


def names(path: Path) -> set[str]:
    return {one.name for one in path.iterdir()}


def test_compact_leaves_only_files_that_count_if_nobody_else_reads(tmp_path: Path) -> None:
    built(tmp_path).compact()
    assert sorted(Path(name).suffix for name in names(tmp_path)) == ["", ".json", ".records", ".segment"]


def test_files_that_a_reader_has_mapped_are_removed_by_the_next_writer(tmp_path: Path) -> None:
    index = built(tmp_path)
    before = names(tmp_path) - {"lock", "manifest.json"}
    reader = ms.Index.open(tmp_path)
    index.compact()
    assert bool(before & names(tmp_path)) == LOCK_STAYS
    assert reader.search(DOCS[1], 8).ids  # its content is complete
    reader.close()
    index.add(DOCS[:1], [30])
    assert not before & names(tmp_path)


def test_calibrating_again_leaves_only_files_that_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    index = ms.Index.build([rng.standard_normal((3, 4)).astype(np.float32) for _ in range(40)], path=tmp_path)
    queries = [rng.standard_normal((2, 4)).astype(np.float32) for _ in range(60)]
    for _ in range(2):
        index.calibrate(queries, k=1)
    wanted = ["", ".calibration", ".codebook", ".json", ".lists", ".segment"]
    assert sorted(Path(name).suffix for name in names(tmp_path)) == wanted


def test_a_new_codebook_leaves_only_files_that_count(tmp_path: Path) -> None:
    index = built(tmp_path)
    index.compact()
    for _ in range(2):
        index.train_codebook()
    wanted = ["", ".codebook", ".json", ".lists", ".records", ".segment"]
    assert sorted(Path(name).suffix for name in names(tmp_path)) == wanted


def test_an_index_of_nothing_is_discarded_with_its_lock_and_its_folder(tmp_path: Path) -> None:
    index = ms.Index.create(4, path=tmp_path / "it")
    index.storage.discard_if_empty()
    assert not (tmp_path / "it").exists()


def test_a_lock_that_is_discarded_is_gone_with_its_holder(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        discard_lock(tmp_path)
        if LOCK_STAYS:
            with pytest.raises(IndexLockedError), writer_lock(tmp_path):
                pass
            assert names(tmp_path) == {"lock"}  # the failure of another does not remove what is in use
    assert not names(tmp_path)
    with writer_lock(tmp_path):  # and the next one is kept
        pass
    assert names(tmp_path) == {"lock"}


def test_the_holder_of_a_lock_is_named(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path),
        pytest.raises(IndexLockedError, match=f"process {os.getpid()}"),
        writer_lock(tmp_path),
    ):
        pass


def test_a_file_that_is_read_for_a_moment_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"old")
    file = open_regular(path)
    closing = threading.Timer(0.1, file.close)
    closing.start()
    with replacing(path) as new:
        new.write(b"new")
    closing.join()
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == {"it"}


@pytest.mark.skipif(not LOCK_STAYS, reason="nothing is refused here")
def test_a_file_that_stays_open_is_not_replaced_and_the_error_says_why(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"old")
    with (
        open_regular(path),
        pytest.raises(PermissionError, match="open or mapped"),
        replacing(path) as new,
    ):
        new.write(b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"it"}


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_takes_the_place_of_an_empty_one(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "it").mkdir()
    with replacing_folder(tmp_path / "it") as folder:
        (folder / "file").write_bytes(b"whole")
    assert (tmp_path / "it" / "file").read_bytes() == b"whole"
    assert names(tmp_path) == {"it"}


def test_once_makes_a_folder_again_that_is_not_whole(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "file").write_bytes(b"whole")

    def is_whole(folder: Path) -> bool:
        return (folder / "file").is_file()

    (tmp_path / "it").mkdir()
    cache.once(tmp_path / "it", make, is_whole=is_whole)
    assert names(tmp_path) == {"it", "it.lock"}
    assert is_whole(tmp_path / "it")


def test_once_waits_for_another_maker(tmp_path: Path) -> None:
    order: list[str] = []
    begun = threading.Event()

    def slowly(folder: Path) -> None:
        begun.set()
        time.sleep(0.2)
        order.append("made")

    first = threading.Thread(target=cache.once, args=(tmp_path / "it", slowly))
    first.start()
    begun.wait()
    cache.once(tmp_path / "it", lambda folder: order.append("made twice"))
    order.append("seen")
    first.join()
    assert order == ["made", "seen"]


def entry(root: Path) -> cache_entries.CacheEntry:
    [one] = cache_entries.cache_entries(root)
    return one


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    """A cache with a collection in it, as far as the cache can tell."""
    folder = tmp_path / "collections" / "it"
    folder.mkdir(parents=True)
    (folder / "collection.json").write_bytes(b"{}")
    built(folder / "index").close()
    return tmp_path


def test_what_is_cached_is_removed_with_the_locks_in_it(cached: Path) -> None:
    cache_entries.remove(entry(cached))
    assert not names(cached / "collections")


def test_what_a_writer_holds_is_not_removed(cached: Path) -> None:
    one = entry(cached)
    before = sorted(one.path.rglob("*"))
    with writer_lock(one.path / "index"), pytest.raises(cache_entries.InUseError):
        cache_entries.remove(one)
    assert sorted(one.path.rglob("*")) == before


@pytest.mark.skipif(not LOCK_STAYS, reason="who reads keeps what it has mapped")
def test_what_a_reader_has_mapped_stays_whole(cached: Path) -> None:
    one = entry(cached)
    before = sorted(one.path.rglob("*"))
    with ms.Index.open(one.path / "index"), pytest.raises(cache_entries.InUseError):
        cache_entries.remove(one)
    assert sorted(one.path.rglob("*")) == before
    cache_entries.remove(entry(cached))
    assert not names(cached / "collections")


def test_a_name_is_another_file_after_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a link can't be refused when a file is opened, it is detected afterwards."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "it").write_bytes(b"mine")
    opening: Any = os.open

    def swapped(path: Any, *arguments: Any, **options: Any) -> int:
        os.unlink(path)
        os.symlink(tmp_path / "secret", path)
        return int(opening(path, *arguments, **options))

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(ValueError, match="a link"):
        open_regular(tmp_path / "it")


@pytest.mark.skipif(LOCK_STAYS, reason="a file that is open is not replaced there")
@pytest.mark.parametrize("after", ["another file", "link"])
def test_a_file_that_is_replaced_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """If the system follows links, the opened file is compared with the file that has the name then."""
    path, other = tmp_path / "it", tmp_path / "other"
    path.write_bytes(b"old")
    other.write_bytes(b"new")
    really = os.open

    def replaced_once(name: Any, flags: int, mode: int = 0o777) -> int:
        handle = really(name, flags, mode)
        if other.exists() and not path.is_symlink():
            if after == "link":
                path.unlink()
                path.symlink_to(other)
            else:
                other.replace(path)
        return handle

    monkeypatch.setattr("maxsieve.common.files.NOT_THROUGH_LINKS", 0)
    monkeypatch.setattr(os, "open", replaced_once)
    if after == "link":
        with pytest.raises(ValueError, match="is a link"):
            open_regular(path)
    else:
        with open_regular(path) as file:
            assert file.read() == b"new"


def test_a_file_that_is_always_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"old")
    monkeypatch.setattr("maxsieve.common.files.NOT_THROUGH_LINKS", 0)
    monkeypatch.setattr(os.path, "samestat", lambda one, other: False)
    with pytest.raises(ValueError, match="another file"):
        open_regular(path)
