"""A corpus in shards that is damaged, or made by an attacker: an error that names the file, never a wrong answer."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from hostile.support import change_block
from maxsieve.cluster import leftovers
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.rebuild import rebalance, train_codebook
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.sealed_json import MOST_BYTES, seal, write_sealed

from .holding import content, fill, some
from .test_sharded_training import calibrate


@pytest.fixture
def folder(tmp_path: Path) -> ShardedFolder:
    return fill(tmp_path / "corpus")


def tell(path: Path, change: Callable[[dict[str, Any]], object]) -> int:
    """Changes a sealed file, seals it again, and gives the CRC-32 of its bytes."""
    told = json.loads(path.read_text())
    del told["checksum"]
    change(told)
    return write_sealed(path, told)


def tell_shard(folder: ShardedFolder, shard: int, change: Callable[[dict[str, Any]], object]) -> None:
    """The same for the manifest of a shard, and updates the corpus to refer to it."""
    crc = tell(shard_path(folder, shard) / folder.manifest.shards[shard].manifest, change)
    tell(folder.path / "cluster.json", lambda told: told["shards"][shard].update(crc=crc))


def shard_path(folder: ShardedFolder, shard: int) -> Path:
    return folder.path / "shards" / folder.manifest.shards[shard].folder


def segment_of(folder: ShardedFolder, shard: int) -> Path:
    return shard_path(folder, shard) / folder.snapshot.shard(shard).manifest.segments[0].segment


def put_value(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda told: told.update({key: value})


def put_shard(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda told: told["shards"][1].update({key: value})


TOLD = {
    "dim": [0, -1, 4097, "4", None, 4.0, True],
    "store": ["float64", None, ["int8"]],
    "similarity": ["l2", 3],
    "uid": ["", "../../etc/passwd", 5, "0" * 17],
    "id_type": ["bytes", 4],
    "generation": [-1, 2**62, None, 1.5],
    "next_sequence": [-1, 3, 2**53 + 1, None, "9"],
    "shards": [[], None, {}, 7, [{}], [[1, 2]], "0000"],
    "codebook": [-1, "1", 2**62],
    "calibration": [["../calibration", 1], ["00000001.calibration"], ["00000001.calibration", 1], "x", 3, [None, None]],
    "added": [-1, None],
    "deleted": [2**70],
    "other": [1],
}
TOLD_OF_A_SHARD = {
    "folder": ["..", "0000", "0002", "1", "/etc", None, 1, "0001/../0000"],
    "manifest": ["../x.manifest", "/dev/zero", "cluster.json", "", None, "00000001.segment", "00000001.manifest\n"],
    "crc": [-1, None, "1"],
    "documents": [-1, 10**6, None, 1.0],
    "tokens": [-1, 2**62],
    "searchable": [-1, 10**5, None],
    "other": [1],
}


@pytest.mark.parametrize(
    "change",
    [
        *(pytest.param(put_value(key, value), id=f"{key}={value!r}") for key, some in TOLD.items() for value in some),
        *(
            pytest.param(put_shard(key, value), id=f"shard {key}={value!r}")
            for key, some in TOLD_OF_A_SHARD.items()
            for value in some
        ),
        *(
            pytest.param(lambda told, key=key: told.pop(key), id=f"no {key}")
            for key in ("dim", "store", "similarity", "uid", "shards", "calibration")
        ),
    ],
)
def test_a_forged_manifest_of_the_corpus(change: Callable[[dict[str, Any]], object], shared: Path) -> None:
    """Any content, with a right checksum."""
    whole = (shared / "cluster.json").read_bytes()
    try:
        tell(shared / "cluster.json", change)
        with pytest.raises(DamagedIndexError, match=r"cluster\.json"):
            ShardedFolder.open(shared)
    finally:
        (shared / "cluster.json").write_bytes(whole)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("shared") / "corpus").path


@pytest.mark.parametrize(
    "text",
    [b"", b"null", b"[]", b"7", b"\xff\xfe{", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b'{"format": []}'],
)
def test_what_is_no_manifest(folder: ShardedFolder, text: bytes) -> None:
    (folder.path / "cluster.json").write_bytes(text)
    with pytest.raises(DamagedIndexError, match=r"cluster\.json"):
        ShardedFolder.open(folder.path)
    with pytest.raises(DamagedIndexError, match=r"cluster\.json"):
        folder.delete(["a1"])


def test_other_versions_and_formats(folder: ShardedFolder) -> None:
    path = folder.path / "cluster.json"
    for version in (0, "1", None, True):
        tell(path, put_value("version", version))
        with pytest.raises(DamagedIndexError):
            ShardedFolder.open(folder.path)
    tell(path, put_value("version", 4))
    with pytest.raises(MaxsieveError, match=r"cluster\.json\b.*\b4\b.*\b3\b"):
        ShardedFolder.open(folder.path)
    path.write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(DamagedIndexError, match=r"cluster\.json\b.* larger"):
        ShardedFolder.open(folder.path)


def test_a_shard_is_no_index_and_an_index_no_shard(folder: ShardedFolder, tmp_path: Path) -> None:
    version = folder.manifest.shards[0]
    shutil.copytree(shard_path(folder, 0), tmp_path / "index")
    (tmp_path / "index" / version.manifest).rename(tmp_path / "index" / "manifest.json")
    with pytest.raises(DamagedIndexError, match=r"manifest\.json"):
        ms.Index.open(tmp_path / "index")
    ms.Index.build(some(0, 2), path=tmp_path / "plain")
    shutil.copy(tmp_path / "plain" / "manifest.json", shard_path(folder, 0) / version.manifest)
    with pytest.raises(DamagedIndexError, match=version.manifest):
        folder.snapshot.here


def test_the_manifest_of_another_version_is_not_taken_for_this_one(folder: ShardedFolder) -> None:
    first, second = (shard_path(folder, i) / folder.manifest.shards[i].manifest for i in range(2))
    shutil.copy(first, second)
    with pytest.raises(DamagedIndexError, match=second.name):
        folder.snapshot.here


def damaged(folder: ShardedFolder, problem: str) -> None:
    """Every use of the folder's shards is refused, with these words."""
    for use in (
        lambda one: one.snapshot.here,
        ShardedFolder.verify,
        lambda one: one.delete(["a1"]),
        ShardedFolder.compact,
    ):
        with pytest.raises(DamagedIndexError, match=problem):
            use(ShardedFolder.open(folder.path))
    with pytest.raises(DamagedIndexError, match=problem):
        rebalance(ShardedFolder.open(folder.path), 2)


