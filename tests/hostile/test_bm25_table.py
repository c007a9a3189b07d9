"""The table of BM25 writes and removes only its own files, and a wrong table is never used."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hostile.fables import FABLES, make_collection, rewrite_records, sentinels
from hostile.support import change_manifest
from maxsieve.errors import DamagedIndexError
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder

pytest.importorskip("bm25s")


def opened(path: Path) -> Collection:
    return Collection.open(path, WordEncoder())


def table_files(collection: Path) -> list[Path]:
    return sorted(path for path in (collection / "bm25").rglob("*") if path.is_file())


def verified(collection: Collection) -> str:
    """What is wrong, or nothing."""
    try:
        collection.verify()
    except DamagedIndexError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("uid", ["{victim}/x", "../../victim/x", "../x", "..", ".", "", "a/b", "\0", "x" * 300])
def test_the_uid_of_an_index_is_no_path(tmp_path: Path, uid: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    evil = make_collection(tmp_path / "evil")
    (evil / "bm25").mkdir()
    intact, beside = sentinels(victim), sentinels(tmp_path / "evil" / "own")
    change_manifest(evil / "index", lambda content: content.update(uid=uid.replace("{victim}", str(victim))))
    try:
        with opened(evil) as collection:
            collection.search("fox", first_stage="bm25")
    except DamagedIndexError:
        pass
    intact()
    beside()


def test_a_table_that_is_a_link_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    intact = sentinels(victim)
    evil = make_collection(tmp_path / "evil")
    (evil / "bm25").symlink_to(victim)
    with opened(evil) as collection, pytest.raises(DamagedIndexError, match=r"bm25 .* link"):
        collection.search("fox", first_stage="bm25")
    intact()


def test_only_tables_are_removed(tmp_path: Path) -> None:
    """All other files in the folder stay. A link with the name of a table is removed, not followed."""
    path = make_collection(tmp_path / "c")
    victim = tmp_path / "victim"
    victim.mkdir()
    intact = sentinels(victim)
    with opened(path) as collection:
        collection.search("fox", first_stage="bm25")
        [table] = table_files(path)
        (path / "bm25" / "notes").mkdir()
        mine = sentinels(path / "bm25" / "notes")
        link = table.with_name("0" * len(table.stem) + table.suffix)
        link.symlink_to(victim / "letter.txt")
        collection.delete("crow")
        assert collection.search("fox", first_stage="bm25").ids == ["fox"]
    assert not table.exists(), "the old table is gone"
    assert not link.is_symlink()
    mine()
    intact()


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = make_collection(tmp_path / "c")
    with opened(path) as collection:
        expected = collection.bm25("fox", 10)
        collection.verify()
    [table] = table_files(path)
    content = table.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 97)):
        table.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        with opened(path) as collection:
            noticed = table.name in verified(collection)
            assert collection.bm25("fox", 10) == expected, place
        if noticed:
            assert table.read_bytes() == content, "it was made anew"
        else:
            assert not any(content[place : place + 1]), "only padding may differ"
            table.write_bytes(content)


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_table_that_is_cut_short_is_noticed(tmp_path: Path, size: int) -> None:
    path = make_collection(tmp_path / "c")
    with opened(path) as collection:
        expected = collection.bm25("fox", 10)
    [table] = table_files(path)
    table.write_bytes(table.read_bytes()[:size])
    with opened(path) as collection:
        with pytest.raises(DamagedIndexError, match=table.name):
            collection.verify()
        assert collection.bm25("fox", 10) == expected


def test_a_pipe_or_a_link_in_a_tables_place_is_noticed(tmp_path: Path) -> None:
    path = make_collection(tmp_path / "c")
    with opened(path) as collection:
        expected = collection.bm25("fox", 10)
    [table] = table_files(path)
    for make in (os.mkfifo, lambda name: os.symlink("/dev/zero", name), os.mkdir):
        table.unlink()
        make(table)
        with opened(path) as collection:
            with pytest.raises(DamagedIndexError, match=table.name):
                collection.verify()
            assert collection.bm25("fox", 10) == expected
        if table.is_dir():
            table.rmdir()
        else:
            table.unlink(missing_ok=True)
        table.touch()


def test_a_table_of_another_collection_is_not_believed(tmp_path: Path) -> None:
    """Not even under the right name: the table says what it was made from."""
    one, other = make_collection(tmp_path / "one"), make_collection(tmp_path / "other")
    with opened(other) as collection:
        collection.add(["A fox in the snow"], ["snow"])
        collection.delete("crow")
        assert collection.bm25("fox", 10) == ["fox", "snow"]
    with opened(one) as collection:
        assert collection.bm25("fox", 10) == ["crow", "fox"]
    [right], [wrong] = table_files(one), table_files(other)
    shutil.copy(wrong, right)
    with opened(one) as collection:
        with pytest.raises(DamagedIndexError, match=right.name):
            collection.verify()
        assert collection.bm25("fox", 10) == ["crow", "fox"]


def test_a_restored_index_does_not_pick_up_the_table_of_what_came_after(tmp_path: Path) -> None:
    """The same uid and generation, but other texts: these numbers do not identify the texts of a table."""
    path = make_collection(tmp_path / "c")
    shutil.copytree(path / "index", tmp_path / "backup")
    with opened(path) as collection:
        collection.add(["A fox in the snow"], ["new"])
        assert collection.bm25("snow", 10) == ["new"]
    shutil.rmtree(path / "index")
    shutil.copytree(tmp_path / "backup", path / "index")
    with opened(path) as collection:
        collection.add(["A bear in the wood"], ["new"])
        assert collection.bm25("snow", 10) == []
        assert collection.bm25("bear", 10) == ["new"]


def test_a_restored_index_with_other_deletions(tmp_path: Path) -> None:
    path = make_collection(tmp_path / "c")
    shutil.copytree(path / "index", tmp_path / "backup")
    with opened(path) as collection:
        collection.delete("crow")
        assert collection.bm25("fox", 10) == ["fox"]
    shutil.rmtree(path / "index")
    shutil.copytree(tmp_path / "backup", path / "index")
    with opened(path) as collection:
        collection.delete("fox")
        assert collection.bm25("fox", 10) == ["crow"]


def test_texts_that_were_changed_are_noticed(tmp_path: Path) -> None:
    path = make_collection(tmp_path / "c")
    with opened(path) as collection:
        assert collection.bm25("wolf", 10) == []
    changed = '{"text":"The wolf","metadata":null}'
    rewrite_records(path, lambda base: base.execute("UPDATE records SET record = ? WHERE position = 2", (changed,)))
    with opened(path) as collection:
        assert collection.bm25("wolf", 10) == ["hare"]
        assert list(collection.ids) == list(FABLES)


def test_the_scope_says_where_candidates_came_from(tmp_path: Path) -> None:
    with opened(make_collection(tmp_path / "c")) as collection:
        hits = collection.search("fox", first_stage="bm25", depth=7)
        assert (hits.scope, hits.first_stage, hits.depth) == ("candidates", "bm25", 7)
        hits = collection.search("fox", first_stage=lambda query, depth: ["fox"])
        assert (hits.scope, hits.first_stage, hits.depth) == ("candidates", "a function", 100)
        hits = collection.search("fox")
        assert (hits.scope, hits.first_stage, hits.depth) == ("all", None, None)
