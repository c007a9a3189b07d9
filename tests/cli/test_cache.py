"""`maxsieve cache` shows what belongs to maxsieve, and removes nothing else."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from cli.support import CommandLine
from maxsieve.common.cache import once
from maxsieve.doctor.cache_entries import InUseError, cache_entries, remove
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder


@pytest.fixture
def cache(line: CommandLine) -> Path:
    """A cache with a model, a collection, true scores, and the history of interactive searches."""
    folder = line.cache
    once(folder / "models" / "tiny==1", lambda made: (made / "model.onnx").write_bytes(bytes(1000)) and None)
    once(folder / "truth" / "it-1", lambda made: (made / "truth.npz").write_bytes(bytes(50)) and None)
    Collection.create(folder / "collections" / "it-d8", WordEncoder()).close()
    (folder / "history").write_text("tea\n")
    return folder


def names(line: CommandLine) -> list[str]:
    return [f"{one['kind']}/{one['name']}" for one in line.json("cache")]


ALL = ["models/tiny==1", "collections/it-d8", "truth/it-1", "history/history"]


def test_what_there_is_with_sizes_and_ages(line: CommandLine, cache: Path) -> None:
    found = line.json("cache")
    assert [f"{one['kind']}/{one['name']}" for one in found] == ALL
    assert found[0]["bytes"] == 1000
    assert abs(found[0]["changed"] - time.time()) < 600
    shown = line("cache").stdout
    assert "models: 1.0 kB" in shown
    assert "changed 0 minutes ago" in shown
    assert str(cache) in shown
    old = time.time() - 3 * 86400
    for path in (cache / "models/tiny==1/model.onnx", cache / "models/tiny==1"):
        os.utime(path, (old, old))
    assert "changed 3 days ago" in line("cache").stdout


def test_an_empty_cache(line: CommandLine) -> None:
    assert line.json("cache") == []
    assert "0 bytes in total" in line("cache").stdout
    assert "0 removed" in line("cache", "clear").stdout


def test_kinds_and_single_things_are_cleared(line: CommandLine, cache: Path) -> None:
    assert [one["name"] for one in line.json("cache", "clear", "truth", "--yes")] == ["it-1"]
    assert names(line) == [one for one in ALL if not one.startswith("truth")]
    assert "1 removed" in line("cache", "clear", "collections/it-d8", "-y").stdout
    assert names(line) == ["models/tiny==1", "history/history"]
    assert "2 removed, 1.0 kB freed" in line("cache", "clear", "--yes").stdout
    assert names(line) == []
    assert not (cache / "history").exists()


def test_nothing_is_removed_without_a_yes(line: CommandLine, cache: Path) -> None:
    assert "--yes" in line("cache", "clear", code=2).stderr
    assert "neither a kind" in line("cache", "clear", "modles", "--yes", code=2).stderr
    assert "neither a kind" in line("cache", "clear", "models/../../x", "--yes", code=2).stderr
    assert names(line) == ALL


def test_what_is_not_ours_stays(line: CommandLine, cache: Path, tmp_path: Path) -> None:
    """As if the cache folder were a user's home folder."""
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "collection.json").write_text("{}")
    (cache / "models" / "my-model").mkdir()
    (cache / "models" / "notes.txt").write_text("mine")
    (cache / "collections" / "link").symlink_to(photos)
    (cache / "collections" / "it-d8" / "inside").symlink_to(photos)
    (cache / "vectors").symlink_to(photos.parent)
    (cache / "demo").write_text("a file")
    (cache / "letters").mkdir()
    assert names(line) == ALL
    line("cache", "clear", "--yes")
    assert names(line) == []
    assert (photos / "collection.json").exists()
    assert (cache / "collections" / "link").is_symlink()
    assert (cache / "vectors").is_symlink()
    for left in ("models/my-model", "models/notes.txt", "demo", "letters"):
        assert (cache / left).exists()


def test_what_a_process_left_unfinished_is_shown_and_cleared(line: CommandLine, cache: Path) -> None:
    (cache / "truth" / "it-1.part").mkdir()
    (cache / "truth" / "it-1.part" / "half").write_bytes(bytes(7))
    assert "truth/it-1.part" in names(line)
    line("cache", "clear", "truth/it-1.part", "--yes")
    assert "truth/it-1.part" not in names(line)
    assert "truth/it-1" in names(line)


@pytest.mark.parametrize("lock", ["models/tiny==1.lock", "collections/it-d8/lock"])
def test_what_is_in_use_is_left(line: CommandLine, cache: Path, lock: str) -> None:
    with open(cache / lock, "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        failed = line("cache", "clear", "--yes", code=1).stderr
        assert "is in use by another process" in failed
        assert "1 of 4 could not be removed" in failed
        assert [one for one in ALL if lock.startswith(one)] == names(line)
    line("cache", "clear", "--yes")
    assert names(line) == []


def test_who_waits_for_a_lock_makes_it_again(cache: Path) -> None:
    [model] = [one for one in cache_entries(cache) if one.kind == "models"]
    remove(model)
    once(model.path, lambda made: (made / "again").touch())
    assert (model.path / "again").exists()
    with open(cache / "models" / "tiny==1.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InUseError):
            remove(model)


def test_what_is_made_inside_a_folder(cache: Path) -> None:
    """As the benchmark with a million documents does."""
    once(cache / "million" / "9-1" / "made", lambda made: (made / "rows").write_bytes(bytes(9)) and None)
    [million] = [one for one in cache_entries(cache) if one.kind == "million"]
    assert (million.key, million.nbytes) == ("million/9-1", 9)
    with open(million.path / "made.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InUseError):
            remove(million)
    remove(million)
    assert not million.path.exists()


def test_control_characters_in_names_are_not_printed(line: CommandLine, cache: Path) -> None:
    Collection.create(cache / "collections" / "a\x1b[31mred", WordEncoder()).close()
    assert "\x1b" not in line("cache").stdout
