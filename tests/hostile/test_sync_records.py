"""Records of syncs as an attacker would write them: nothing but files of the folder is ever changed."""

from __future__ import annotations

import json
import os
import random
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hostile.fables import sentinels
from long_form import scaled
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.text import FolderSync, Synced
from maxsieve.text.collection.collection import Collection
from maxsieve.text.sync.record import SyncRecord, digest_of, record_path
from text.support import WordEncoder

TEXTS = {f"{i}.md": f"text {i} of the fox" for i in range(6)}
FOREIGN = {"mine.md": "not from the folder", "deep/mine.md": "nor this"}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """A collection that follows a folder, and has documents of its own."""
    (tmp_path / "notes").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "notes" / name).write_text(text)
        os.utime(tmp_path / "notes" / name, ns=(1, 10**18 + 1))
    made = Collection.create(tmp_path / "it.ms", WordEncoder())
    made.add(list(FOREIGN.values()), list(FOREIGN))
    FolderSync(made, tmp_path / "notes").run()
    return made


def record_of(collection: Collection) -> Path:
    return record_path(collection.path, str(collection.path.parent / "notes"))


def sync(collection: Collection, **options: Any) -> Synced:
    return FolderSync(collection, collection.path.parent / "notes", **options).run(strict=True)


def content(collection: Collection) -> dict[Any, str]:
    return {one: collection.text(one) for one in collection.ids}


def seal(values: list[Any]) -> bytes:
    texts = [json.dumps(value).encode() for value in values]
    return b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts)


def unsealed(file: Path) -> list[Any]:
    return [json.loads(line.partition(b" ")[2]) for line in file.read_bytes().splitlines()]


ODD: list[Any] = [
    *(None, True, -1, 2**63, 1e308, "", "\ud800", "../../etc", "/", "0" * 64),
    *([], {}, [[]], ["x"], ["0" * 64] * 9),
]


def change_value(values: list[Any], rng: random.Random) -> None:
    line = rng.randrange(len(values))
    if isinstance(values[line], dict):
        values[line][rng.choice(list(values[line]))] = rng.choice(ODD)
    elif not isinstance(values[line], list) or len(values[line]) != 4 or rng.random() < 0.2:
        values[line] = rng.choice(ODD)
    else:
        values[line][rng.randrange(4)] = rng.choice(ODD)


def claim_what_is_not_there(values: list[Any], rng: random.Random) -> None:
    values.append([rng.choice([*FOREIGN, "no.md", "../x"]), ["0" * 64], 5, 5])


def swap_names(values: list[Any], rng: random.Random) -> None:
    for line in values[1:]:
        line[0] = rng.choice([*TEXTS, *FOREIGN])


def attempt(collection: Collection) -> Exception | None:
    try:
        sync(collection, prefix="", allow_deletes=True)
    except (MaxsieveError, ValueError) as problem:
        return problem
    return None


@pytest.mark.parametrize("change", [change_value, claim_what_is_not_there, swap_names], ids=lambda it: it.__name__)
def test_forged_records(tmp_path: Path, collection: Collection, change: Callable[..., None]) -> None:
    (tmp_path / "victim").mkdir()
    intact = sentinels(tmp_path / "victim")
    honest = unsealed(record_of(collection))
    for case in range(scaled(30)):
        values = json.loads(json.dumps(honest))
        rng = random.Random(f"{change.__name__} {case}")
        for _ in range(rng.choice([1, 3])):
            change(values, rng)
        record_of(collection).write_bytes(seal(values))
        (tmp_path / "notes" / "0.md").write_text(f"case {case}")
        if (problem := attempt(collection)) is not None:
            assert "version" in str(problem) or "was not added by sync" in str(problem)
            record_of(collection).unlink()
            sync(collection, prefix="", adopt=True)
        assert content(collection) == {**FOREIGN, **TEXTS, "0.md": f"case {case}"}
        intact()


@pytest.mark.parametrize("case", range(scaled(20)))
def test_damaged_records_cost_reading_only(collection: Collection, case: int) -> None:
    file, rng = record_of(collection), random.Random(case)
    damaged = bytearray(file.read_bytes())
    if case % 3 == 0:
        del damaged[rng.randrange(len(damaged)) :]
    else:
        for _ in range(rng.choice([1, 20])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    file.write_bytes(damaged)
    assert sync(collection) == Synced(unchanged=6)
    assert content(collection) == {**FOREIGN, **TEXTS}
    (collection.path.parent / "notes" / "3.md").unlink()
    assert sync(collection).deleted == 1, "the record is whole again"


def test_an_old_record_deletes_nothing_that_has_changed_since(tmp_path: Path, collection: Collection) -> None:
    old = record_of(collection).read_bytes()
    (tmp_path / "notes" / "1.md").unlink()
    sync(collection)
    collection.add(["by hand"], ["1.md"])
    record_of(collection).write_bytes(old)
    sync(collection)
    assert content(collection)["1.md"] == "by hand"


def test_who_forges_the_digest_too_owns_the_collection_anyway(collection: Collection) -> None:
    """All that a record can do: delete documents in its own folder, if its author knows their texts."""
    values = [*unsealed(record_of(collection)), ["mine.md", [digest_of(FOREIGN["mine.md"], None)], 5, 5]]
    record_of(collection).write_bytes(seal(values))
    assert sync(collection).deleted == 1
    assert content(collection) == {**TEXTS, "deep/mine.md": "nor this"}


@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder", "huge", "binary"])
def test_something_else_in_its_place(tmp_path: Path, collection: Collection, kind: str) -> None:
    file, victim = record_of(collection), tmp_path / "victim.txt"
    victim.write_text("precious")
    file.unlink()
    if kind == "link":
        file.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    elif kind == "huge":
        with open(file, "wb") as opened:
            opened.truncate(1 << 40)
    else:
        file.write_bytes(bytes(range(256)) * 99)
    if kind == "folder":
        with pytest.raises(OSError, match="record"):
            sync(collection)
    else:
        assert sync(collection) == Synced(unchanged=6)
        assert SyncRecord.read(file) is not None
    assert victim.read_text() == "precious"
    assert content(collection) == {**FOREIGN, **TEXTS}


def test_the_folder_of_records_is_a_link(tmp_path: Path, collection: Collection) -> None:
    shutil.move(collection.path / "sync", tmp_path / "elsewhere")
    (collection.path / "sync").symlink_to(tmp_path / "elsewhere")
    before = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()}
    with pytest.raises(DamagedIndexError, match=r"sync .* link"):
        sync(collection)
    assert {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == before


def test_a_record_of_a_later_version(collection: Collection) -> None:
    values = unsealed(record_of(collection))
    values[0]["version"] = 2
    record_of(collection).write_bytes(seal(values))
    with pytest.raises(MaxsieveError, match=r"\.record\b.*\b2\b.*\b1\b"):
        sync(collection)


def test_a_record_under_anothers_name_is_not_believed(tmp_path: Path, collection: Collection) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "0.md").write_text("another text")
    shutil.copy(record_of(collection), record_path(collection.path, str(tmp_path / "other")))
    with pytest.raises(ValueError, match=r"'0\.md'.*notes"):
        FolderSync(collection, tmp_path / "other", prefix="").run(strict=True)
    assert content(collection) == {**FOREIGN, **TEXTS}
