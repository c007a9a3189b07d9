"""A folder from an attacker: names that lead out of it, links, pipes, devices, and endless files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError, MaxsieveError

from .support import DIM, build, change_block, change_manifest

FILES = ["manifest.json", "00000001.segment", "00000001.records", "00000002.deleted"]
OPEN = "import sys, maxsieve as ms; ms.Index.open(sys.argv[1])"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    build(tmp_path / "index")
    assert sorted(os.listdir(tmp_path / "index")) == sorted([*FILES, "lock"])
    return tmp_path / "index"


def refused(path: Path, *names: str) -> None:
    """Opening it ends soon, with an error of ours that names the file, and with little memory."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); {OPEN}"
    done = subprocess.run([sys.executable, "-c", limited, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("maxsieve.errors.DamagedIndexError"), last
    for name in names:
        assert name in last


@pytest.mark.parametrize("name", FILES)
def test_a_link_is_not_followed(path: Path, tmp_path: Path, name: str) -> None:
    (path / name).rename(tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedIndexError, match=f"{name} is a link"):
        ms.Index.open(path)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_does_not_hang(path: Path, name: str) -> None:
    (path / name).unlink()
    os.mkfifo(path / name)
    refused(path, name, "is a pipe")


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_place_of_a_file_is_damage(path: Path, name: str) -> None:
    (path / name).unlink()
    (path / name).mkdir()
    with pytest.raises(DamagedIndexError, match=f"{name} is a folder"):
        ms.Index.open(path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read(path: Path, name: str, device: str) -> None:
    (path / name).unlink()
    (path / name).symlink_to(device)
    refused(path, name)


def test_a_huge_manifest_is_not_read(path: Path) -> None:
    os.truncate(path / "manifest.json", 64 << 30)  # a sparse file: it uses no space
    refused(path, "manifest.json", "larger than")


CHANGES: dict[str, Callable[[ms.Index], None]] = {
    "add": lambda index: index.add([np.ones((1, DIM))], ["new"]),
    "delete": lambda index: index.delete("d0"),
    "compact": lambda index: index.compact(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_linked_lock_is_not_written_through(path: Path, tmp_path: Path, change: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (path / "lock").unlink()
    (path / "lock").symlink_to(precious)
    with ms.Index.open(path) as index, pytest.raises(DamagedIndexError, match=r"lock .* link"):
        CHANGES[change](index)
    assert precious.read_text() == "precious"


def test_a_lock_under_a_second_name_keeps_what_it_holds(path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (path / "lock").unlink()
    os.link(precious, path / "lock")
    with ms.Index.open(path) as index:
        index.delete("d0")
    assert precious.read_text() == "precious"


@pytest.mark.parametrize(("make", "kind"), [(os.mkfifo, "a pipe"), (os.mkdir, "a folder")])
def test_what_is_no_file_as_lock_is_damage(path: Path, make: Callable[[Path], None], kind: str) -> None:
    (path / "lock").unlink()
    make(path / "lock")
    with ms.Index.open(path) as index, pytest.raises(DamagedIndexError, match=f"lock is {kind}"):
        index.delete("d0")


@pytest.mark.parametrize("kind", ["segment", "records", "deleted"])
@pytest.mark.parametrize("suffix", ["", ".tmp"])
def test_links_under_the_names_of_new_files_are_not_written_through(
    path: Path, tmp_path: Path, kind: str, suffix: str
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for number in range(3, 9):
        (path / f"{number:08d}.{kind}{suffix}").symlink_to(precious)
    (path / "manifest.json.tmp").symlink_to(precious)
    with ms.Index.open(path) as index:
        index.add([np.ones((1, DIM))], ["new"], metadata=["its own"])
        index.delete("d0")
        index.compact()
        assert index.ids == ["d2", "d3", "d4", "d5", "new"]
    assert precious.read_text() == "precious"
    with ms.Index.open(path) as index:
        index.verify()
        assert index.metadata("new") == "its own"


def test_only_files_that_an_index_writes_are_removed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").write_text("precious")
    ours = ["00000090.segment", "00000091.deleted.tmp", "00000092.records"]
    others = ["0000009.segment", "00000090.segments", "00000090.txt", "x00000090.segment", "00000090.segment.tmp.tmp"]
    for name in (*ours, *others):
        (path / name).write_text("")
    (path / "00000093.segment").symlink_to(tmp_path / "folder")
    (path / "00000094.segment").mkdir()
    with ms.Index.open(path) as index:
        index.delete("d0")
    left = set(os.listdir(path))
    assert left.isdisjoint(ours)
    assert left.issuperset([*others, "00000093.segment", "00000094.segment"])
    assert (tmp_path / "folder" / "precious").read_text() == "precious"


@pytest.mark.parametrize(
    "uid",
    [
        *("../../x", "/etc", "..", ".", "", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0"),
        *("0123456789abcde/", "0123456789abcdef\n", "0123456789abcde\0", "\u0660123456789abcdef"),
        *(None, 7, ["0123456789abcdef"]),
    ],
)
def test_a_uid_is_sixteen_hexadecimal_digits(path: Path, uid: object) -> None:
    """It becomes a part of another path."""
    change_manifest(path, lambda content: content.update(uid=uid))
    with pytest.raises(DamagedIndexError, match="manifest"):
        ms.Index.open(path)


@pytest.mark.parametrize("kind", ["segment", "records", "deleted"])
@pytest.mark.parametrize(
    "name",
    [
        "../{}",
        "/{}",
        "sub/{}",
        "./{}",
        "{}\n",
        "{}\0",
        "{}/",
        "\u06600000001.{kind}",
        "00000001.{kind}/../00000001.{kind}",
    ],
)
def test_a_file_name_leads_nowhere_else(path: Path, kind: str, name: str) -> None:
    (part,) = [file for file in os.listdir(path) if file.endswith(kind)]
    shutil.copytree(path, path / "sub")
    shutil.copy(path / part, path.parent / part)
    wrong = name.format(part, kind=kind)
    change_manifest(path, lambda content: content["parts"][0].update({kind: wrong}))
    with pytest.raises(DamagedIndexError, match=r"manifest\.json\b.*is not a file"):
        ms.Index.open(path)


@pytest.mark.parametrize(
    "extras", [{"codebook": "00000001.codebook"}, {"segment": "00000001.segment"}, [], "x", None, 7]
)
def test_files_of_the_whole_index_are_those_that_are_known(path: Path, extras: object) -> None:
    change_manifest(path, lambda content: content.update(extras=extras))
    with pytest.raises(DamagedIndexError, match="manifest"):
        ms.Index.open(path)


def test_records_that_become_another_file_while_they_are_opened(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite opens by name, after our check."""
    import sqlite3

    build(tmp_path / "other")
    honest = sqlite3.connect

    def swap_then_connect(*arguments: object, **options: object) -> sqlite3.Connection:
        (path / "00000001.records").unlink()
        (path / "00000001.records").symlink_to(tmp_path / "other" / "00000001.records")
        return honest(*arguments, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", swap_then_connect)
    with pytest.raises(MaxsieveError, match="another file"):
        ms.Index.open(path)


def test_an_index_that_is_restored_under_an_open_one(tmp_path: Path) -> None:
    """The same uid, numbers and names, but other files: open instances follow, and write nothing of what they knew."""
    path, backup = tmp_path / "index", tmp_path / "backup"
    ms.Index.build([np.full((1, DIM), float(i)) for i in range(1, 6)], list("abcde"), path=path).close()
    shutil.copytree(path, backup)
    reader = ms.Index.open(path)

    def restored(gone: str) -> None:
        shutil.rmtree(path)
        shutil.copytree(backup, path)
        with ms.Index.open(path) as other:
            other.delete(list(gone))

    for gone, left in (("c", "abde"), ("", "abcde"), ("a", "bcde"), ("b", "acde")):
        restored(gone)
        reader.refresh()
        assert "".join(map(str, reader.ids)) == left
    restored("d")
    reader.delete("e")
    reader.add([np.ones((1, DIM))], ["f"])
    assert reader.ids == ms.Index.open(path).ids == list("abcf")
    reader.train_codebook()
    first = reader.storage.snapshot.codebook
    shutil.copytree(path, tmp_path / "same")
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "same", path)
    reader.refresh()
    assert reader.storage.snapshot.codebook is not first
    reader.verify()


@pytest.mark.parametrize(
    ("store", "bound"), [("float32", "nu"), ("float32", "rho"), ("float16", "nu"), ("float16", "rho"), ("int8", "nu")]
)
def test_a_bound_that_would_prove_too_much_is_reported(tmp_path: Path, store: str, bound: str) -> None:
    """The smallest change downwards is noticed, whatever the checksums say. A real bound always passes."""
    rng = np.random.default_rng(1)
    docs = [rng.standard_normal((length, 96)) * 10.0 ** rng.integers(-9, 4) for length in (1, 2, 0, 30)] * 9
    with ms.Index.build(docs, path=tmp_path / "index", store=store) as index:  # type: ignore[arg-type]
        index.verify()
    file = tmp_path / "index" / "00000001.segment"
    change_block(file, bound, lambda block: block.__setitem__(35, block[35] * np.float32(1 - 2.0**-22)))
    with ms.Index.open(tmp_path / "index") as index, pytest.raises(DamagedIndexError, match=r"bound.*'35'|bound.*35"):
        index.verify()
