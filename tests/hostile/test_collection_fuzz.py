"""Whole collections, damaged at random: every file, by flipped bytes and by changes with right checksums.

For any content of the folder: no crash, no hang, nothing written or removed outside it, and only documented errors. If
checksums were not corrected, the answer is the undamaged one, or there is an error, or `verify` reports it.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import sqlite3
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from hostile.fables import FABLES, make_collection, rewrite_description, sentinels
from hostile.support import change_block, change_manifest, reseal_tiers
from long_form import scaled
from maxsieve.errors import MaxsieveError
from maxsieve.storage.blocks import ENTRY, FIXED
from maxsieve.storage.manifest import read_manifest
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.query_log import QueryLog
from text.support import WordEncoder

pytest.importorskip("bm25s")

CASES = scaled(40)
SECONDS = 60
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, 10**30, -(2**63), 0.5, 1e308, "", "x", "..", "../../victim/photos"),
    *(
        "/",
        "\0",
        "\ud800",
        "é" * 300,
        [],
        [[]],
        {},
        {"a": 1},
        ["x"] * 5,
        "00000001.segment",
        "float16",
        "int",
        "st:/tmp",
    ),
]
RECORDS = [
    "",
    "null",
    "[]",
    "7",
    "{}",
    '{"text":1,"metadata":2}',
    '{"text":"other","metadata":null}',
    "[" * 5000,
    "NaN",
]
Change = Callable[[Path, random.Random], None]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two collections, one of byte codes and one of residuals."""
    folder = tmp_path_factory.mktemp("honest")
    return made(folder / "codes", encoded=False), made(folder / "residuals", encoded=True)


def made(folder: Path, *, encoded: bool) -> Path:
    """A collection with every kind of file: a projection, deletions, a table of words, a sample of queries."""
    path = make_collection(folder / "c", dim=8)
    log = QueryLog(path)
    log.take("where do foxes sleep")
    log.close()
    with opened(path) as collection:
        collection.add(["The wolf and the fox"], ["wolf"], [{"title": "wolf"}])
        collection.delete("crow")
        collection.compact()
        collection.add(["The fox and the stork", "An owl"], ["stork", "owl"])
        collection.delete("owl")
    with pytest.MonkeyPatch.context() as patch, ms.Index.open(path / "index") as index:
        patch.setattr("maxsieve.storage.codebook.FEWEST", 2)  # so that tier 0 drops something, with five fables
        patch.setattr("maxsieve.storage.codebook.MOST", 2)
        patch.setattr("maxsieve.storage.codebook.TOKENS_OF_CENTROID", 4)
        if encoded:
            index.train_codebook()
        index.calibrate([index.vectors(one) for one in index.ids for _ in range(4)], k=3)
    with opened(path) as collection:
        collection.add(["The ant and the cricket"], ["ant"])
        collection.delete("wolf")
        answer(collection)
    return path


def opened(path: Path) -> Collection:
    return Collection.open(path, WordEncoder())


def answer(collection: Collection) -> Any:
    """Reads all of it."""
    found = []
    for stage in (None, "bm25"):
        hits = collection.search("the fox", k=4, first_stage=stage)
        found.append((hits.ids, hits.scores.tobytes(), hits.texts, hits.metadata, hits.scope, hits.explain(0)))
    hits = collection.search("the fox", k=1, policy=ms.Calibrated(0.5))
    found.append((hits.ids, hits.scores.tobytes(), hits.report.guarantee, hits.report.survivors, hits.report.added))
    return found, collection.ids, [collection.text(one) for one in collection.ids], len(collection)


# Changes with right checksums


def one_file(path: Path, rng: random.Random, pattern: str) -> Path:
    return rng.choice(sorted(path.glob(pattern)))


