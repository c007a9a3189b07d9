"""Codebooks, lists, centroids and calibrations that an attacker has changed, with right checksums.

A guarantee must not depend on damage: content that no writer writes is refused at opening, or reported by `verify`.
Anything else gives an answer, never a crash.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from hostile.support import change_manifest, reseal_tiers, rewrite_blocks
from index.support import give_tier0
from long_form import scaled
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.manifest import read_manifest

DIM = 8
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((1200, DIM)).astype(np.float32)
QUERIES = RNG.standard_normal((20, 3, DIM)).astype(np.float32)
QUERY = RNG.standard_normal((3, DIM)).astype(np.float32)
POLICY = ms.Calibrated(0.9)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few centroids, so that some documents are not followed up."""
    monkeypatch.setattr("maxsieve.storage.codebook.FEWEST", 16)
    monkeypatch.setattr("maxsieve.storage.codebook.MOST", 64)
    monkeypatch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A calibrated index of two segments, with later additions and deletions."""
    path = tmp_path / "index"
    index = ms.Index.build(ROWS, lengths=[4] * 300, path=path, metadata=[{"n": i % 2} for i in range(300)])
    index.calibrate(QUERIES, k=5)
    index.calibrate(QUERIES, k=5, where={"n": 1})
    index.add([ROWS[:3]], [300])
    index.delete([7])
    assert index.search(QUERY, k=3, policy=POLICY).report.guarantee == "calibrated"
    index.close()
    return path


@pytest.fixture
def old_path(tmp_path: Path) -> Path:
    """The same with tier 0, as earlier versions of maxsieve made it."""
    path = tmp_path / "old"
    index = ms.Index.build(ROWS, lengths=[4] * 300, path=path)
    give_tier0(index)
    index.calibrate(QUERIES, k=5)
    index.add([ROWS[:3]], [300])
    assert index.search(QUERY, k=3, policy=POLICY).report.guarantee == "calibrated"
    index.close()
    return path


def only(path: Path, kind: str) -> Path:
    if kind == "calibration":  # there is another one for a filter
        return path / read_manifest(path).extras[kind].name
    return sorted(path.glob(f"*.{kind}"))[0]


def put(name: str, value: Any, place: Any = 0) -> Callable[[dict[str, np.ndarray]], None]:
    def change(blocks: dict[str, np.ndarray]) -> None:
        with np.errstate(all="ignore"):
            blocks[name].reshape(-1)[place] = value

    return change


def wrap(blocks: dict[str, np.ndarray]) -> None:
    """Lengths whose sum is right only because of an overflow."""
    flat = blocks["lengths"].reshape(-1)
    flat[:] = 1
    flat[:4] = 2**62
    flat[3] += len(blocks["rows"]) - 16


def retype(name: str, dtype: str) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda blocks: blocks.update({name: blocks[name].astype(dtype)})


def cut(name: str, rows: int) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda blocks: blocks.update({name: blocks[name][:rows]})


def text(name: str, content: str) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda blocks: blocks.update({name: np.frombuffer(content.encode(), np.uint8)[:, None]})


def shape(name: str, columns: int) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda blocks: blocks.update({name: np.zeros((4, columns), blocks[name].dtype)})


REFUSED: dict[str, tuple[str, Callable[[dict[str, np.ndarray]], None]]] = {
    "a query with NaN": ("calibration", put("rows", np.nan)),
    "a query with inf": ("calibration", put("rows", np.inf, -1)),
    "a query too large": ("calibration", put("rows", 3e38)),
    "queries of another dimension": ("calibration", shape("rows", DIM + 1)),
    "no queries": ("calibration", cut("rows", 0)),
    "lengths that wrap around": ("calibration", wrap),
    "a length of 0": ("calibration", put("lengths", 0)),
    "a negative length": ("calibration", put("lengths", -3)),
    "a query too long": ("calibration", put("lengths", 5000)),
    "lengths that do not add up": ("calibration", put("lengths", 4)),
    "fewer lengths than ranks": ("calibration", cut("lengths", 19)),
    "a rank of 0": ("calibration", put("documents.ranks", 0)),
    "a rank beyond the documents": ("calibration", put("documents.ranks", 301)),
    "no ranks": ("calibration", cut("documents.ranks", 0)),
    "ranks of another walk": ("calibration", cut("documents.ranks", 40)),
    "more hits than documents": ("calibration", shape("documents.ranks", 301)),
    "a score that is NaN": ("calibration", put("documents.scores", np.nan)),
    "scores that rise": ("calibration", put("documents.scores", 1e30, 3)),
    "fewer scores than ranks": ("calibration", cut("documents.scores", 19)),
    "no ids": ("calibration", text("documents.ids", "[]")),
    "ids that are lists": ("calibration", text("documents.ids", "[[[]]]" * 20)),
    "ids of two types": ("calibration", text("documents.ids", json.dumps([[*range(14), "x"]] * 20))),
    "ids that are not JSON": ("calibration", text("documents.ids", "{")),
    "ids too deep": ("calibration", text("documents.ids", "[" * 100_000)),
    "a filter that is none": ("calibration", text("where", '{"where": {"n": {"above": 1}}, "root": []}')),
    "a filter without a root": ("calibration", text("where", '{"where": {"n": 1}}')),
    "a filter below a number": ("calibration", text("where", '{"where": {"n": 1}, "root": [3]}')),
    "a filter too deep": (
        "calibration",
        text("where", '{"root": [], "where": ' + '{"not": ' * 5000 + "{}" + "}" * 5001),
    ),
    "no walk": ("calibration", cut("walks", 0)),
    "a walk to nowhere": ("calibration", put("walks", 0)),
    "a walk too far": ("calibration", put("walks", 2**40)),
    "no hits": ("calibration", lambda blocks: blocks.pop("documents.ranks")),
    "facts missing": ("calibration", cut("facts", 3)),
    "made for more documents than there can have been": ("calibration", put("facts", 2**61)),
    "made for fewer": ("calibration", put("facts", 250)),
    "made after the end of time": ("calibration", put("facts", 2**62, 1)),
    "made before its beginning": ("calibration", put("facts", -1, 1)),
    "an unknown origin": ("calibration", put("facts", 2, 2)),
    "no hits asked for": ("calibration", put("facts", 0, 3)),
    "ranks as floats": ("calibration", retype("documents.ranks", "<f4")),
    "a scale that is NaN": ("codebook", put("scale", np.nan)),
    "a negative scale": ("codebook", put("scale", -1)),
    "two scales": ("codebook", lambda blocks: blocks.update(scale=np.ones((2, 1), "<f4"))),
    "a length that is NaN": ("codebook", put("length", np.nan, -1)),
    "a length that is infinite": ("codebook", put("length", np.inf)),
    "a length below zero": ("codebook", put("length", -1.0)),
    "a length too few": ("codebook", cut("length", 15)),
    "an empty group": ("codebook", put("starts", 0, 1)),
    "starts that fall": ("codebook", put("starts", 2**61, 1)),
    "starts below zero": ("codebook", put("starts", -1)),
    "starts that end early": ("codebook", put("starts", 3, -1)),
    "one start": ("codebook", cut("starts", 1)),
    "no group": ("codebook", lambda blocks: [cut("heads", 0)(blocks), cut("starts", 1)(blocks)]),
    "a number of centroids that is no power of two": ("codebook", cut("codes", 15)),
    "no centroids": ("codebook", cut("codes", 0)),
    "centroids of another dimension": ("codebook", shape("codes", 64)),
    "codes of -128": ("codebook", put("codes", -128, slice(None))),
    "heads of -128": ("codebook", put("heads", -128)),
    "made for no token": ("codebook", put("tokens", 0)),
    "codes as unsigned bytes": ("codebook", retype("codes", "|u1")),
    "no probes": ("codebook", put("probes", 0)),
    "too many probes": ("codebook", put("probes", 9)),
    "two numbers of probes": ("codebook", lambda blocks: blocks.update(probes=np.ones((2, 1), "<i8"))),
    "lists of no segment": ("lists", put("facts", 0)),
    "lists of more documents": ("lists", put("facts", 302, 1)),
    "lists of fewer documents": ("lists", put("facts", 299, 1)),
    "lists of as many documents as can be": ("lists", put("facts", 2**63 - 1, 1)),
    "lists of another codebook": ("lists", put("facts", 32, 2)),
    "lists in other blocks": ("lists", put("facts", 100, 3)),
    "facts of lists missing": ("lists", cut("facts", 3)),
    "starts of lists that fall": ("lists", put("starts", 2**32 - 1, 1)),
    "starts of lists that begin late": ("lists", put("starts", 1)),
    "starts of lists that end late": ("lists", put("starts", 2**31, -1)),
    "a start of a list too few": ("lists", lambda blocks: blocks.update(starts=blocks["starts"][:-1])),
    "no start of a list": ("lists", cut("starts", 0)),
    "lists of fewer centroids": ("lists", put("present", 0)),
    "no word of lists": ("lists", cut("present", 0)),
    "a member too few": ("lists", lambda blocks: blocks.update(members=blocks["members"][:-1])),
    "members as longer numbers": ("lists", retype("members", "<i8")),
}

REFUSED_OF_TIER0: dict[str, tuple[str, Callable[[dict[str, np.ndarray]], None]]] = {
    "a centroid too few": ("centroids", cut("centroids", 1199)),
    "no names": ("centroids", cut("centroids", 0)),
    "names in two columns": ("centroids", shape("centroids", 2)),
    "names as longer numbers": ("centroids", retype("centroids", "<i8")),
    "a rank of 0": ("calibration", put("ranks", 0)),
    "an infinite rank": ("calibration", put("ranks", 2**63 - 1)),
    "fewer hits asked for than ranked": ("calibration", put("facts", 4, 3)),
    "a codebook of lists": ("codebook", lambda blocks: blocks.update(probes=np.ones((1, 1), "<i8"))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_writer_writes_is_refused(path: Path, case: str) -> None:
    kind, change = REFUSED[case]
    rewrite_blocks(only(path, kind), change)
    reseal_tiers(path)
    with pytest.raises(DamagedIndexError):
        ms.Index.open(path)


@pytest.mark.parametrize("case", REFUSED_OF_TIER0)
def test_what_no_writer_of_tier0_writes_is_refused(old_path: Path, case: str) -> None:
    kind, change = REFUSED_OF_TIER0[case]
    rewrite_blocks(only(old_path, kind), change)
    reseal_tiers(old_path)
    with pytest.raises(DamagedIndexError):
        ms.Index.open(old_path)


def test_names_of_centroids_that_are_not_there_are_told(old_path: Path, isa: str) -> None:
    file = only(old_path, "centroids")
    rewrite_blocks(file, put("centroids", 65535, slice(None, None, 3)))
    reseal_tiers(old_path)
    with ms.Index.open(old_path) as index:
        assert len(index.search(QUERY, k=3, policy=POLICY)) == 3
        with pytest.raises(DamagedIndexError, match=file.name):
            index.verify()


@pytest.mark.parametrize("member", [0, 299, 300, 65535])
def test_members_of_lists_that_can_not_be_are_told(path: Path, isa: str, member: int) -> None:
    file = only(path, "lists")
    rewrite_blocks(file, put("members", member, slice(None, None, 3)))
    reseal_tiers(path)
    with ms.Index.open(path) as index:
        for threads in (1, 2):
            assert len(index.search(QUERY, k=3, policy=POLICY, threads=threads)) == 3
        with pytest.raises(DamagedIndexError, match=file.name):
            index.verify()


@pytest.mark.parametrize("member", [299, 300, 65535])
def test_members_that_can_not_be_are_not_merged_with_new_lists(path: Path, member: int) -> None:
    file = only(path, "lists")
    rewrite_blocks(file, put("members", member, slice(None, None, 3)))
    reseal_tiers(path)
    with ms.Index.open(path) as index:
        index.add([ROWS[:3]], [301])  # a part of its own, as it is small
        with pytest.raises(DamagedIndexError, match=file.name):
            index.add(np.tile(ROWS, (2, 1)), range(1000, 1600), lengths=[4] * 600)
        assert len(index) == 301
        index.train_codebook()  # makes all lists again
        index.verify()
        index.add(np.tile(ROWS, (2, 1)), range(1000, 1600), lengths=[4] * 600)
        assert not index.storage.snapshot.here.lacks_lists


def extra(kind: str, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["extras"].update({kind: [*fields.values()]})


MANIFESTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a calibration without a codebook": lambda content: content["extras"].pop("codebook"),
    "lists without a codebook": lambda content: content.update(extras={}, filters=[]),
    "calibrations for filters without a codebook": lambda content: content.update(extras={}, parts=[]),
    "a codebook as a filter's calibration": lambda content: content.update(filters=[content["extras"]["codebook"]]),
    "the same filter twice": lambda content: content.update(filters=content["filters"] * 2),
    "filters as an object": lambda content: content.update(filters={"a": 1}),
    "centroids beside lists": lambda content: content["parts"][0].update(centroids="00000001.centroids"),
    "a segment as lists": lambda content: content["parts"][0].update(lists=content["parts"][0]["segment"]),
    "lists of a later number": lambda content: content["parts"][0].update(lists="90000001.lists"),
    "lists elsewhere": lambda content: content["parts"][0].update(lists="../00000001.lists"),
    "a negative number of kept documents": lambda content: content.update(kept=-1),
    "a number of kept documents that is none": lambda content: content.update(kept="7"),
    "an object of kept documents": lambda content: content.update(kept={}),
    "a calibration as codebook": lambda content: content["extras"].update(codebook=content["extras"]["calibration"]),
    "a segment as codebook": extra("codebook", name="00000001.segment", crc=0),
    "a path as codebook": extra("codebook", name="../00000001.codebook", crc=0),
    "a file of a later number": extra("codebook", name="90000001.codebook", crc=0),
    "a list as name": extra("codebook", name=["00000001.codebook"], crc=0),
    "a name alone": lambda content: content["extras"].update(codebook="00000002.codebook"),
    "extras as a list": lambda content: content.update(extras=[["codebook", "x"]]),
    "another kind": lambda content: content["extras"].update(table=["00000001.table", 0]),
    "a negative checksum": lambda content: content["extras"]["codebook"].__setitem__(1, -1),
    "centroids of one segment": lambda content: content["parts"][1].update(centroids="00000001.centroids"),
    "a negative count": lambda content: content.update(added=-1),
    "a count too large": lambda content: content.update(deleted=2**62),
    "a count that is none": lambda content: content.update(added="1"),
    "nothing was added": lambda content: content.update(added=0, deleted=0),
    "version 1": lambda content: content.update(version=1),
    "version 2": lambda content: content.update(version=2),
    "version 0": lambda content: content.update(version=0),
    "version True": lambda content: content.update(version=True),
    "version 3 as text": lambda content: content.update(version="3"),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_manifests_that_no_writer_writes_are_refused(path: Path, case: str) -> None:
    if case == "nothing was added":  # a calibration for 300 documents must not be valid for 301 without notice
        with ms.Index.open(path) as index:
            index.add([ROWS[:1], ROWS[:1]], [301, 302])
    change_manifest(path, MANIFESTS[case])
    with pytest.raises(DamagedIndexError):
        ms.Index.open(path)


@pytest.mark.parametrize("field", ["generation", "next_file", "added", "deleted"])
def test_an_index_never_writes_what_it_can_not_read(path: Path, field: str) -> None:
    """The forged number leaves no room for the next one: the change fails, and the index stays unchanged."""
    change_manifest(path, lambda content: content.update({field: 2**62 - 1}))
    with ms.Index.open(path) as index:
        for use in (lambda index: index.delete([3, 4]), lambda index: index.add([ROWS[:2]], [999])):
            before = (path / "manifest.json").read_bytes()
            with suppress(DamagedIndexError):
                use(index)
                continue
            assert (path / "manifest.json").read_bytes() == before
    with ms.Index.open(path) as index:
        index.search(QUERY, k=3, policy=POLICY)


@pytest.mark.parametrize("counts", [{"added": 2**61, "deleted": 2**61}, {"kept": 0}, {"kept": 2**61}])
def test_huge_counts_break_nothing(path: Path, counts: dict[str, int]) -> None:
    change_manifest(path, lambda content: content.update(counts))
    with ms.Index.open(path) as index:
        index.verify()
        assert index.search(QUERY, k=3, policy=POLICY).report.guarantee in ("calibrated", "exact")
        index.recalibrate()
        assert index.search(QUERY, k=3, policy=POLICY).report.guarantee == "calibrated"


def test_an_index_without_documents_is_not_calibrated(tmp_path: Path) -> None:
    for where in (None, tmp_path / "index"):
        index = ms.Index.build(ROWS[:40], lengths=[4] * 10, path=where)
        index.calibrate(QUERIES, k=5)
        index.delete(list(range(10)))
        for use in (index.recalibrate, lambda index=index: index.calibrate(QUERIES, k=5)):
            with pytest.raises(ValueError, match="documents"):
                use()
        assert len(index.search(QUERY, policy=POLICY)) == 0
    with ms.Index.open(tmp_path / "index") as index:
        index.add([ROWS[:3]], [5])
        assert index.search(QUERY, k=1, policy=POLICY).ids == [5]


# Other changes, at random

ODD = [0, 1, -1, 2, 7, 127, -128, 255, 256, 65535, 2**31 - 1, -(2**31), 2**61, 2**62, 2**63 - 1, -(2**63)]
ODD_FLOATS = [*map(float, ODD), np.nan, np.inf, -np.inf, 1e-45, 3e38, -0.0]


def change_numbers(block: np.ndarray, rng: random.Random) -> None:
    flat = block.reshape(-1)
    if len(flat):
        places = [rng.randrange(len(flat)) for _ in range(rng.choice([1, 1, 2, len(flat)]))]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = rng.choice(ODD_FLOATS if block.dtype.kind == "f" else ODD)
            flat[places] = np.array(value).astype(block.dtype)


def change_blocks(blocks: dict[str, np.ndarray], rng: random.Random) -> None:
    name = rng.choice(list(blocks))
    block = blocks[name]
    kind = rng.randrange(12)
    if kind < 7:
        change_numbers(block, rng)
    elif kind == 7:
        del blocks[name]
    elif kind == 8:
        blocks[name] = block[: rng.randrange(len(block) + 1)]
    elif kind == 9:
        blocks[name] = np.concatenate([block] * rng.choice([2, 3, 16]))
    elif kind == 10:
        blocks[name] = np.zeros((rng.choice([0, 1, len(block)]), rng.choice([1, 2, 31, 33, 4096])), block.dtype)
    else:
        blocks[name] = block.astype(rng.choice(["|i1", "|u1", "<u2", "<u4", "<u8", "<i8", "<f2", "<f4"]))


def use(path: Path) -> None:
    """All that can be done with it. Errors are ours, and answers are complete."""
    uses: list[Callable[[ms.Index], Any]] = [
        lambda index: index.search(QUERY, k=3, policy=POLICY),
        lambda index: index.search(QUERY, k=3, policy=POLICY, where={"n": 1}),
        lambda index: index.search_many([QUERY, QUERY], k=3, policy=POLICY, exclude=[1]),
        lambda index: index.verify(),
        lambda index: index.add([ROWS[:2]], [999]),
        lambda index: index.recalibrate(),
        lambda index: index.search(QUERY, k=3, policy=POLICY),
        lambda index: index.train_codebook(),
        lambda index: index.compact(),
        lambda index: index.verify(),
    ]
    try:
        index = ms.Index.open(path)
    except MaxsieveError:
        return
    with index:
        for one in uses:
            with suppress(MaxsieveError):
                one(index)


@pytest.mark.parametrize("kind", ["codebook", "calibration", "lists", "centroids"])
def test_random_changes(path: Path, old_path: Path, tmp_path: Path, kind: str, isa: str) -> None:
    path = old_path if kind == "centroids" else path
    for case in range(scaled(40)):
        rng = random.Random(f"{kind} {case}")
        copy = tmp_path / f"copy {case}"
        shutil.copytree(path, copy)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rewrite_blocks(only(copy, kind), lambda blocks, rng=rng: change_blocks(blocks, rng))
        reseal_tiers(copy)
        use(copy)
        shutil.rmtree(copy)


# Truncated files, and links and pipes in their place

TRUNCATED = """
import os, sys
from glob import glob
import numpy as np
import maxsieve as ms
from maxsieve.errors import DamagedIndexError

