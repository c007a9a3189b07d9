"""Paths without an index, with half of one, or with other files: an error that names the path and the problem."""

from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.support import contents, eighths
from maxsieve.common.locks import LOCK_STAYS
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.sealed_json import seal

DOCS = eighths(1, 12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The folder of an index with every kind of file."""
    index = ms.Index.build(
        DOCS, [f"d{i}" for i in range(12)], metadata=[{"i": i} for i in range(12)], path=tmp_path / "x"
    )
    index.delete(["d3"])
    index.close()
    return tmp_path / "x"


def only(path: Path, suffix: str) -> Path:
    (file,) = path.glob(f"*{suffix}")
    return file


def says(error: type[Exception], call: Callable[[], object], *words: object) -> None:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value).replace(r"\\", "\\")  # an `OSError` shows the repr of its path
    assert " " in text
    for word in words:
        assert str(word) in text, f"{word!r} is not in {text!r}"


def opening(path: Path) -> Callable[[], object]:
    return lambda: ms.Index.open(path)


def test_a_file_where_a_folder_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("hello")
    says(NotADirectoryError, opening(file), file, "is not a folder")
    says(NotADirectoryError, opening(file / "below"), file / "below", "is not a folder")
    says(FileExistsError, lambda: ms.Index.create(3, path=file), file, "is a file; an index needs a folder")
    says(FileExistsError, lambda: ms.Index.build(DOCS, path=file), file, "is a file; an index needs a folder")
    says(NotADirectoryError, lambda: ms.Index.create(3, path=file / "below"), file / "below")
    assert file.read_text() == "hello"


def test_no_folder_or_an_empty_one(tmp_path: Path) -> None:
    says(FileNotFoundError, opening(tmp_path / "none"), tmp_path / "none", "does not exist")
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    says(FileNotFoundError, opening(tmp_path / "empty"), tmp_path / "empty", "is not an index: it has no manifest.json")
    assert not list((tmp_path / "empty").iterdir())
    assert len(ms.Index.create(3, path=tmp_path / "empty")) == 0


@pytest.mark.parametrize("suffix", [".segment", ".deleted", ".records"])
def test_a_missing_file(path: Path, suffix: str) -> None:
    file = only(path, suffix)
    file.unlink()
    says(DamagedIndexError, opening(path), file, "is missing")
    assert not file.exists()


def test_a_missing_manifest(path: Path) -> None:
    (path / "manifest.json").unlink()
    says(FileNotFoundError, opening(path), path, "is not an index: it has no manifest.json")
    says(FileExistsError, lambda: ms.Index.create(3, path=path), path, "is not empty")


OTHERS = {
    "empty": b"",
    "text": b"Some notes, which somebody else has written here.\n" * 100,
    "npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}" + bytes(4000),
    "json": b'{"hello": ["world"]}',
    "list": b"[1, 2, 3]",
    "nested": b"[" * 100_000,
    "number": b"17",
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=list(OTHERS))
@pytest.mark.parametrize("name", ["manifest.json", ".segment", ".deleted", ".records"])
def test_another_programs_file(path: Path, name: str, content: bytes) -> None:
    file = only(path, name)
    file.write_bytes(content)
    says(DamagedIndexError, opening(path), file)
    assert file.read_bytes() == content


def test_another_programs_database_as_records(path: Path) -> None:
    file = only(path, ".records")
    file.unlink()
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE bookmarks (url TEXT)")
    database.close()
    says(DamagedIndexError, opening(path), file, "record")


def test_the_words_for_another_programs_file(path: Path) -> None:
    kept = (path / "manifest.json").read_bytes()
    (path / "manifest.json").write_text('{"format": "something else"}')
    says(DamagedIndexError, opening(path), path / "manifest.json", "is not a manifest of maxsieve")
    (path / "manifest.json").write_bytes(kept)
    segment = only(path, ".segment")
    size = segment.stat().st_size
    segment.write_bytes(b"x" * size)
    says(DamagedIndexError, opening(path), segment, "is not a file of maxsieve")
    gc.collect()  # the error keeps the map open, and Windows does not overwrite a mapped file
    segment.write_bytes(b"x" * 10)
    says(DamagedIndexError, opening(path), segment, "has 10 bytes, fewer than a header")


def test_a_segment_of_another_index(path: Path, tmp_path: Path) -> None:
    other = ms.Index.build(eighths(2, 9), path=tmp_path / "other")
    shutil.copy(only(tmp_path / "other", ".segment"), only(path, ".segment"))
    says(DamagedIndexError, opening(path), only(path, ".segment"), "12 documents")
    assert len(other) == 9


def test_a_newer_manifest(path: Path) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["version"] = 5
    manifest["colour"] = "red"  # the version decides, whatever the rest says
    (path / "manifest.json").write_text(json.dumps(manifest))
    wanted = (path / "manifest.json", "has format version 5; this maxsieve reads up to 4")
    says(MaxsieveError, opening(path), *wanted)
    with pytest.raises(MaxsieveError) as caught:
        ms.Index.open(path)
    assert not isinstance(caught.value, DamagedIndexError)


@pytest.mark.parametrize("suffix", [".segment", ".deleted"])
def test_a_newer_file(path: Path, suffix: str) -> None:
    file = only(path, suffix)
    content = bytearray(file.read_bytes())
    content[8:12] = struct.pack("<I", 7)
    file.write_bytes(content)
    says(MaxsieveError, opening(path), file, "has format version 7; this maxsieve reads up to 1")


def test_a_manifest_that_leads_out_of_its_folder(path: Path) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    for name in ("../elsewhere.segment", "/etc/passwd", "", ".", "00000001.segment/x"):
        manifest["parts"][0]["segment"] = name
        manifest.pop("checksum", None)
        manifest["checksum"] = seal(manifest)
        (path / "manifest.json").write_text(json.dumps(manifest))
        says(DamagedIndexError, opening(path), path / "manifest.json")


NOT_ON_WINDOWS = pytest.mark.skipif(LOCK_STAYS, reason="Windows has no such names")
NOT_ON_MACOS = pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such names")


@pytest.mark.parametrize(
    "name",
    [
        "a folder with spaces",
        "Füße/索引/مؤشر",
        "100%23 #&=;'",
        pytest.param("100%23 #?&=;'\"", marks=NOT_ON_WINDOWS),
        pytest.param("\udc80odd", marks=NOT_ON_MACOS),
        "-",
        pytest.param("new\nline", marks=NOT_ON_WINDOWS),
    ],
)
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    index = ms.Index.build(DOCS, metadata=[{"i": i} for i in range(12)], path=path)
    index.add(DOCS[:2], [20, 21], metadata=["new", None])
    index.delete([0])
    index.compact()
    again = ms.Index.open(path)
    again.verify()
    assert contents(again) == contents(index)
    assert [again.metadata(i) for i in (5, 20, 21)] == [{"i": 5}, "new", None]
    assert sorted(one.suffix for one in path.iterdir()) == ["", ".json", ".records", ".segment"]


def test_a_path_may_be_a_str_or_path_like(path: Path) -> None:
    class Like:
        def __fspath__(self) -> str:
            return str(path)

    wanted = contents(ms.Index.open(path))
    assert contents(ms.Index.open(str(path))) == contents(ms.Index.open(Like())) == wanted
    for wrong in (3, None, b"bytes"):
        with pytest.raises(TypeError):
            ms.Index.open(wrong)  # type: ignore[arg-type]


def test_a_relative_path_survives_chdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    built = ms.Index.build(DOCS, metadata=["m"] * 12, path="here")
    opened = ms.Index.open("here")
    monkeypatch.chdir(tmp_path / "elsewhere")
    built.add([DOCS[0]], [50], metadata=["later"])
    built.delete([0])
    built.compact()
    opened.refresh()
    opened.verify()
    assert contents(opened) == contents(built)
    assert opened.metadata(50) == "later"
    assert not list((tmp_path / "elsewhere").iterdir())
    monkeypatch.chdir(tmp_path / "here")
    assert contents(ms.Index.open(".")) == contents(built)


def test_a_symlink_to_the_folder(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    index = ms.Index.open(link)
    index.add([DOCS[0]], ["new"])
    index.compact()
    assert link.is_symlink()
    assert contents(ms.Index.open(path)) == contents(index)
    says(FileExistsError, lambda: ms.Index.create(3, path=link), link, "is not empty")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    says(FileNotFoundError, opening(tmp_path / "dangling"), tmp_path / "dangling")


def test_a_folder_that_is_not_empty(path: Path, tmp_path: Path) -> None:
    before = contents(ms.Index.open(path))
    words = (path, "is not empty; Index.open opens an existing index")
    says(FileExistsError, lambda: ms.Index.create(5, path=path), *words)
    says(FileExistsError, lambda: ms.Index.build(DOCS, path=path), *words)
    assert contents(ms.Index.open(path)) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("the only copy")
    says(FileExistsError, lambda: ms.Index.build(DOCS, path=tmp_path / "mine"), tmp_path / "mine", "is not empty")
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_created_twice(tmp_path: Path) -> None:
    ms.Index.create(3, path=tmp_path / "x")
    says(FileExistsError, lambda: ms.Index.create(3, path=tmp_path / "x"), tmp_path / "x", "is not empty")


def test_what_a_build_killed_at_once_leaves_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("123\n")
    (tmp_path / "manifest.json.tmp").write_text('{"form')
    assert len(ms.Index.build(DOCS, path=tmp_path)) == 12
    assert not (tmp_path / "manifest.json.tmp").exists()


@pytest.mark.skipif(LOCK_STAYS, reason="a folder of an open index can't be removed")
def test_a_folder_removed_behind_our_back(path: Path) -> None:
    index = ms.Index.open(path)
    before = contents(index)
    shutil.rmtree(path)
    assert contents(index) == before
    says(FileNotFoundError, index.refresh, path, "does not exist")
    says(FileNotFoundError, lambda: index.delete("d1"), path)
    assert not path.exists()


def test_files_of_others_in_the_folder_stay(path: Path) -> None:
    (path / "README").write_text("ours")
    (path / "notes.txt").write_text("ours, too")
    index = ms.Index.open(path)
    index.delete(["d1"])
    index.compact()
    assert (path / "README").read_text() == "ours"
    assert (path / "notes.txt").read_text() == "ours, too"


CHANGES = """
import sys
import numpy as np
import maxsieve as ms

index = ms.Index.open(sys.argv[1])
index.verify()
assert index.metadata("d5") == {"i": 5}
ids = index.ids
for change in (lambda: index.add([np.ones((1, 5))], ["new"]), lambda: index.delete(["d1"]), index.compact):
    try:
        change()
    except OSError as problem:
        print(problem)
assert index.ids == ms.Index.open(sys.argv[1]).ids == ids
try:
    ms.Index.create(3, path=sys.argv[1] + "/below")
except OSError as problem:
    print(problem)
"""


def test_a_read_only_file_system(path: Path) -> None:
    """Permissions do not stop root, so the folder is mounted read-only, where no other process sees it."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 99; exec "$1" -c "$2" "$0"'
    command = ["unshare", "-m", "sh", "-c", mount, str(path), sys.executable, CHANGES]
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 99 or "unshare: " in done.stderr:  # that of BusyBox gives other reasons for a failure
        pytest.skip("needs the right to mount a folder read-only")
    assert done.returncode == 0, done.stderr
    *changes, created = done.stdout.splitlines()
    assert len(changes) == 3
    for change in changes:
        assert "can't be written to: Read-only file system" in change
        assert str(path) in change
    assert f"{path}/below" in created


def test_a_lock_that_cannot_be_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = ms.Index.open(path)
    before = contents(index)
    real = os.open

    def refuse(file: Any, flags: int, *rest: Any, **more: Any) -> int:
        if Path(file).name == "lock":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)
        return real(file, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    for change in (lambda: index.add([DOCS[0]], ["new"]), lambda: index.delete(["d1"]), index.compact):
        says(PermissionError, change, path, "can't be written to", "Permission denied")
    assert contents(index) == before


@pytest.mark.skipif(LOCK_STAYS, reason="Windows has other permissions")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_permission_to_write(path: Path) -> None:
    path.chmod(0o555)
    try:
        index = ms.Index.open(path)
        (path / "lock").chmod(0o444)
        says(PermissionError, lambda: index.delete(["d1"]), path, "can't be written to", "Permission denied")
    finally:
        path.chmod(0o755)


def test_a_header_that_lies_with_a_right_checksum(path: Path) -> None:
    """Sizes near 2^64 must not wrap around."""
    segment = only(path, ".segment")
    content = segment.read_bytes()
    header = np.frombuffer(content[:2048], np.uint8).tobytes()
    for field, value in ((32, 2**64 - 64), (40, 2**64 - 8), (40, 2**63), (48, 2**63), (48, 0)):
        broken = bytearray(header)
        broken[32 + field : 32 + field + 8] = struct.pack("<Q", value)
        broken[-4:] = struct.pack("<I", zlib.crc32(bytes(broken[:-4])))
        segment.write_bytes(bytes(broken) + content[2048:])
        says(DamagedIndexError, opening(path), segment)
        gc.collect()  # the error keeps the map open, and Windows does not overwrite a mapped file