def mutate(value: Any, rng: random.Random) -> Any:
    """A JSON value with one place in it changed, removed or added."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.85:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        copy = value.copy()
        kind = rng.randrange(12)
        if kind == 0:
            del copy[key]
        elif kind == 1 and isinstance(copy, list):
            copy.append(copy[key])
        elif kind == 1:
            copy[f"{key}x"] = copy[key]
        else:
            copy[key] = mutate(value[key], rng)
        return copy
    return rng.choice(VALUES)


def change_json(content: dict[str, Any], rng: random.Random) -> None:
    changed = mutate(content, rng)
    content.clear()
    content.update(changed if isinstance(changed, dict) else {"x": changed})


def description(path: Path, rng: random.Random) -> None:
    rewrite_description(path, lambda content: change_json(content, rng))


def manifest(path: Path, rng: random.Random) -> None:
    change_manifest(path / "index", lambda content: change_json(content, rng))


def projection(path: Path, rng: random.Random) -> None:
    file = path / "projection.npy"
    flip(file, rng)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    rewrite_description(path, lambda content: content.update(projection=digest))


def records(path: Path, rng: random.Random) -> None:
    file = one_file(path, rng, "index/*.records")
    if rng.random() < 0.3:
        flip(file, rng)
    else:
        connection = sqlite3.connect(file, isolation_level=None)
        statements: list[tuple[str, tuple[Any, ...]]] = [
            ("UPDATE records SET record = ?", (rng.choice(RECORDS),)),
            ("UPDATE records SET record = ? WHERE position = 0", (rng.choice([*RECORDS, b"\xff"]),)),
            ("UPDATE records SET position = position + ?", (rng.choice([1, -1, 2**40]),)),
            ("DELETE FROM records WHERE position = ?", (rng.randrange(3),)),
            ("DELETE FROM records", ()),
            ("INSERT INTO records VALUES (?, ?)", (rng.choice([-1, 99, 2**62]), rng.choice(RECORDS))),
            ("CREATE VIEW v AS SELECT * FROM records", ()),
            ("ALTER TABLE records ADD COLUMN more", ()),
            ("DROP TABLE records", ()),
        ]
        with suppress(sqlite3.Error):
            connection.execute(*rng.choice(statements))
        connection.close()
    crc = zlib.crc32(file.read_bytes())

    def seal(content: dict[str, Any]) -> None:
        next(part for part in content["parts"] if part["records"] == file.name)["records_crc"] = crc

    change_manifest(path / "index", seal)


def block(path: Path, rng: random.Random) -> None:
    """Numbers of a block of a segment, of tombstones, of the table of words, or of a calibration."""
    index_files = ("segment", "deleted", "codebook", "lists", "calibration")
    file = one_file(path, rng, rng.choice([*(f"index/*.{kind}" for kind in index_files), "bm25/*.table"]))
    content = file.read_bytes()
    count = FIXED.unpack_from(content)[4]
    entries = [ENTRY.unpack_from(content, FIXED.size + i * ENTRY.size) for i in range(count)]
    name = rng.choice([entry[0].rstrip(b"\0").decode() for entry in entries if entry[3]])

    def change(numbers: np.ndarray) -> None:
        flat = numbers.reshape(-1)
        limits = np.iinfo(flat.dtype) if flat.dtype.kind in "iu" else np.finfo(flat.dtype)
        extreme = [limits.max, limits.min, 0, 1, *([np.nan, np.inf, -np.inf] if flat.dtype.kind == "f" else [])]
        places = [rng.randrange(len(flat)) for _ in range(rng.choice([1, 1, 1, len(flat)]))]
        flat[places] = rng.choice(extreme)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        change_block(file, name, change)
    reseal_tiers(path / "index")


# Changes with wrong checksums


def flip(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 1, 4, 64])):
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def any_file(path: Path, rng: random.Random) -> Path:
    return rng.choice(sorted(one for one in path.rglob("*") if one.is_file()))


def flipped(path: Path, rng: random.Random) -> None:
    flip(any_file(path, rng), rng)


def truncated(path: Path, rng: random.Random) -> None:
    file = any_file(path, rng)
    os.truncate(file, rng.choice([0, 1, file.stat().st_size // 2, file.stat().st_size + 64]))


def replaced(path: Path, rng: random.Random) -> None:
    """Something else in place of a file or folder."""
    one = rng.choice([any_file(path, rng), path / "index", path / "bm25"])
    if one.is_dir():
        shutil.move(one, path.parent / f"moved-{one.name}")
    else:
        one.unlink()
    victim = path.parent / "victim"
    make: list[Callable[[], object]] = [
        lambda: None,
        lambda: os.mkfifo(one),
        lambda: one.symlink_to(victim / "letter.txt"),
        lambda: one.symlink_to(victim / "photos"),
        lambda: one.symlink_to("/dev/zero"),
        lambda: one.symlink_to(one.name),
        one.mkdir,
        one.touch,
    ]
    rng.choice(make)()


def swapped(path: Path, rng: random.Random) -> None:
    first, second = any_file(path, rng), any_file(path, rng)
    shutil.copy(first, path.parent / "spare")
    if first != second:
        shutil.copy(second, first)
        shutil.copy(path.parent / "spare", second)
    (path.parent / "spare").unlink()


SEALED: list[Change] = [description, manifest, projection, records, block]
UNSEALED: list[Change] = [flipped, truncated, replaced, swapped]


@contextmanager
def time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError(f"it took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def documented(problem: Exception) -> bool:
    """Documented errors: damage, a missing file, another encoder, an id that does not exist any more."""
    if isinstance(problem, (MaxsieveError, OSError)):
        return True
    sentence = str(problem)
    if isinstance(problem, (ValueError, TypeError)):
        return any(
            words in sentence
            for words in ("Vectors of two encoders", "this collection has", "rank must be below", "calibrat")
        )
    return isinstance(problem, KeyError) and "no document has the id" in sentence


def attempt(use: Callable[[], Any]) -> Any:
    """Its result, or the documented error that it raises."""
    try:
        return use()
    except Exception as problem:
        if not documented(problem):
            raise
        return problem


@pytest.mark.parametrize("change", [*SEALED, *UNSEALED], ids=lambda change: change.__name__)
def test_damaged_collections(tmp_path: Path, honest: tuple[Path, Path], change: Change, isa: str) -> None:
    expected = []
    for path in honest:
        with opened(path) as collection:
            expected.append(answer(collection))
    (tmp_path / "victim").mkdir()
    for case in range(CASES):
        path = tmp_path / "c"
        shutil.copytree(honest[case % 2], path)
        change(path, random.Random(f"{change.__name__} {case}"))
        moved = {one.name for one in tmp_path.iterdir()} - {"c", "victim"}
        intact = sentinels(tmp_path / "victim")
        with time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = attempt(lambda path=path: opened(path))
            if isinstance(found, Collection):
                _use(found, expected[case % 2], sealed=change in SEALED)
        intact()
        assert {one.name for one in tmp_path.iterdir()} == {"c", "victim"} | moved, case
        for one in ("c", "victim", *moved):
            shutil.rmtree(tmp_path / one)
        (tmp_path / "victim").mkdir()


def _use(collection: Collection, expected: Any, *, sealed: bool) -> None:
    with collection:
        told = attempt(collection.verify)
        found = attempt(lambda: answer(collection))
        if not sealed and not isinstance(found, Exception) and told is None:
            assert found == expected, "a wrong answer, and verify did not tell"
        for use in (
            collection.info,
            lambda: collection.add(["A new fox"], ["new"]),
            lambda: _recalibrate(collection),
            lambda: collection.delete(next(iter(FABLES))),
            collection.compact,
            collection.refresh,
            lambda: answer(collection),
        ):
            attempt(use)


def _recalibrate(collection: Collection) -> None:
    with ms.Index.open(collection.path / "index") as index:
        index.recalibrate()
    collection.refresh()


def test_the_fuzzer_reaches_every_file(honest: tuple[Path, Path]) -> None:
    for folder in honest:
        names = {path.suffix or path.name for path in folder.rglob("*") if path.is_file()}
        wanted = {".json", ".npy", ".segment", ".records", ".deleted", ".table", "lock"}
        assert wanted | {".codebook", ".lists", ".calibration"} <= names
        assert (folder / "queries" / "sample.json").is_file()
    manifests = [read_manifest(folder / "index") for folder in honest]
    assert [len(one.codebooks) for one in manifests] == [0, 1]