@pytest.mark.parametrize("what", ["manifest", "segment"])
@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder"])
def test_what_is_no_file_among_the_files(folder: ShardedFolder, what: str, kind: str, tmp_path: Path) -> None:
    for shard in range(3):
        name = folder.manifest.shards[shard].manifest if what == "manifest" else segment_of(folder, shard).name
        place = shard_path(folder, shard) / name
        place.rename(tmp_path / f"elsewhere {shard}")
        if kind == "pipe":
            os.mkfifo(place)
        elif kind == "folder":
            place.mkdir()
        else:
            place.symlink_to("/dev/zero" if kind == "device" else tmp_path / f"elsewhere {shard}")
    damaged(ShardedFolder.open(folder.path), f"is a {kind}" if kind in ("pipe", "folder") else "is a link")


@pytest.mark.parametrize("name", ["shards", "shards/0000", "shards/0001"])
def test_a_link_to_a_folder_is_not_followed(folder: ShardedFolder, name: str, tmp_path: Path) -> None:
    (folder.path / name).rename(tmp_path / "elsewhere")
    (folder.path / name).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    there = sorted((tmp_path / "elsewhere").rglob("*"))
    for use in (lambda one: one.snapshot.here, ShardedFolder.verify, ShardedFolder.compact):
        with pytest.raises(DamagedIndexError, match=f"{name} is a link"):
            use(ShardedFolder.open(folder.path))
    assert sorted((tmp_path / "elsewhere").rglob("*")) == there


