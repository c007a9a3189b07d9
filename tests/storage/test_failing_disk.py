"""A disk that is full or fails: a clear error, the old index intact, no files left over, and it works the next time."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import subprocess
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import maxsieve as ms
from index.support import listed
from long_form import FULL
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.errors import StoreWarning
from maxsieve.storage import codebook
from maxsieve.storage.manifest import read_manifest

from .faults import CALLS, WRITES, FailingDisk, make_segments_small

DIM = 4
STEP = 1 if FULL else 5
"""One in so many of the calls that can fail does."""

State = list[tuple[Any, ...]]


class Fault(NamedTuple):
    calls: frozenset[str]
    code: int | None
    lasting: bool


FAULTS = {
    "full": Fault(WRITES, errno.ENOSPC, True),
    "error": Fault(CALLS, errno.EIO, False),
    "interrupt": Fault(CALLS, None, False),
}


def _docs(seed: int, count: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, DIM)).astype(np.float32) for length in rng.integers(0, 6, count)]


def _add(index: ms.Index) -> None:
    index.add(_docs(2, 9), [f"n{i}" for i in range(9)], metadata=[{"n": i} if i % 2 else None for i in range(9)])


def _replace(index: ms.Index) -> None:
    index.add(_docs(3, 4), ["a1", "a4", "new", "a11"], metadata=["new"] * 4, replace=True)


CHANGES: dict[str, Callable[[ms.Index], None]] = {
    "add": _add,
    "replace": _replace,
    "delete": lambda index: index.delete(["a0", "a5", "a11"]),
    "compact": lambda index: index.compact(),
    "train": lambda index: index.train_codebook(),
    "calibrate": lambda index: index.calibrate(_queries(), k=4),
}


def _queries() -> list[Any]:
    return list(np.random.default_rng(8).standard_normal((10, 2, DIM)))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_segments_small(monkeypatch, DIM)


@pytest.fixture
def original(tmp_path: Path, _small: None) -> Path:
    path = tmp_path / "original"
    _fill(path).close()
    return path


def _fill(path: Path, store: Any = "float32") -> ms.Index:
    index = ms.Index.create(DIM, path=path, store=store)
    index.add(_docs(0, 10), [f"a{i}" for i in range(10)], metadata=[f"text {i}" for i in range(10)])
    index.add(_docs(1, 3), ["a10", "a11", "a12"], metadata=[None, 1, None])
    index.delete(["a2", "a10"])
    return index


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_failed_change(
    fault: str, change: str, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail(CHANGES[change], fault, original, tmp_path, monkeypatch)


def _add_much(index: ms.Index) -> None:
    """Segments that are sealed, with lists that are merged with older ones."""
    index.add(_docs(6, 40), [f"much {i}" for i in range(40)])


CALIBRATED_CHANGES = {
    **{name: CHANGES[name] for name in ("replace", "train")},
    "add much": _add_much,
    "recalibrate": lambda index: index.recalibrate(),
    "compact and train": lambda index: index.compact(),
}


@pytest.mark.parametrize("change", CALIBRATED_CHANGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_failed_change_of_a_calibrated_index(
    fault: str, change: str, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ms.Index.open(original) as index:
        index.calibrate(_queries(), k=4)
        index.add(_docs(5, 2), ["later", "last"])
        index.delete(["a6"])
        if change == "compact and train":
            monkeypatch.setattr(codebook.Codebook, "outgrown_by", lambda self, tokens: self.tokens < tokens)
    _fail(CALIBRATED_CHANGES[change], fault, original, tmp_path, monkeypatch)


def _fail(
    change: Callable[[ms.Index], None], fault: str, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Makes the change on copies, each with a fault at another call."""
    before, after = _state(original), _state_after(original, tmp_path / "after", change)
    broken = FailingDisk(monkeypatch, *FAULTS[fault])
    handles, failures = _handles(), 0
    for nth in _until_it_works(broken):
        folder = tmp_path / f"index {nth}"
        shutil.copytree(original, folder)
        with ms.Index.open(folder) as index:
            error = _attempt(broken, nth, lambda index=index: change(index))
            failures += error is not None
            now = _read(index)
            assert now == _state(folder)
            index.verify()
            first_of_two = change is CALIBRATED_CHANGES["compact and train"] and now == before
            made = "was made" in str(error) and not first_of_two
            if error is None or made:
                assert now == after, broken.failed
            elif now != after or before == after:
                assert now == before, broken.failed
                change(index)
            else:  # an interrupt may come a moment too late
                assert isinstance(error, KeyboardInterrupt), broken.failed
            index.add([], [])  # a writer removes what another has left
            assert _read(index) == _state(folder) == after
            assert not _strays(folder)
        shutil.rmtree(folder)
    assert failures > 8 // STEP
    assert _handles() <= handles  # none is leaked; those that others had left may be closed meanwhile


