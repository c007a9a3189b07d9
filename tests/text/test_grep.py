"""Questions about the files of a folder, with and without a collection in the cache."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cli.tiny_model import write_tiny_model
from maxsieve.text import OnnxEncoder
from maxsieve.text.grep import folder_search
from maxsieve.text.grep.folder_search import FolderSearch
from maxsieve.text.grep.line_answer import LineAnswer

FUNCTIONS = "\n\n".join(
    f'def {name}(x):\n    """A {name.replace("_", " ")}."""\n' + "    x = green(x) + 1\n" * 30 + "    return x\n"
    for name in ("red_fox", "blue_owl", "splitPath", "coffee_river")
)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_model(folder)
    return OnnxEncoder(folder)


@pytest.fixture
def search(tmp_path: Path, encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> FolderSearch:
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    (folder / "deep").mkdir(parents=True)
    (folder / "code.py").write_text(FUNCTIONS)
    (folder / "deep" / "notes.md").write_text("# Drinks\n\nGreen tea.\n\n## Coffee\n\nCoffee by the river.\n")
    (folder / "other.c").write_text("int bread(void) { return 1; }\n")
    for path in folder.rglob("*.*"):
        os.utime(path, (1, 1))  # files that were written just now are read again
    return FolderSearch(folder, encoder)


def places(answer: LineAnswer) -> list[str]:
    return [f"{hit.id}:{hit.first}-{hit.last}" for hit in answer.hits]


def check_lines(search: FolderSearch, answer: LineAnswer) -> None:
    """The lines of each hit are those of the file."""
    for hit in answer.hits:
        lines = (search.folder / str(hit.id)).read_text().split("\n")[hit.first - 1 : hit.last]
        assert hit.text in "\n".join(lines)
        assert "\n".join(lines).strip().startswith(hit.text.strip()[:20]) or hit.heading == ""
        assert all(0 <= match.start <= match.end <= len(hit.text) for match in hit.matches)


@pytest.mark.parametrize("indexed", [False, True])
def test_identifiers_and_lines(search: FolderSearch, indexed: bool) -> None:
    if indexed:
        assert search.index().added == 3
    answer = search.answer("how is a path split", 5)
    assert answer.indexed == indexed
    assert any("def splitPath" in hit.text for hit in answer.hits)
    check_lines(search, answer)
    assert answer.hits[0].matches
    for found in (search.answer("bread", 1), search.answer("bread", 9, types=["c"])):
        assert places(found) == ["other.c:1-1"]
    every = search.answer("red fox river", 99)
    check_lines(search, every)
    assert {hit.id for hit in search.answer("river", 9, types=[".md"]).hits} == {"deep/notes.md"}
    only = search.answer("red fox river", 2, pattern=re.compile("def coffee|^Green"))
    assert only.hits
    assert all(re.search("(?m)def coffee|^Green", hit.text) for hit in only.hits)
    assert not search.answer("red fox river", pattern=re.compile("nowhere")).hits


@pytest.mark.parametrize("indexed", [False, True])
def test_functions_are_headings(search: FolderSearch, indexed: bool) -> None:
    if indexed:
        search.index()
    [hit] = [hit for hit in search.answer("how is a path split", 5).hits if "def splitPath" in hit.text]
    assert hit.heading == "splitPath"
    assert hit.text.startswith("def splitPath")
    [hit] = search.answer("bread", 9, types=["c"]).hits  # the whole file is one passage
    assert hit.heading == "bread"


def test_the_guarantee_says_what_was_searched(search: FolderSearch) -> None:
    assert "passages that BM25 selected from 3 files; no guarantee for other" in search.answer("red fox").guarantee
    assert search.answer("zebra").hits == []
    search.index()
    assert search.answer("red fox").guarantee.startswith("exact among ")


def test_a_collection_is_kept_in_step(search: FolderSearch) -> None:
    search.index()
    new = search.folder / "new.py"
    new.write_text("def blue_bread():\n    pass\n")
    (search.folder / "other.c").unlink()
    answer = search.answer("blue bread", 3)
    assert answer.indexed
    assert places(answer)[0] == "new.py:1-2"
    assert "other.c" not in {hit.id for hit in search.answer("bread", 99).hits}
    new.write_text("\n\ndef blue_bread():\n    return 1\n")
    assert places(search.answer("blue bread", 1)) == ["new.py:3-4"]


def test_after_many_changes_the_collection_is_not_used(search: FolderSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    search.index()
    monkeypatch.setattr(folder_search, "SOON", 10)
    (search.folder / "new.py").write_text("def blue_bread():\n    pass\n")
    os.utime(search.folder / "new.py", (2, 2))
    answer = search.answer("blue bread", 1)
    assert not answer.indexed
    assert places(answer) == ["new.py:1-2"]
    assert "1 files have changed" in answer.remarks[0]
    search.index()
    assert search.answer("blue bread", 1).indexed


def test_a_damaged_collection_is_not_used_and_made_again(search: FolderSearch) -> None:
    search.index()
    (search.collection_path / "collection.json").write_text("{")
    answer = search.answer("bread", 1)
    assert not answer.indexed
    assert places(answer) == ["other.c:1-1"]
    assert answer.remarks
    search.index()
    assert search.answer("bread", 1).indexed


@pytest.mark.parametrize("indexed", [False, True])
def test_links_that_lead_out_and_hidden_files_are_not_searched(search: FolderSearch, indexed: bool) -> None:
    secret = search.folder.parent / "secret.py"
    secret.write_text("def red_owl(): pass\n")
    (search.folder / "link.py").symlink_to(secret)
    (search.folder / "outside").symlink_to(search.folder.parent)
    (search.folder / ".hidden.py").write_text("def red_owl(): pass\n")
    (search.folder / "nowhere.py").symlink_to(search.folder / "missing.py")
    if indexed:
        search.index()
    ids = {hit.id for hit in search.answer("red owl", 99).hits}
    assert ids <= {"code.py", "deep/notes.md", "other.c"}
    for path in ("link.py", "../secret.py", str(secret), ".hidden.py", "outside/secret.py", "deep", ""):
        with pytest.raises(KeyError):
            search.read(path)


def test_files_that_are_no_text(search: FolderSearch, tmp_path: Path) -> None:
    (search.folder / "binary.py").write_bytes(bytes(range(256)) * 10)
    (search.folder / "empty.py").write_bytes(b"")
    (search.folder / "long.py").write_text("x = 'red fox'; " * 20_000)
    answer = search.answer("red fox", 99)
    assert {hit.id for hit in answer.hits} == {"long.py"}  # its passages are the best 100
    with pytest.raises(FileNotFoundError):
        FolderSearch(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError):
        FolderSearch(search.folder / "code.py")
