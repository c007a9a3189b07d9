"""Writing and reading at the same time: one writer, readers without a lock, old versions, late attempts."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import threading
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.arrays import read_documents
from maxsieve.cluster import folder as folder_module
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.manifest import ClusterManifest, read_cluster, shard_of, write_cluster
from maxsieve.cluster.shard import append_to_shard, compact_shard, delete_from_shard, open_shard, sequenced
from maxsieve.errors import IndexLockedError, MaxsieveError, StaleVersionError
from maxsieve.storage import segments
from maxsieve.storage.builder import Names, build_segments
from maxsieve.storage.directory import Directory
from maxsieve.storage.segments import Layout

from .holding import DIM, content, files, fill, named, put, some
from .local import LocalIndex


def segment_of(document: str, number: int) -> segments.Segment:
    """One document with a sequence number, as a task gets it."""
    layout = segments.Layout(DIM)
    (segment,) = build_segments(
        read_documents(some(1, 1), None, None, DIM, str), Names([document], None, lambda _: None), layout, 1
    )
    return sequenced(segment, layout, np.array([number]))


@pytest.fixture
def folder(tmp_path: Path) -> ShardedFolder:
    return fill(tmp_path / "corpus")


def test_another_process_is_locked_out(folder: ShardedFolder) -> None:
    before = content(folder)
    program = (
        f"from maxsieve.cluster.folder import ShardedFolder; ShardedFolder.open({str(folder.path)!r}).delete(['a1'])"
    )
    with folder.writing():
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert "IndexLockedError" in done.stderr
        assert f"process {os.getpid()}" in done.stderr
        with pytest.raises(IndexLockedError):
            ShardedFolder.open(folder.path).compact()
    assert content(ShardedFolder.open(folder.path)) == before
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert folder.refresh()
    assert "a1" not in folder.snapshot.ids_in_order()


def test_threads_take_turns(folder: ShardedFolder) -> None:
    ids = [[f"t{thread}-{i}" for i in range(3)] for thread in range(6)]
    threads = [threading.Thread(target=put, args=(folder, some(thread, 3), ids[thread])) for thread in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = list(chain.from_iterable(ids))
    assert set(folder.snapshot.known(everything)) == set(everything)
    folder.verify()


def test_the_lock_can_be_held_around_several_changes(folder: ShardedFolder) -> None:
    with folder.writing():
        put(folder, some(1, 2), ["x", "y"])
        folder.delete(["x"])
    assert set(folder.snapshot.known(["x", "y"])) == {"y"}
    with pytest.raises(RuntimeError, match="lock"):
        folder.commit({})


def test_a_writer_without_the_lock_is_noticed(folder: ShardedFolder) -> None:
    with folder.writing():
        write_cluster(folder.path, folder.manifest.successor())
        with pytest.raises(MaxsieveError, match="without the lock"):
            put(folder, some(1, 2), ["x", "y"])
    assert folder.refresh()
    assert "x" not in folder.snapshot.ids_in_order()
    folder.verify()


def test_a_refresh_during_a_commit_does_not_go_back(folder: ShardedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A searching thread reads the manifest just before the writer in another thread replaces it."""
    waiting, replaced = threading.Event(), threading.Event()

    def slowly(path: Path) -> ClusterManifest:
        found = read_cluster(path)
        if threading.current_thread() is reader:
            waiting.set()
            replaced.wait(0.5)  # the writer must wait for this thread, or this thread must not go back
        return found

    monkeypatch.setattr(folder_module, "read_cluster", slowly)
    reader = threading.Thread(target=folder.refresh)
    with folder.writing():
        reader.start()
        waiting.wait()
        put(folder, some(1, 1), ["x"])
        replaced.set()
        reader.join()
        assert folder.manifest == read_cluster(folder.path)
        put(folder, some(2, 1), ["y"])
    assert set(folder.snapshot.known(["x", "y"])) == {"x", "y"}


def test_a_version_stays_readable_until_the_one_after_the_next(folder: ShardedFolder) -> None:
    late, later = ShardedFolder.open(folder.path), ShardedFolder.open(folder.path)
    held, before = folder.snapshot.here, content(folder)
    folder.compact()
    assert content(late) == before  # it is opened only now
    folder.delete(["a1"])
    assert content(late) == before
    with pytest.raises(StaleVersionError, match=r"\b4$"):
        later.snapshot.here
    assert later.refresh()
    assert content(later) == content(folder)
    assert held.vectors(0).shape[1] == DIM  # what is mapped stays mapped