def test_the_manifest_of_the_corpus_behind_a_link(folder: ShardedFolder, tmp_path: Path) -> None:
    (folder.path / "cluster.json").rename(tmp_path / "elsewhere")
    (folder.path / "cluster.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedIndexError, match=r"cluster\.json is a link"):
        ShardedFolder.open(folder.path)


@pytest.mark.parametrize("what", ["manifest", "segment"])
def test_a_missing_file_is_damage_and_not_a_newer_version(folder: ShardedFolder, what: str) -> None:
    for shard in range(3):
        name = folder.manifest.shards[shard].manifest if what == "manifest" else segment_of(folder, shard).name
        (shard_path(folder, shard) / name).unlink()
    damaged(ShardedFolder.open(folder.path), f"{what} is missing")
    with pytest.raises(DamagedIndexError, match=f"{what} is missing"):
        train_codebook(ShardedFolder.open(folder.path))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (put_value("dim", 8), r"0001.*(\b8 x|not a shard)"),
        (put_value("similarity", "cosine"), "0001 .*not a shard"),
        (put_value("uid", "0" * 16), "0001 .*not a shard"),
        (put_value("id_type", "int"), r"\bint\b.*\.segment\b.*\bstr\b"),
        (lambda told: told["parts"].pop(), "0001.*counts"),
        (lambda told: told["parts"].append(told["parts"][0]), "not a file of segment"),
        (lambda told: told["parts"][0].update(segment="../0000/x.segment"), "not a file of segment"),
        (put_value("sequenced", False), r"\.manifest"),
    ],
)
def test_a_forged_manifest_of_a_shard(
    folder: ShardedFolder, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    tell_shard(folder, 1, change)
    with pytest.raises(DamagedIndexError, match=problem):
        ShardedFolder.open(folder.path).snapshot.here


def test_types_of_ids_that_differ(folder: ShardedFolder) -> None:
    tell(folder.path / "cluster.json", put_value("id_type", "int"))
    with pytest.raises(DamagedIndexError, match=r"cluster\.json\b.*\bint\b.*shard 0\b.*\bstr"):
        ShardedFolder.open(folder.path).snapshot.here


def test_codebooks_that_differ(folder: ShardedFolder) -> None:
    train_codebook(folder)
    tell(folder.path / "cluster.json", put_value("codebook", 5))
    with pytest.raises(DamagedIndexError, match="not a shard"):
        ShardedFolder.open(folder.path).snapshot.here


@pytest.mark.parametrize("number", [-1, 2**53 + 1])
def test_sequence_numbers_that_none_can_have(folder: ShardedFolder, number: int) -> None:
    change_block(segment_of(folder, 0), "sequence", lambda block: block.__setitem__(0, number))
    with pytest.raises(DamagedIndexError, match=r"\.segment: sequence numbers"):
        ShardedFolder.open(folder.path).snapshot.here


def test_sequence_numbers_that_verify_finds(folder: ShardedFolder, tmp_path: Path) -> None:
    for number, problem in ((99, "not assigned"), (13, "same sequence number")):
        shutil.copytree(folder.path, copy := tmp_path / f"copy {number}")
        forged = ShardedFolder.open(copy)
        shard = next(i for i in range(3) if 13 not in forged.snapshot.of([i]).sequence)
        segment = forged.snapshot.of([shard]).segments[0]
        place = int(np.flatnonzero(segment.alive)[0])
        change_block(segment_of(forged, shard), "sequence", lambda block, n=number, i=place: block.__setitem__(i, n))
        with pytest.raises(DamagedIndexError, match=problem):
            ShardedFolder.open(copy).verify()


def test_a_document_in_the_wrong_shard_is_found_by_verify(folder: ShardedFolder) -> None:
    told = [shard_path(folder, i) for i in range(2)]
    names = [folder.manifest.shards[i].manifest for i in range(2)]
    told[0].rename(folder.path / "other")
    told[1].rename(told[0])
    (folder.path / "other").rename(told[1])

    def swap(corpus: dict[str, Any]) -> None:
        first, second = corpus["shards"][:2]
        corpus["shards"][0], corpus["shards"][1] = {**second, "folder": "0000"}, {**first, "folder": "0001"}

    assert names[0] != names[1]
    tell(folder.path / "cluster.json", swap)
    forged = ShardedFolder.open(folder.path)
    assert len(forged.snapshot.here.live) == folder.manifest.documents
    with pytest.raises(DamagedIndexError, match=r"0000 .*another shard"):
        forged.verify()


def test_a_calibration_that_does_not_fit(folder: ShardedFolder) -> None:
    train_codebook(folder)
    calibrate(folder)
    tell(folder.path / "cluster.json", put_value("deleted", 0))
    assert ShardedFolder.open(folder.path).snapshot.calibration is not None
    folder.refresh()
    folder.delete(["a1"])
    tell(folder.path / "cluster.json", put_value("deleted", 0))
    with pytest.raises(DamagedIndexError, match=r"cluster\.json\b.*\b0\b.*\b8\b.*\b7\b"):
        ShardedFolder.open(folder.path).snapshot.calibration
    (folder.path / folder.manifest.calibration.name).unlink()  # type: ignore[union-attr]
    with pytest.raises(DamagedIndexError, match="calibration is missing"):
        ShardedFolder.open(folder.path).verify()


def test_damage_is_not_carried_over(folder: ShardedFolder) -> None:
    path = segment_of(folder, 1)
    damage = bytearray(path.read_bytes())
    damage[-1] ^= 1
    path.write_bytes(damage)
    for use in (lambda one: rebalance(one, 2), ShardedFolder.verify):
        with pytest.raises(DamagedIndexError, match=f"{path.name}.*'rows'"):
            use(ShardedFolder.open(folder.path))
    assert ShardedFolder.open(folder.path).manifest == folder.manifest


@settings(max_examples=60)
@given(data=st.data())
def test_a_flipped_byte(data: st.DataObject, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In any file: the content is unchanged, or an error of ours is raised, or `verify` reports it."""
    copy = Path(shutil.copytree(shared, tmp_path_factory.mktemp("flipped") / "corpus"))
    before = content(ShardedFolder.open(shared))
    everything = sorted(path for path in copy.rglob("*") if path.is_file() and path.name != "lock")
    path = data.draw(st.sampled_from(everything), label="file")
    damage = bytearray(path.read_bytes())
    damage[data.draw(st.integers(0, len(damage) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damage)
    found: Any = None
    with suppress(MaxsieveError, OSError):
        found = content(ShardedFolder.open(copy))
    if found not in (None, before):
        with pytest.raises(DamagedIndexError):
            ShardedFolder.open(copy).verify()
    shutil.rmtree(copy.parent)


def test_only_our_files_are_removed(folder: ShardedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "GRACE_SECONDS", -60)
    kept = ["notes.txt", "staging/00000001.segment", "shards/0000/notes.txt", "shards/0000/deep/00000001.segment"]
    kept += ["shards/other/notes.txt", "00000001.manifest.old"]
    gone = ["00000007.calibration", "shards/0000/00000001.segment", "shards/0000/00000001.manifest.tmp"]
    gone += ["shards/0007/00000001.manifest"]
    for name in kept + gone:
        (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.path / name).write_text("mine")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "00000001.segment").write_text("mine")
    (folder.path / "shards" / "0009").symlink_to(outside, target_is_directory=True)
    (folder.path / "shards/0001/00000009.segment").symlink_to(outside / "00000001.segment")
    folder.delete(["a1"])
    assert all((folder.path / name).read_text() == "mine" for name in kept)
    assert not any((folder.path / name).exists() for name in gone)
    assert not (folder.path / "shards/0007").exists()
    assert (outside / "00000001.segment").read_text() == "mine"


def test_the_seal_is_that_of_the_documentation() -> None:
    assert seal({"b": 1, "a": "ü"}) == zlib.crc32(b'{"a":"\\u00fc","b":1}')
