"""Files of a store of residuals that an attacker has changed, with right checksums.

What no writer writes is refused at opening, or gives an answer and is reported by `verify`, which names the file.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from index.residuals import few_tokens, ragged
from long_form import scaled
from maxsieve import _core
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.storage.manifest import read_manifest

from .support import change_manifest, reseal_tiers, rewrite_blocks
from .test_tiers import change_blocks, cut, put, retype, shape

DIM = 8
DOCS = ragged(3, 40, DIM)
QUERIES = np.random.default_rng(4).standard_normal((20, 3, DIM)).astype(np.float32)
POLICIES: tuple[Any, ...] = (ms.Certified(), ms.Exhaustive(), ms.Bandit(margin=0), ms.Calibrated(0.9))
Change = Callable[[dict[str, np.ndarray]], object]
BITS = {1: "residual1", 2: "residual2", 4: "residual4"}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    few_tokens(monkeypatch, 60)
    monkeypatch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For each number of bits an index with two codebooks and a calibration, and one that awaits its codebook."""
    folder = tmp_path_factory.mktemp("residuals")
    with pytest.MonkeyPatch.context() as patch:
        few_tokens(patch, 60)
        patch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)
        for bits, store in BITS.items():
            with ms.Index.build(DOCS[:20], path=folder / str(bits), store=store) as index:  # type: ignore[arg-type]
                index.add(DOCS[20:], range(20, 40))
                index.reencode(DOCS[20:], range(20, 40))
                index.calibrate(QUERIES, k=5)
        with ms.Index.create(DIM, path=folder / "awaiting", store="residual2") as index:
            index.add(DOCS[:5], range(5))
    return folder


@pytest.fixture(params=[2])
def path(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / str(request.param), tmp_path / "index"))


def current(path: Path) -> Path:
    return path / read_manifest(path).extras["codebook"].name


def older(path: Path) -> Path:
    manifest = read_manifest(path)
    (found,) = [one for one in manifest.codebooks.values() if one != manifest.extras["codebook"]]
    return path / found.name


def first_segment(path: Path) -> Path:
    return path / read_manifest(path).segments[0].segment


def use(path: Path) -> None:
    """All that can be done with it. Errors are ours, and no answer is a crash."""
    uses: list[Callable[[ms.Index], Any]] = [
        *(lambda index, policy=policy: index.search(QUERIES[0], 5, policy=policy).explain(0) for policy in POLICIES),
        lambda index: index.search_many(QUERIES[:2], 3, candidates=[1, 2, 30]),
        lambda index: [index.vectors(one) for one in index.ids],
        lambda index: index.add([DOCS[0]], [999]),
        lambda index: index.reencode(DOCS[:3], [0, 1, 2]),
        lambda index: index.recalibrate(),
        lambda index: index.compact(),
        lambda index: index.verify(),
    ]
    try:
        index = ms.Index.open(path)
    except MaxsieveError:
        return
    with index, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in uses:
            with suppress(MaxsieveError):
                one(index)


