"""A change of a corpus in shards fails or dies at any step: the old version or the new one is left, never a mixture."""

from __future__ import annotations

import errno
import gc
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from long_form import FULL
from maxsieve.cluster import leftovers
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebuild import rebalance, train_codebook
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.storage.segments import Layout
from storage.faults import CALLS, WRITES, FailingDisk, make_segments_small

from .holding import DIM, content, files, fill, named, put, some

STEP = 3 if FULL else 9
"""One in so many calls or steps fails."""
CHANGES: dict[str, Callable[[ShardedFolder], None]] = {
    "add": lambda folder: put(folder, some(2, 7), [f"n{i}" for i in range(7)], [{"n": i} for i in range(7)]),
    "replace": lambda folder: put(folder, some(3, 3), ["a1", "new", "a11"], replace=True, delete=["a4"]),
    "delete": lambda folder: folder.delete(["a0", "a5", "a11"]),
    "compact": lambda folder: folder.compact(),
    "train": train_codebook,
    "rebalance": lambda folder: rebalance(folder, 2),
    "rebalance to more": lambda folder: rebalance(folder, 4),
}
TRIED = list(CHANGES) if FULL else ["replace", "rebalance"]
"""The changes that are tested with faults."""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_segments_small(monkeypatch, DIM)


@pytest.fixture
def original(tmp_path: Path, _small: None) -> Path:
    return fill(tmp_path / "original").path


def outcomes(original: Path, change: str) -> tuple[list[Any], list[Any]]:
    """The content before and after a change."""
    copy = original.with_name("changed")
    shutil.copytree(original, copy)
    folder = ShardedFolder.open(copy)
    before = content(folder)
    CHANGES[change](folder)
    return before, content(ShardedFolder.open(copy))


def clean(folder: ShardedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two more commits, when everything is old, there are no files that are not needed."""
    with monkeypatch.context() as patch:
        patch.setattr(leftovers, "GRACE_SECONDS", -60)
        for _ in range(2):
            close_old_versions(folder)
            put(folder, [], [])
    assert files(folder) == named(folder)
    assert set(folder.snapshot.mapped) <= set(
        range(len(folder.manifest.shards))
    )  # no file of a removed shard is mapped
    assert {path.name for path in (folder.path / "shards").iterdir()} == {v.folder for v in folder.manifest.shards}


def close_old_versions(folder: ShardedFolder) -> None:
    """On systems where mapped files can't be removed: no file of older versions is mapped any more."""
    if LOCK_STAYS:
        content(folder)
        gc.collect()


def attempt(disk: FailingDisk, nth: int, change: Callable[[], None]) -> BaseException | None:
    """The result of a change during which the disk fails."""
    with disk.failing(nth):
        try:
            change()
        except (OSError, KeyboardInterrupt) as problem:
            return problem
    return None


@pytest.mark.parametrize("change", TRIED)
def test_a_full_disk_leaves_everything_as_it_was(change: str, original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = outcomes(original, change)
    folder = ShardedFolder.open(original)
    there, handles, generation, failures = files(folder), 0, folder.manifest.generation, 0
    broken = FailingDisk(monkeypatch, WRITES, errno.ENOSPC, True)
    for nth in range(1, 10_000, STEP):
        error = attempt(broken, nth, lambda: CHANGES[change](folder))
        if error is None:
            assert not broken.failed
            break
        assert isinstance(error, OSError)
        assert error.errno == errno.ENOSPC
        assert error.filename is not None
        if folder.manifest.generation > generation:  # only the last sync has failed
            assert "the change was made" in str(error)
            break
        failures += 1
        assert content(folder) == content(ShardedFolder.open(original)) == before
        assert files(folder) >= there if LOCK_STAYS else files(folder) == there
        del error  # and all that its traceback refers to
        gc.collect()
        handles = handles or len(os.listdir("/proc/self/fd"))
        assert len(os.listdir("/proc/self/fd")) <= handles
    assert failures > 2
    assert content(folder) == content(ShardedFolder.open(original)) == after
    folder.verify()
    clean(folder, monkeypatch)
    assert content(folder) == after


@pytest.mark.parametrize("code", [errno.EIO, None], ids=["error", "interrupt"])
@pytest.mark.parametrize("change", ["replace", "rebalance"])
def test_one_call_that_fails(
    change: str, code: int | None, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = outcomes(original, change)
    broken = FailingDisk(monkeypatch, CALLS, code, False)
    for nth in range(1, 10_000, STEP):
        shutil.copytree(original, copy := tmp_path / f"corpus {nth}")
        folder = ShardedFolder.open(copy)
        attempt(broken, nth, lambda folder=folder: CHANGES[change](folder))
        if not broken.failed:
            break
        now = content(ShardedFolder.open(copy))
        assert now in (before, after), broken.failed
        if change == "replace" and now == before:
            CHANGES[change](folder)
        assert content(ShardedFolder.open(copy)) == after
        clean(folder, monkeypatch)
        if not LOCK_STAYS:  # it is still open
            shutil.rmtree(copy)
    assert nth > 20


def dying(patch: pytest.MonkeyPatch, nth: int) -> FailingDisk:
    """A disk whose call with that number ends the process at once, as a kill does."""

    class Deadly(FailingDisk):
        def call(self, name: str, path: Any = None) -> None:
            self._count += 1
            if self._count == nth:
                os._exit(9)

    Deadly._count = 0
    return Deadly(patch, CALLS, None, False)


def die_at_each_step(change: Callable[[ShardedFolder], None], original: Path, copies: Path) -> Iterator[ShardedFolder]:
    """Copies of a corpus, each left by a process that died at another step."""
    for nth in range(1, 10_000, STEP):
        shutil.copytree(original, copies / str(nth))
        if not (child := os.fork()):
            patch = pytest.MonkeyPatch()
            try:
                folder = ShardedFolder.open(copies / str(nth))
                dying(patch, nth)
                change(folder)
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) in (0, 9)
        yield ShardedFolder.open(copies / str(nth))
        if not status:
            return
        shutil.rmtree(copies / str(nth))


@needs_fork
@pytest.mark.parametrize("change", TRIED)
def test_a_writer_that_dies(change: str, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = outcomes(original, change)
    found, strays = [], 0
    (tmp_path / "copies").mkdir()
    generation = ShardedFolder.open(original).manifest.generation
    for folder in die_at_each_step(CHANGES[change], original, tmp_path / "copies"):
        folder.verify()
        changed = folder.manifest.generation > generation
        assert content(folder) == (after if changed else before)
        found.append(changed)
        strays += len(files(folder) - named(folder))
        if not changed:
            CHANGES[change](folder)  # the files of the dead writer do not disturb the next one
            assert content(ShardedFolder.open(folder.path)) == after
        clean(folder, monkeypatch)
        assert content(folder) == after
    assert found == sorted(found)  # first the old version, then the new one
    assert found.count(False) > 3
    assert strays


@needs_fork
def test_a_creation_that_dies_can_be_done_again(tmp_path: Path) -> None:
    def create(path: Path) -> ShardedFolder:
        return ShardedFolder.create(path, Layout(DIM), shards=2)

    for nth in range(1, 10_000, STEP):
        path = tmp_path / str(nth)
        if not (child := os.fork()):
            try:
                dying(pytest.MonkeyPatch(), nth)
                create(path)
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        folder = ShardedFolder.open(path) if (path / "cluster.json").exists() else create(path)
        put(folder, some(0, 4), [1, 2, 3, 4])
        folder.verify()
        if not status:
            break
    assert nth > 10
