"""An index whose numbers an attacker has changed, with right checksums.

The result is an answer, perhaps a wrong one, or `DamagedIndexError`: never a crash, and never an error that blames the
caller. `verify` reports everything that can be detected.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from maxsieve.errors import DamagedIndexError, MaxsieveError

from .support import DIM, build, change_block, change_manifest

QUERY = np.random.default_rng(1).standard_normal((3, DIM))
POLICIES = [ms.Certified(), ms.Exhaustive(), ms.Bandit()]


def put(place: Any, value: Any) -> Callable[[np.ndarray], None]:
    def change(block: np.ndarray) -> None:
        block[place] = value

    return change


def swap(block: np.ndarray) -> None:
    block[[0, -1]] = block[[-1, 0]]


ORDER = {
    "swapped": swap,
    "one twice": lambda block: put(0, block[1].copy())(block),
    "all the same": put(slice(None), 0),
    "reversed": lambda block: put(slice(None), block[::-1].copy())(block),
    "negative": put(0, -1),
    "beyond": put(-1, 6),
    "far beyond": put(0, 2**62),
}
OFFSETS = {"falls": put(1, 99), "negative": put(0, -1), "begins late": put(0, 1), "ends early": put(-1, 8)}
BOUNDS = {
    f"{name} {value}": (name, put(2, value))
    for name in ("scale", "rho", "nu")
    for value in (np.nan, np.inf, -np.inf, -1.0)
}
ROWS = {f"rows {value}": ("rows", put((2, 1), value)) for value in (np.nan, np.inf, -np.inf, 3e38)}
CODES = {"codes": ("codes", put((1, 0), -128))}
NUMBERS = {**BOUNDS, **ROWS, **CODES}
IDS: dict[str, list[Any]] = {
    "str": ["b", "a", "long prefix " * 8 + "1", "", "long prefix " * 8 + "2", "ü"],
    "int": [3, -4, 10**12, 0, -(2**63), 2**63 - 1],
}


def use(path: Path, ids: list[Any]) -> None:
    """All methods of an index. Any error of ours is fine, and so is a wrong answer."""
    for ask in (
        lambda index: [index.search(QUERY, k=3, policy=policy).metadata for policy in POLICIES],
        lambda index: index.search_many([QUERY] * 3, k=9, threads=2),
        lambda index: index.search(QUERY, candidates=ids, exclude=ids[:1]).explain(0),
        lambda index: [index.vectors(one) for one in ids],
        lambda index: [index.metadata(one) for one in ids],
        lambda index: [one in index for one in (*ids, "absent", 10**9)],
        lambda index: (index.ids, index.tokens, len(index)),
        lambda index: index.storage.snapshot.known(ids),
        lambda index: index.add([np.ones((1, DIM))], [ids[0]], replace=True),
        lambda index: index.delete(ids[-1]),
        lambda index: index.compact(),
    ):
        copy = path.with_name("copy")
        shutil.copytree(path, copy)
        with suppress(MaxsieveError), ms.Index.open(copy) as index:
            ask(index)
        shutil.rmtree(copy)


def verified(path: Path) -> None:
    with ms.Index.open(path) as index:
        index.verify()


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("how", ORDER)
def test_an_order_that_is_not_that_of_the_ids(tmp_path: Path, kind: str, how: str) -> None:
    path = tmp_path / "index"
    ids = build(path, IDS[kind])
    change_block(path / "00000001.segment", "ids.order", ORDER[how])
    use(path, ids)
    with pytest.raises(DamagedIndexError, match=r"00000001\.segment"):
        verified(path)


@pytest.mark.parametrize("kind", IDS)
def test_an_id_is_never_said_to_be_missing_by_a_wrong_order(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "index"
    ids = build(path, IDS[kind])
    change_block(path / "00000001.segment", "ids.order", ORDER["reversed"])
    for one in ids:
        with ms.Index.open(path) as index, suppress(DamagedIndexError):
            assert one in index


@pytest.mark.parametrize("kind", IDS)
def test_the_order_that_is_written_is_verified(tmp_path: Path, kind: str) -> None:
    """Also for ids with the same beginning, or that differ only in zeros at the end."""
    rng = np.random.default_rng(0)
    words = ["", "\0", "\0\0", "a", "a\0", "a\0b", "aaaaaaaa", "aaaaaaaa\0", "aaaaaaab", "x" * 64, "x" * 65, "x" * 200]
    words += ["x" * 199 + "y", "\U0010ffff", "\ud800", "\uffff"]
    words += ["".join(rng.choice(list("ab\0ü"), rng.integers(1, 20))) for _ in range(300)]
    numbers = [0, -1, 1, 2**63 - 1, -(2**63), *rng.integers(-(2**62), 2**62, 300).tolist()]
    ids: list[Any] = list(dict.fromkeys(words if kind == "str" else numbers))
    ms.Index.build([np.ones((1, DIM))] * len(ids), ids, path=tmp_path / "index").close()
    with ms.Index.open(tmp_path / "index") as index:
        index.verify()
        assert all(one in index for one in ids)
        assert ("absent" if kind == "str" else 17) not in index


@pytest.mark.parametrize("how", OFFSETS)
def test_offsets(tmp_path: Path, how: str) -> None:
    path = tmp_path / "index"
    build(path)
    change_block(path / "00000001.segment", "offsets", OFFSETS[how])
    with pytest.raises(DamagedIndexError, match=r"00000001\.segment"):
        ms.Index.open(path)


@pytest.mark.parametrize("how", NUMBERS)
def test_numbers_that_no_index_writes(tmp_path: Path, how: str, isa: str) -> None:
    path = tmp_path / "index"
    ids = build(path)
    name, change = NUMBERS[how]
    change_block(path / "00000001.segment", name, change)
    use(path, ids)
    with pytest.raises(DamagedIndexError, match=name):
        verified(path)


@pytest.mark.parametrize("change", [put(0, -1), put(0, 6), put(0, 2**62), put(0, -(2**63))])
def test_deleted_documents_that_are_not_there(tmp_path: Path, change: Callable[[np.ndarray], None]) -> None:
    build(tmp_path / "index")
    change_block(tmp_path / "index" / "00000002.deleted", "deleted", change)
    with pytest.raises(DamagedIndexError, match=r"00000002\.deleted"):
        ms.Index.open(tmp_path / "index")


@pytest.mark.parametrize(("kind", "said"), [("str", "int"), ("str", None), ("int", "str"), ("int", None)])
def test_a_false_type_of_ids(tmp_path: Path, kind: str, said: str | None) -> None:
    path = tmp_path / "index"
    build(path, IDS[kind])
    change_manifest(path, lambda content: content.update(id_type=said))
    with pytest.raises(DamagedIndexError, match=r"manifest\.json\b.*00000001\.segment"):
        ms.Index.open(path)


@pytest.mark.parametrize("kind", IDS)
def test_one_id_in_two_segments(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index"
    monkeypatch.setattr("maxsieve.storage.disk.SMALL_BYTES", 0)
    ids = build(path, IDS[kind], delete=False)
    with ms.Index.open(path) as index:
        index.add([np.ones((1, DIM))], [ids[2]], replace=True)
    change_manifest(path, lambda content: content["parts"][0].update(deleted=None))
    use(path, ids)
    with pytest.raises(DamagedIndexError, match="same id"):
        verified(path)


@pytest.mark.parametrize("field", ["generation", "next_file"])
@pytest.mark.parametrize("value", [2**62, 2**63, 10**19, 10**30])
def test_numbers_too_large_to_count_on(tmp_path: Path, field: str, value: int) -> None:
    build(tmp_path / "index")
    change_manifest(tmp_path / "index", lambda content: content.update({field: value}))
    with pytest.raises(DamagedIndexError, match=r"manifest\.json\b.*range"):
        ms.Index.open(tmp_path / "index")


@pytest.mark.parametrize("change", [{"similarity": "cosine"}, {"id_type": "str", "generation": 0}, {"next_file": 3}])
def test_a_manifest_that_says_something_else_but_possible(tmp_path: Path, change: dict[str, Any], isa: str) -> None:
    path = tmp_path / "index"
    ids = build(path)
    change_manifest(path, lambda content: content.update(change))
    use(path, ids)


@pytest.mark.parametrize(("name", "value"), [("ids.utf8", 255), ("ids.ends", 0), ("ids.ends", -1), ("ids.ends", 10**9)])
def test_ids_that_are_no_text(tmp_path: Path, name: str, value: int) -> None:
    path = tmp_path / "index"
    ids = build(path)
    change_block(path / "00000001.segment", name, put(2, value))
    use(path, ids)
    with pytest.raises(DamagedIndexError, match=r"00000001\.segment"):
        verified(path)