REFUSED: dict[str, tuple[Callable[[Path], Path], Change]] = {
    "no bits": (current, lambda blocks: blocks.pop("bits")),
    "other bits": (current, put("bits", 4)),
    "bits that are none": (current, put("bits", 3)),
    "two numbers of bits": (current, lambda blocks: blocks.update(bits=np.full((2, 1), 2))),
    "bits of the older codebook": (older, put("bits", 1)),
    "no spread": (current, lambda blocks: blocks.pop("spread")),
    "a spread that is NaN": (current, put("spread", np.nan)),
    "a spread that is negative": (older, put("spread", -1)),
    "a spread that is infinite": (older, put("spread", np.inf)),
    "no probes": (current, lambda blocks: blocks.pop("probes")),
    "centroids that are too long": (current, put("scale", 1.0)),
    "centroids of the older codebook that are too long": (older, put("scale", 2.0**60)),
    "a scale that is NaN": (older, put("scale", np.nan)),
    "fewer centroids": (older, cut("codes", 8)),
    "a number of centroids that is no power of two": (current, cut("codes", 13)),
    "more centroids than two bytes name": (
        current,
        lambda blocks: blocks.update(
            codes=np.zeros((1 << 17, 32), np.int8),
            length=np.zeros((1 << 17, 1), np.float32),
            starts=np.array([[0], [1 << 17]]),
            heads=np.zeros((1, 32), np.int8),
        ),
    ),
    "no levels": (first_segment, lambda blocks: blocks.pop("levels")),
    "levels of more bits": (first_segment, lambda blocks: blocks.update(levels=np.repeat(blocks["levels"], 2, axis=1))),
    "levels of fewer bits": (first_segment, lambda blocks: blocks.update(levels=blocks["levels"][:, :1])),
    "levels too few": (first_segment, lambda blocks: blocks.update(levels=blocks["levels"][:-1])),
    "levels as signed bytes": (first_segment, retype("levels", "|i1")),
    "no factors": (first_segment, lambda blocks: blocks.pop("factors")),
    "one factor a token": (first_segment, lambda blocks: blocks.update(factors=blocks["factors"][:, :1])),
    "factors too few": (first_segment, lambda blocks: blocks.update(factors=blocks["factors"][:-1])),
    "factors too many": (
        first_segment,
        lambda blocks: blocks.update(factors=np.concatenate([blocks["factors"], blocks["factors"]])),
    ),
    "no centroids": (first_segment, lambda blocks: blocks.pop("centroids")),
    "centroids too few": (first_segment, lambda blocks: blocks.update(centroids=blocks["centroids"][:-1])),
    "centroids as longer numbers": (first_segment, retype("centroids", "<u4")),
    "byte codes in place of residuals": (
        first_segment,
        lambda blocks: [blocks.pop("levels"), blocks.update(codes=np.zeros((len(blocks["factors"]), 32), np.int8))],
    ),
    "no scale": (first_segment, cut("scale", 0)),
    "a scale too few": (first_segment, cut("scale", 19)),
    "a nu too many": (first_segment, lambda blocks: blocks.update(nu=np.ones((21, 1), np.float32))),
    "offsets beyond the tokens": (first_segment, put("offsets", 2**40, -1)),
    "offsets of another shape": (first_segment, shape("offsets", 1)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_writer_writes_is_refused(path: Path, case: str) -> None:
    which, change = REFUSED[case]
    file = which(path)
    rewrite_blocks(file, change)
    reseal_tiers(path)
    with pytest.raises(DamagedIndexError, match=file.name):
        ms.Index.open(path)


REPORTED: dict[str, tuple[Callable[[Path], Path], Change]] = {
    "a centroid beyond the codebook": (first_segment, put("centroids", 65535)),
    "all centroids beyond the codebook": (first_segment, put("centroids", 40_000, slice(None))),
    **{
        f"{name} {value}": (first_segment, put(name, value, 3))
        for name in ("scale", "nu")
        for value in (np.nan, np.inf, -np.inf, -1.0)
    },
    "a bound below the vectors": (first_segment, lambda blocks: blocks["nu"].__imul__(np.float32(1 - 2.0**-23))),
    "a bound that is zero": (first_segment, put("nu", 0.0, 3)),
    "a scale beyond its bound": (first_segment, put("scale", 3e38, 3)),
    "another codebook of the right form": (older, put("codes", 0, slice(None))),
    "a codebook of other lengths": (older, put("length", 0.5)),
    "a codebook of more tokens": (current, put("tokens", 99)),
}


@pytest.mark.parametrize(("case", "path"), [*zip(REPORTED, cycle(BITS), strict=False)], indirect=["path"])
def test_what_can_be_read_is_reported(path: Path, case: str, isa: str) -> None:
    which, change = REPORTED[case]
    file = which(path)
    rewrite_blocks(file, change)
    reseal_tiers(path)
    with ms.Index.open(path) as index:
        for policy in POLICIES:
            with suppress(DamagedIndexError):
                scores = index.search(QUERIES[0], 5, policy=policy).scores
                assert np.isfinite(scores).all()
                assert (np.diff(scores) <= 0).all()
        with pytest.raises(DamagedIndexError, match=file.name):
            index.verify()


@pytest.mark.parametrize("path", BITS, indirect=True)
def test_any_bytes_of_residuals_are_vectors(path: Path, isa: str) -> None:
    """Every answer is that of the rows that the bytes stand for; only the bound could be wrong, and is made right."""
    rng = np.random.default_rng(5)

    def forge(blocks: dict[str, np.ndarray]) -> None:
        for name in ("levels", "factors", "centroids"):
            blocks[name][:] = rng.integers(0, np.iinfo(blocks[name].dtype).max + 1, blocks[name].shape)
        blocks["scale"][:] = rng.choice([0.0, 1e-3, 1.0, 1e6], blocks["scale"].shape)
        blocks["nu"][:] = 50 * blocks["scale"]

    for segment in read_manifest(path).segments:
        rewrite_blocks(path / segment.segment, forge)
    with ms.Index.open(path) as index:
        plain = ms.Index.build([turned(index.vectors(one)) for one in index.ids], index.ids)
        for query in QUERIES[:4]:
            exact = index.search(query, 7, policy=ms.Exhaustive())
            wanted = plain.search(turned(query), 7, policy=ms.Exhaustive())
            assert np.allclose(exact.scores, wanted.scores, rtol=1e-4)
            found = index.search(query, 7)
            assert found.ids == exact.ids
            assert found.scores.tobytes() == exact.scores.tobytes()


def turned(rows: np.ndarray) -> np.ndarray:
    made = np.array(rows, np.float32)
    _core.rotate(made)
    return made


DIGEST = "0" * 32


def rename(content: dict[str, Any], old: str, new: object) -> None:
    content["codebooks"] = {new if one == old else one: extra for one, extra in content["codebooks"].items()}
    for part in content["parts"]:
        part["codebook"] = new if part["codebook"] == old else part["codebook"]


def first_digest(content: dict[str, Any]) -> str:
    return str(content["parts"][0]["codebook"])


MANIFESTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "an unknown digest": lambda content: content["parts"][0].update(codebook=DIGEST),
    "a segment without a digest": lambda content: content["parts"][0].update(codebook=None),
    "a digest that is a number": lambda content: content["parts"][0].update(codebook=7),
    "a digest that is a list": lambda content: content["parts"][0].update(codebook=["x"]),
    "a digest that is a path": lambda content: rename(content, first_digest(content), "../" + "0" * 29),
    "a digest in capitals": lambda content: rename(content, first_digest(content), "A" * 32),
    "a missing codebook": lambda content: content["codebooks"].pop(first_digest(content)),
    "no codebooks": lambda content: content.pop("codebooks"),
    "codebooks as a list": lambda content: content.update(codebooks=[]),
    "codebooks as text": lambda content: content.update(codebooks="x"),
    "a codebook as a name alone": lambda content: content["codebooks"].update(
        {first_digest(content): "00000001.codebook"}
    ),
    "a codebook elsewhere": lambda content: content["codebooks"].update(
        {first_digest(content): ["../00000001.codebook", 0]}
    ),
    "a segment as codebook": lambda content: content["codebooks"].update(
        {first_digest(content): [content["parts"][0]["segment"], 0]}
    ),
    "a negative checksum": lambda content: content["codebooks"][first_digest(content)].__setitem__(1, -1),
    "one file for two digests": lambda content: content["codebooks"].update(
        {DIGEST: content["codebooks"][first_digest(content)]}
    ),
    "the current codebook is not among them": lambda content: content["extras"]["codebook"].__setitem__(1, 7),
    "no current codebook": lambda content: content["extras"].pop("codebook"),
    "byte codes": lambda content: content.update(store="int8"),
    "another number of bits": lambda content: content.update(store="residual4"),
    "a number of bits that is none": lambda content: content.update(store="residual3"),
    "no number of bits": lambda content: content.update(store="residual"),
    "a store that is a number": lambda content: content.update(store=2),
    "a store that is a list": lambda content: content.update(store=["residual2"]),
    "a store of too many dimensions": lambda content: content.update(dim=4096),
    "version 3": lambda content: content.update(version=3),
    "version 2": lambda content: content.update(version=2),
    "version 1": lambda content: content.update(version=1),
    "version 3 without codebooks": lambda content: [content.update(version=3), content.pop("codebooks")],
    "tier 0 beside residuals": lambda content: [
        part.update(centroids="00000001.centroids") for part in content["parts"]
    ],
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_manifests_that_no_writer_writes_are_refused(path: Path, case: str) -> None:
    change_manifest(path, MANIFESTS[case])
    with pytest.raises(DamagedIndexError, match=r"manifest|segment|codebook"):
        ms.Index.open(path)
    use(path)


AWAITING: dict[str, Callable[[dict[str, Any]], object]] = {
    "a digest before there is a codebook": lambda content: content["parts"][0].update(codebook=DIGEST),
    "codebooks before there is one": lambda content: content.update(codebooks={DIGEST: ["00000001.codebook", 0]}),
    "version 3": lambda content: content.update(version=3),
    "more bits than dimensions allow": lambda content: content.update(store="residual4", dim=4096),
}


@pytest.mark.parametrize("case", AWAITING)
def test_manifests_of_an_index_that_awaits_its_codebook(made: Path, tmp_path: Path, case: str) -> None:
    path = Path(shutil.copytree(made / "awaiting", tmp_path / "index"))
    change_manifest(path, AWAITING[case])
    with pytest.raises(DamagedIndexError, match=r"manifest|segment"):
        ms.Index.open(path)


def test_a_digest_that_is_not_that_of_its_codebook_is_reported(path: Path) -> None:
    change_manifest(path, lambda content: rename(content, first_digest(content), DIGEST))
    with ms.Index.open(path) as index:
        assert len(index.search(QUERIES[0], 5)) == 5
        with pytest.raises(DamagedIndexError, match=older(path).name):
            index.verify()
    use(path)


def test_swapped_codebooks_are_reported(path: Path) -> None:
    def swap(content: dict[str, Any]) -> None:
        first, second = content["codebooks"]
        content["codebooks"] = {
            first: content["codebooks"][second],
            second: content["codebooks"][first],
        }

    change_manifest(path, swap)
    with pytest.raises(DamagedIndexError), ms.Index.open(path) as index:
        index.verify()
    use(path)


@pytest.mark.parametrize("path", BITS, indirect=True)
@pytest.mark.parametrize("which", [current, older, first_segment])
def test_random_changes(path: Path, tmp_path: Path, which: Callable[[Path], Path], isa: str) -> None:
    for case in range(scaled(16)):
        rng = random.Random(f"{which.__name__} {case}")
        copy = Path(shutil.copytree(path, tmp_path / f"copy {case}"))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rewrite_blocks(which(copy), lambda blocks, rng=rng: change_blocks(blocks, rng))
        reseal_tiers(copy)
        use(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize("which", [current, older, first_segment])
def test_truncated_and_missing_files(path: Path, which: Callable[[Path], Path]) -> None:
    file = which(path)
    whole = file.read_bytes()
    for size in (0, 100, 2048, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(DamagedIndexError, match=file.name):
            ms.Index.open(path)
    file.unlink()
    with pytest.raises(DamagedIndexError, match=file.name):
        ms.Index.open(path)


TRUNCATED = """
import sys, numpy as np, maxsieve as ms
from maxsieve.errors import DamagedIndexError
path, file = sys.argv[1:]
index = ms.Index.open(path)
with open(file, "r+b") as opened:
    opened.truncate(2048)
for ask in (
    lambda: index.search(np.ones((3, 8)), 9),
    lambda: index.search(np.ones((3, 8)), 9, policy=ms.Calibrated(0.9)),
    lambda: index.search(np.ones((3, 8)), 1, candidates=[1]),
    lambda: index.vectors(0),
    lambda: index.add([np.ones((2, 8))], [99]),
    index.compact,
    index.verify,
):
    try:
        ask()
        print("answered", end=" ")
    except DamagedIndexError:
        print("refused", end=" ")
"""


@pytest.mark.parametrize("which", [current, older, first_segment])
def test_files_that_are_truncated_while_they_are_open(path: Path, which: Callable[[Path], Path]) -> None:
    command = [sys.executable, "-c", TRUNCATED, str(path), str(which(path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert len(words) == 7
    assert words[:3] == ["refused"] * 3
    assert words[-1] == "refused"


def test_another_current_codebook_is_noticed_before_it_is_named(path: Path) -> None:
    rewrite_blocks(current(path), put("tokens", 99))
    reseal_tiers(path)
    before = (path / "manifest.json").read_bytes()
    with ms.Index.open(path) as index, pytest.raises(DamagedIndexError, match=current(path).name):
        index.add([DOCS[0]], [999])
    assert (path / "manifest.json").read_bytes() == before


def test_two_documents_with_one_id_are_noticed_when_an_index_is_calibrated_again(path: Path) -> None:
    rewrite_blocks(first_segment(path), put("ids.int", 1, slice(None)))
    with ms.Index.open(path) as index, pytest.raises(DamagedIndexError, match="same id"):
        index.reencode(DOCS[20:25], range(20, 25))