def test_what_a_change_writes_on_the_way_does_not_stay(folder: ShardedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small segments are merged, and documents come in chunks: intermediate states are in no version."""
    monkeypatch.setattr(segments, "BLOCK_BYTES", 100)
    before = named(folder)
    for number in range(3):
        put(folder, some(number, 20), [f"{number}-{i}" for i in range(20)])
        assert files(folder) == before | named(folder)
        before = named(folder)
    folder.compact()
    assert files(folder) == before | named(folder)


def test_a_commit_that_fails_leaves_nothing_of_any_chunk(
    folder: ShardedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", 100)
    before, held = files(folder), content(folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "write_cluster", full)
        with pytest.raises(OSError, match="No space left"):
            put(folder, some(2, 200), [f"x{i}" for i in range(200)])
    assert files(folder) == before
    assert content(folder) == held


def test_a_late_attempt_does_not_disturb_others(folder: ShardedFolder) -> None:
    """An attempt to change that nobody waits for any more: it starts from an old version, while others commit."""
    shard = shard_of("late", 3)
    base = folder.manifest.shards[shard]
    first, second = (append_to_shard(folder.path, base, segment_of("late", 99), False, []) for _ in range(2))
    assert first != second
    assert open_shard(folder.path, first).manifest.segments != open_shard(folder.path, second).manifest.segments
    put(folder, some(2, 1), ["early"])
    folder.compact()
    folder.verify()
    assert set(folder.snapshot.known(["late", "early"])) == {"early"}
    made = list(folder.path.rglob(first.manifest.split(".")[0] + ".*"))
    assert made  # it is new: another process may be writing it
    for path in folder.path.rglob("*.*"):
        os.utime(path, (1, 1))
    folder.delete(["early"])
    assert not any(path.exists() for path in made)
    folder.verify()


def test_a_changed_shard_is_one_that_can_be_made_again(folder: ShardedFolder) -> None:
    before = content(folder)
    shard = shard_of("a1", 3)
    base = folder.manifest.shards[shard]
    made = [delete_from_shard(folder.path, base, ["a1"]) for _ in range(2)]
    assert content(folder) == before
    with folder.writing():
        folder.commit({shard: made[1]})
        folder.discard([made[0]])
    folder.verify()
    assert [one for one in before if one[0] != "a1"] == content(folder)
    compacted = compact_shard(folder.path, folder.manifest.shards[shard])
    assert compact_shard(folder.path, compacted) == compacted  # there is nothing to save


def test_a_commit_must_leave_numbers_for_documents(folder: ShardedFolder) -> None:
    shard = shard_of("x", 3)
    there = files(folder)
    with folder.writing():
        made = append_to_shard(folder.path, folder.manifest.shards[shard], segment_of("x", 20), False, [])
        with pytest.raises(ValueError, match=r"^sequence\b.*\b14\b"):
            folder.commit({shard: made})
        with pytest.raises(ValueError, match=r"^sequence\b.*\b3\b.*\b14\b"):
            folder.commit({}, sequence=3)
    assert files(folder) == there


def test_it_is_pickled_by_name(folder: ShardedFolder) -> None:
    put(ShardedFolder.open(folder.path), some(1, 1), ["x"])
    again = pickle.loads(pickle.dumps(folder))
    assert again.manifest == read_cluster(folder.path) != folder.manifest
    version = pickle.loads(pickle.dumps(folder.manifest.shards[0]))
    assert version == folder.manifest.shards[0]


def test_one_is_not_taken_for_the_other(folder: ShardedFolder, tmp_path: Path) -> None:
    with ms.Index.open(folder.path) as both:
        assert both.ids == folder.snapshot.ids_in_order()
    with pytest.raises(FileNotFoundError, match=r"corpus .*Index\.open"):
        Directory.open(folder.path)
    ms.Index.create(4, path=tmp_path / "one").close()
    with pytest.raises(FileNotFoundError, match=r"\bone\b.*cluster\.json"):
        ShardedFolder.open(tmp_path / "one")


def test_what_is_refused(folder: ShardedFolder, tmp_path: Path) -> None:
    before, there = content(folder), files(folder)
    with pytest.raises(ValueError, match="'a1'"):
        put(folder, some(0, 2), ["new", "a1"])
    with pytest.raises(ValueError, match="'n'"):
        put(folder, some(0, 2), ["n", "n"])
    with pytest.raises(KeyError, match="'nobody'"):
        folder.delete(["a1", "nobody"])
    with pytest.raises(KeyError, match="'nobody'"):
        put(folder, some(0, 1), ["new"], delete=["nobody"])
    with pytest.raises(ValueError, match=r"'a1'.*deleted"):
        put(folder, some(0, 1), ["a1"], replace=True, delete=["a1"])
    with pytest.raises(ValueError, match=r"more documents.*\b1\b"):
        put(folder, some(0, 2), ["new"])
    with pytest.raises(ValueError, match=r"\b1\b.*\b2\b"):
        put(folder, some(0, 1), ["new", "newer"])
    with pytest.raises(ValueError, match="document 'new', row 0, dimension 0"):
        put(folder, [np.ones((1, DIM)), np.full((1, DIM), np.nan)], ["fine", "new"])
    with pytest.raises(KeyError, match="'nobody'"):
        LocalIndex.over(folder).vectors("nobody")
    with pytest.raises(ValueError, match=r"^shards\b.*\b10000\b"):
        ShardedFolder.create(tmp_path / "other", Layout(DIM), shards=10_001)
    with pytest.raises(FileExistsError, match="is not empty"):
        ShardedFolder.create(folder.path, Layout(DIM), shards=2)
    with pytest.raises(FileNotFoundError, match=r"cluster\.json"):
        ShardedFolder.open(tmp_path)
    assert content(ShardedFolder.open(folder.path)) == content(folder) == before
    assert files(folder) == there
    assert not (tmp_path / "other").exists()
