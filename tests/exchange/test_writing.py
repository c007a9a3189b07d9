"""Writing: all or nothing, no files left over, nothing of an earlier file mixed in; and missing packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.exchange import TokenVectorChunks, TokenVectors

from .support import NAMES, made, same

pytest.importorskip("pyarrow")
FILES = [name for name in NAMES.values() if name != "it"]


def failing(after: int, error: BaseException) -> TokenVectorChunks:
    """Documents that can be counted, but fail when they are read again for writing."""
    passes = []

    def source() -> Iterator[TokenVectors]:
        passes.append(1)
        for i in range(5):
            if len(passes) > 1 and i == after:
                raise error
            yield TokenVectors(np.full((3, 4), i, np.float32), [3])

    return TokenVectorChunks(source, None, "failing")


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_changes_nothing(tmp_path: Path, name: str, error: BaseException) -> None:
    exchange.write(made(), tmp_path / name)
    before = listing(tmp_path)
    with pytest.raises(type(error)):
        exchange.write(failing(3, error), tmp_path / name)
    assert listing(tmp_path) == before
    same(exchange.read(tmp_path / name), made())


def test_a_failed_folder_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        exchange.write(failing(3, OSError(28, "No space")), tmp_path / "it", chunk_bytes=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [*FILES, "it"])
def test_documents_that_change_meanwhile(tmp_path: Path, name: str) -> None:
    passes = []

    def source() -> Iterator[TokenVectors]:
        passes.append(1)
        yield TokenVectors(np.ones((1 + len(passes), 4), np.float32), [1 + len(passes)])

    with pytest.raises(ValueError, match=rf"{name}: .*\b2\b.*\b3\b"):
        exchange.write(TokenVectorChunks(source, None, "growing"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_shorter_file_without_ids_replaces_a_longer_one_with_ids(tmp_path: Path) -> None:
    for name in FILES:
        exchange.write(made(), tmp_path / name)
        exchange.write(TokenVectors(np.eye(2), [1, 1]), tmp_path / name)
        same(exchange.read(tmp_path / name), TokenVectors(np.eye(2), [1, 1]))


def test_an_interrupted_exchange_of_npy_files_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any number of the renames, the files are read as the old ones, or as files without lengths."""
    rename = os.replace
    for allowed in range(3):
        path = tmp_path / f"{allowed}.npy"
        exchange.write(made(), path)
        done: list[Any] = []

        def replace(source: Any, target: Any, done: list[Any] = done, allowed: int = allowed) -> None:
            if len(done) == allowed:
                raise OSError("the machine stops")
            done.append(target)
            rename(source, target)

        monkeypatch.setattr("os.replace", replace)
        with pytest.raises(OSError, match="machine stops"):
            exchange.write(made(seed=1, ids="int"), path)
        monkeypatch.undo()
        with pytest.raises(ValueError, match=rf"{allowed}\.npy: .*lengths"):
            exchange.read(path)


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        exchange.write(made(), tmp_path / "it.npz")
    finally:
        os.umask(before)
    assert (tmp_path / "it.npz").stat().st_mode & 0o777 == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "it.npz").symlink_to(tmp_path / "real" / "it.npz")
    exchange.write(made(), tmp_path / "it.npz")
    assert (tmp_path / "it.npz").is_symlink()
    same(exchange.read(tmp_path / "real" / "it.npz"), made())


def test_places_that_can_t_be_written(tmp_path: Path) -> None:
    for name in FILES:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            exchange.write(made(), tmp_path / "nowhere" / name)
        (tmp_path / name).mkdir()
        with pytest.raises(IsADirectoryError, match=name):
            exchange.write(made(), tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        exchange.write(made(), tmp_path / "nowhere" / "it")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(FileExistsError, match=r"\bfull\b"):
        exchange.write(made(), tmp_path / "full")
    (tmp_path / "empty").mkdir()
    exchange.write(made(), tmp_path / "empty")
    same(exchange.read(tmp_path / "empty"), made())
    with pytest.raises(ValueError, match=r"it\.csv"):
        exchange.write(made(), tmp_path / "it.csv")
    with pytest.raises(ValueError, match=r"it\.pt"):
        exchange.write(made(), tmp_path / "it.pt")
    with pytest.raises(ValueError, match=r"^style.*'plaid'"):
        exchange.write(made(), tmp_path / "other", style="plaid")


@pytest.mark.parametrize("name", [*FILES, "it"])
def test_only_token_vectors_are_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(TypeError, match=r"\blist$"):
        exchange.write([np.eye(2)], tmp_path / name)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_ids_beyond_the_header_of_safetensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.exchange.safetensors.MOST_HEADER", 400)
    with pytest.raises(ValueError, match=r"it\.safetensors: .*\b400\b"):
        exchange.write(made([1] * 99), tmp_path / "it.safetensors")
    exchange.write(made([1] * 99, ids="int"), tmp_path / "it.safetensors")


SCRIPT = """
import sys
for name in ("pyarrow", "torch", "safetensors", "ml_dtypes"):
    sys.modules[name] = None
import numpy as np
from maxsieve import exchange
folder = sys.argv[1]
vectors = exchange.TokenVectors(np.eye(2), [1, 1], ["a", "b"])
for name in ("it.npy", "it.npz", "it.safetensors", "it"):
    exchange.write(vectors, f"{folder}/{name}")
    assert exchange.read(f"{folder}/{name}").ids == ["a", "b"]
for name in ("it.arrow", "it.parquet", "it.pt"):
    open(f"{folder}/{name}", "wb").close()
    for use in (lambda: exchange.read(f"{folder}/{name}"), lambda: exchange.write(vectors, f"{folder}/{name}")):
        try:
            use()
        except ImportError as problem:
            print(name, problem)
        except ValueError:
            assert name == "it.pt"
"""


def test_packages_that_are_not_installed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == lines[1] == "it.arrow this needs pyarrow: pip install 'maxsieve[arrow]'"
    assert lines[2] == lines[3] == "it.parquet this needs pyarrow: pip install 'maxsieve[arrow]'"
    assert lines[4:] == ["it.pt this needs torch: pip install 'torch>=2.1'"]
