"""A folder that changes while a sync looks at it: only a file that is gone takes its document along."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from long_form import scaled
from maxsieve.text import FolderSync, Synced
from maxsieve.text.collection.collection import Collection
from maxsieve.text.inputs.document import BadInput, Fields
from maxsieve.text.inputs.reading import DocumentReader, Input
from maxsieve.text.sync import run
from text.support import WordEncoder

NAMES = ("a.md", "b.md", "deep/c.md", "deep/d.md", "deep/er/e.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(f"red fox {name}")
    return tmp_path / "notes"


@pytest.fixture
def collection(tmp_path: Path, folder: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "it.ms", WordEncoder()) as made:
        assert sync(made, folder).added == len(NAMES)
        yield made


def sync(collection: Collection, folder: Path, **options: Any) -> Synced:
    return FolderSync(collection, folder).run(**options)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path, int], None]:
    """A function that makes calls of the system fail for a path."""

    def fail(function: str, broken: Path, number: int) -> None:
        real = getattr(os, function)

        def call(path: Any = ".", *arguments: Any, **options: Any) -> Any:
            if not isinstance(path, int) and Path(path) == broken:
                raise OSError(number, os.strerror(number), str(path))
            return real(path, *arguments, **options)

        monkeypatch.setattr(os, function, call)

    return fail


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ELOOP, errno.EMFILE])
@pytest.mark.parametrize("functions", [("stat",), ("stat", "lstat")])
def test_a_file_that_cannot_be_examined_keeps_its_document(
    collection: Collection, folder: Path, failing: Callable[..., None], number: int, functions: tuple[str, ...]
) -> None:
    for function in functions:
        failing(function, folder / "deep/c.md", number)
    assert sync(collection, folder).deleted == 0
    assert sorted(collection.ids) == sorted(NAMES)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENOENT, errno.ENOTDIR])
def test_a_folder_that_cannot_be_listed_keeps_its_documents(
    collection: Collection, folder: Path, failing: Callable[..., None], number: int
) -> None:
    (folder / "a.md").unlink()
    (folder / "new.md").write_text("a new owl")
    failing("scandir", folder / "deep", number)
    follower = FolderSync(collection, folder)
    done = follower.run()
    assert (done.added, done.deleted, done.bad, done.waiting) == (1, 1, 1, 3), "the rest goes on"
    (problem,) = follower.problems
    assert str(problem) == f"{folder / 'deep'}: the folder can't be listed: {os.strerror(number)}"
    assert sorted(collection.ids) == sorted({*NAMES, "new.md"} - {"a.md"})
    assert follower.run(settled=True).bad == 0, "told once"


def test_indexing_a_folder_that_cannot_be_listed(folder: Path, failing: Callable[..., None]) -> None:
    failing("scandir", folder / "deep", errno.EACCES)
    reader = DocumentReader([Input(str(folder))], Fields(), skip_bad=True)
    assert (reader.count(), [found.id for found in reader], reader.bad) == (2, ["a.md", "b.md"], 1)
    with pytest.raises(BadInput, match=r"deep: the folder can't be listed: Permission denied"):
        list(DocumentReader([Input(str(folder))], Fields(), strict=True))


def test_a_folder_that_vanishes_before_its_files_are_examined(
    collection: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = os.stat

    def stat(path: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(path, int) and Path(path).parent == folder / "deep" and (folder / "deep").exists():
            (folder / "deep").rename(tmp_path / "away")
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat)
    done = sync(collection, folder)
    assert (done.deleted, done.waiting) == (0, 3)
    assert sync(collection, folder).deleted == 3, "now it is really gone"


def test_a_file_that_vanishes_before_it_is_read(
    collection: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("a longer text about the red fox")
    real = run.read_documents_of

    def read(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "a.md":
            path.unlink()
        return real(path, *arguments, **options)

    monkeypatch.setattr(run, "read_documents_of", read)
    done = sync(collection, folder)
    assert (done.deleted, done.waiting) == (0, 1), "some programs remove a file before they write it again"
    assert "a.md" in collection.ids
    assert sync(collection, folder).deleted == 1


@pytest.mark.parametrize("kind", ["pipe", "device", "nowhere", "itself", "huge"])
def test_watching_a_file_that_becomes_something_else(collection: Collection, folder: Path, kind: str) -> None:
    """It is named once, nothing waits for it, its document stays, and it is followed again when it is a file again."""
    follower, file = FolderSync(collection, folder), folder / "a.md"
    follower.run()
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "huge":
        with open(file, "wb") as content:
            content.truncate(1 << 40)
    else:
        file.symlink_to({"device": "/dev/zero", "nowhere": "/no/such/file", "itself": file}[kind])
    told = [follower.run(settled=True) for _ in range(4)]
    assert (sum(done.bad for done in told), sum(done.deleted for done in told)) == (1, 0)
    assert collection.text("a.md") == "red fox a.md"
    file.unlink()
    file.write_text("blue owl")
    assert sum(follower.run(settled=True).changed for _ in range(3)) == 1


def test_watching_a_folder_that_becomes_a_file(collection: Collection, folder: Path) -> None:
    follower = FolderSync(collection, folder)
    follower.run()
    shutil.rmtree(folder / "deep")
    (folder / "deep").write_text("no folder any more")
    assert sum(follower.run(settled=True).deleted for _ in range(3)) == 3
    assert sorted(collection.ids) == ["a.md", "b.md"]


def test_the_whole_folder_vanishes(collection: Collection, folder: Path, tmp_path: Path) -> None:
    follower = FolderSync(collection, folder)
    folder.rename(tmp_path / "away")
    with pytest.raises(BadInput, match=r"notes: the folder can't be listed: No such file"):
        follower.run()
    assert len(collection) == len(NAMES)


def test_a_file_that_is_back_before_its_document_is_deleted(
    collection: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "b.md").unlink()
    (folder / "new.md").write_text("a new owl")
    real = Collection.add

    def add(*arguments: Any, **options: Any) -> Any:
        (folder / "b.md").write_text("red fox b.md")
        return real(*arguments, **options)

    monkeypatch.setattr(Collection, "add", add)
    done = sync(collection, folder)
    assert (done.added, done.deleted) == (1, 0)
    assert "b.md" in collection.ids


def test_folders_come_and_go_while_it_runs(collection: Collection, folder: Path, tmp_path: Path) -> None:
    """What stays in place is never deleted, and no run fails."""
    stopped = threading.Event()

    def disturb() -> None:
        while not stopped.is_set():
            (folder / "deep").rename(tmp_path / "away")
            (tmp_path / "away").rename(folder / "deep")
            (folder / "other").mkdir()
            (folder / "other/f.md").write_text("brown bear")
            shutil.rmtree(folder / "other")

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        for _ in range(scaled(100)):
            sync(collection, folder)
            assert {"a.md", "b.md"} <= set(collection.ids)
    finally:
        stopped.set()
        disturber.join()
    sync(collection, folder)
    assert sorted(collection.ids) == sorted(NAMES)