path, kind = sys.argv[1:]
rng = np.random.default_rng(0)
index = ms.Index.build(rng.standard_normal((20000, 64)), lengths=[20] * 1000, path=path)
index.calibrate(rng.standard_normal((20, 3, 64)), k=5)
index, query = ms.Index.open(path), rng.standard_normal((3, 64))
os.truncate(glob(f"{path}/*.{kind}")[0], 2048)
calls = [
    lambda: ms.Index.open(path),
    lambda: index.verify(),
    lambda: index.search(query, k=3, policy=ms.Calibrated(0.9)),
    lambda: index.search_many([query] * 3, k=3, policy=ms.Calibrated(0.5)),
    lambda: index.add([np.ones((2, 64))], [1000]),
    lambda: index.recalibrate(),
    lambda: index.train_codebook(),
]
for call in calls:
    try:
        call()
    except DamagedIndexError as problem:
        print(problem)
"""


@pytest.mark.parametrize("kind", ["codebook", "calibration", "lists"])
def test_truncated_files_are_errors(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", TRUNCATED, str(tmp_path / "index"), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert f".{kind} has 2048 bytes" in done.stdout


@pytest.mark.parametrize("kind", ["codebook", "calibration", "lists"])
def test_links_and_pipes_are_refused_and_never_removed(path: Path, tmp_path: Path, kind: str) -> None:
    file = only(path, kind)
    file.rename(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    for make in (lambda: file.symlink_to(tmp_path / "elsewhere"), lambda: os.mkfifo(file)):
        make()
        with pytest.raises(DamagedIndexError, match=file.name):
            ms.Index.open(path)
        file.unlink()
    os.link(tmp_path / "elsewhere", file)
    with ms.Index.open(path) as index:  # a second name does no harm: files are never written to
        index.train_codebook()
    assert not file.exists()
    assert (tmp_path / "elsewhere").read_bytes() == before
    assert file.name not in read_manifest(path).files