def _reencode(index: ms.Index) -> None:
    index.reencode(_docs(6, 5), [f"a{i}" for i in range(3, 8)])


QUICK_CASES = {("error", "encode"), ("interrupt", "reencode again"), ("full", "add")}
RESIDUAL_CHANGES = {
    **{name: CHANGES[name] for name in ("add", "replace", "compact")},
    "encode": lambda index: index.train_codebook(),
    "reencode": _reencode,
    "reencode again": _reencode,
}


RESIDUAL_CASES = [
    pytest.param(fault, change, marks=() if (fault, change) in QUICK_CASES else pytest.mark.full)
    for fault in FAULTS
    for change in RESIDUAL_CHANGES
]


@pytest.mark.parametrize(("fault", "change"), RESIDUAL_CASES)
def test_failed_change_of_a_store_of_residuals(
    fault: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when vectors become residuals, which writes every segment again, and when they get another codebook."""
    monkeypatch.setattr(codebook, "TOKENS_OF_CENTROID", 4)
    with _fill(tmp_path / "original", "residual2") as index:
        if change != "encode":
            index.train_codebook()
        if change == "reencode again":
            index.reencode(_docs(7, 3), ["a0", "a1", "a3"])
    _fail(RESIDUAL_CHANGES[change], fault, tmp_path / "original", tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "fault", ["full", *(pytest.param(one, marks=pytest.mark.full) for one in ("error", "interrupt"))]
)
def test_documents_that_are_added_stay_if_they_can_not_be_encoded(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are enough tokens for a codebook, but no room for it: a warning. The next addition tries again."""
    monkeypatch.setattr(codebook, "TOKENS_OF_CENTROID", 4)
    original = tmp_path / "original"
    _fill(original, "residual1").close()
    before = _state(original)
    monkeypatch.setattr(codebook, "STORE_TOKENS", 35)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        after = _state_after(original, tmp_path / "after", _add)
    broken = FailingDisk(monkeypatch, *FAULTS[fault])
    warned = 0
    for nth in _until_it_works(broken):
        folder = tmp_path / f"index {nth}"
        shutil.copytree(original, folder)
        with ms.Index.open(folder) as index, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", StoreWarning)
            error = _attempt(broken, nth, lambda index=index: _add(index))
            index.verify()
            if error is None:
                assert len(index) == 20
                not_yet = [one for one in told if "not encoded yet" in str(one.message)]
                assert bool(not_yet) == (index.storage.snapshot.codebook is None)
                warned += bool(not_yet)
            elif len(index) == 11:
                assert _read(index) == before
                _add(index)
            index.add([], [])
            assert _read(index) == _state(folder) == after
            assert not _strays(folder)
        shutil.rmtree(folder)
    assert (warned > 0) == (fault != "interrupt")


@pytest.mark.parametrize("there", [False, True], ids=["new", "empty"])
@pytest.mark.parametrize("change", ["create", "build"])
@pytest.mark.parametrize("fault", FAULTS)
def test_failed_beginning(
    fault: str, change: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = _docs(0, 10 if change == "build" else 0)

    def begin(folder: Path) -> None:
        if change == "create":
            ms.Index.create(DIM, path=folder).close()
        else:
            ms.Index.build(docs, metadata=[str(i) for i in range(len(docs))], path=folder).close()

    begin(tmp_path / "whole")
    whole = _state(tmp_path / "whole")
    broken = FailingDisk(monkeypatch, *FAULTS[fault])
    handles, left = _handles(), 0
    for nth in _until_it_works(broken):
        folder = tmp_path / f"index {nth}"
        if there:
            folder.mkdir()
        error = _attempt(broken, nth, lambda folder=folder: begin(folder))
        if error is None:
            assert _state(folder) == whole
        elif (folder / "manifest.json").exists():  # what was committed stays, and can be continued
            # an interrupt may come a moment too late: while the lock is released, after the commit
            late = isinstance(error, KeyboardInterrupt) and broken.failed == ["flock"]
            assert change == "build" or late, broken.failed
            left += not late
            with ms.Index.open(folder) as index:
                index.verify()
                assert _read(index) == whole[: len(index)]
                rest = range(len(index), len(docs))
                index.add([docs[i] for i in rest], rest, metadata=[str(i) for i in rest])
                assert _read(index) == whole
            assert not _strays(folder)
        else:
            left_over = [path.name for path in folder.iterdir()] if folder.exists() else None
            assert left_over == ([] if there else None) or broken.failed == ["flock"], left_over
            begin(folder)
            assert _state(folder) == whole
    assert (left > 0) == (change == "build")
    assert _handles() <= handles  # none is leaked; those that others had left may be closed meanwhile


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = tmp_path / "disk"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "maxsieve-test", os.fspath(mounted)]
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not is_root or shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield mounted
    gc.collect()
    subprocess.run(["umount", "-l", os.fspath(mounted)], check=True)


def test_full_disk(small_disk: Path) -> None:
    folder = small_disk / "index"
    index = _fill(folder)
    index.compact()
    ballast = small_disk / "ballast"
    failures = 0
    for room in range(0, 40, 4):  # KiB that stay free: it fails in every file sooner or later
        before = _read(index)
        _leave(ballast, room << 10)
        texts = ["x" * 1000] * 9
        for change in (
            lambda texts=texts: index.add(_docs(2, 9), range_ids(9), metadata=texts),
            lambda: index.delete(["a0", "a5"]),
            lambda: index.compact(),
        ):
            error = None
            try:
                change()
            except OSError as problem:
                error = problem
            if error is not None:
                failures += 1
                assert error.errno == errno.ENOSPC
                assert os.fspath(folder) in str(error)
                assert _read(index) == _state(folder) == before
                index.verify()
            before = _read(index)
        ballast.unlink()
        assert index.ids
        index.compact()
        assert not _strays(folder)
        index.delete([one for one in index.ids if one in range_ids(9)])
        if "a0" not in index:
            index.add(_docs(0, 1), ["a0"])
        if "a5" not in index:
            index.add(_docs(0, 1), ["a5"])
    assert failures > 5
    with pytest.raises(OSError, match="index2") as full:
        ms.Index.build((np.ones((100, DIM)) for _ in range(1000)), path=small_disk / "index2")
    assert full.value.errno == errno.ENOSPC
    committed = ms.Index.open(small_disk / "index2")
    committed.verify()
    assert committed.ids == list(range(len(committed)))
    assert 0 < len(committed) < 1000


def range_ids(count: int) -> list[str]:
    return [f"n{i}" for i in range(count)]


def _leave(ballast: Path, room: int) -> None:
    """Fills the file system up to some bytes."""
    free = os.statvfs(ballast.parent)
    size = max(0, free.f_bavail * free.f_frsize - room)
    ballast.write_bytes(bytes(size))


def _until_it_works(broken: FailingDisk) -> Iterator[int]:
    """1, 2, ... while so many calls are made; every fifth of them in the usual form."""
    for nth in range(1, 1000, STEP):
        yield nth
        if not broken.failed:
            return
    raise AssertionError("it never works")


def _attempt(broken: FailingDisk, nth: int, change: Callable[[], None]) -> BaseException | None:
    """The error that results, which must say what failed and where."""
    error: BaseException | None = None
    try:
        with broken.failing(nth):
            change()
    except (KeyboardInterrupt, OSError) as problem:
        error = problem
        one: BaseException | None = problem
        while one is not None:  # its frames would keep files open
            traceback.clear_frames(one.__traceback__)
            one = one.__context__
        if LOCK_STAYS:  # as on Windows, which can't remove open files; on other systems this would take minutes
            gc.collect()
    if isinstance(error, OSError):
        assert error.errno in (errno.ENOSPC, errno.EIO)
        assert error.filename is not None, error
    return error


def _handles() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def _strays(folder: Path) -> list[str]:
    known = {"lock", "manifest.json", *read_manifest(folder).files}
    return [path.name for path in folder.iterdir() if path.name not in known]


def _state(folder: Path) -> State:
    with ms.Index.open(folder) as index:
        index.verify()
        return _read(index)


def _state_after(original: Path, folder: Path, change: Callable[[ms.Index], None]) -> State:
    shutil.copytree(original, folder)
    with ms.Index.open(folder) as index:
        change(index)
        return _read(index)


def _read(index: ms.Index) -> State:
    """Everything in it, and what a search finds."""
    documents = [(one, index.vectors(one).tobytes(), index.metadata(one)) for one in index.ids]
    hits = index.search(np.ones((2, DIM)), k=5)
    assert hits.metadata == [index.metadata(one) for one in hits.ids]
    return [*documents, *_tiers(index)]


def _tiers(index: ms.Index) -> State:
    """Codebook, lists and calibration, except for its time."""
    state = index.storage.snapshot
    if (book := state.codebook) is None:
        return []
    bare = replace(state, segments=[segment.changed(lists=None) for segment in state.here.segments])
    whole = listed(bare.listed(1))  # a merged segment has none until the next step, and is followed up
    assert all(mine in ([], whole[one]) for one, mine in listed(state).items())
    found: State = [(book.codes.tobytes(), book.tokens)]
    if (made := state.calibration) is not None:
        assert index.search(np.ones((2, DIM)), k=3, policy=ms.Calibrated(0.5)).ids
        best = made.hits["documents"]
        found.append((best.ranks.tobytes(), best.ids, made.rows.tobytes(), made.documents, state.changes, state.kept))
    return found
