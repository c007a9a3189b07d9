"""Questions about the files of a folder, with and without a collection in the cache."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from cli.tiny_model import write_tiny_model
from maxsieve.text import OnnxEncoder, rerank
from maxsieve.text.grep import folder_search
from maxsieve.text.grep.folder_search import FolderSearch
from maxsieve.text.grep.line_answer import LineAnswer
from maxsieve.text.grep.order import by_both
from maxsieve.text.grep.pattern import Pattern

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
    only = search.answer("red fox river", 2, pattern=Pattern("def coffee|^Green"))
    assert only.hits
    assert all(re.search("(?m)def coffee|^Green", hit.text) for hit in only.hits)
    assert not search.answer("red fox river", pattern=Pattern("nowhere")).hits


@pytest.mark.parametrize("indexed", [False, True])
def test_functions_are_headings(search: FolderSearch, indexed: bool) -> None:
    if indexed:
        search.index()
    [hit] = [hit for hit in search.answer("how is a path split", 5).hits if "def splitPath" in hit.text]
    assert hit.heading == "splitPath"
    assert hit.text.startswith("def splitPath")
    [hit] = search.answer("bread", 9, types=["c"]).hits  # the whole file is one passage
    assert hit.heading == "bread"


@pytest.mark.parametrize("indexed", [False, True])
def test_a_pattern_without_end_is_refused(search: FolderSearch, indexed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (search.folder / "long.py").write_text("red = '" + "a" * 60 + "!'\n")
    if indexed:
        search.index()
    monkeypatch.setattr("maxsieve.text.grep.pattern.SECONDS", 0.05)
    with pytest.raises(ValueError, match="takes more than"):
        search.answer("red", pattern=Pattern("(a+)+[$]"))  # two to the power of 60 ways to match
    assert search.answer("red", pattern=Pattern("a+!")).hits
    with pytest.raises(ValueError, match="not valid"):
        Pattern("(")


def test_the_guarantee_says_what_was_searched(search: FolderSearch) -> None:
    assert "passages that BM25 selected from 3 files; no guarantee for other" in search.answer("red fox").guarantee
    assert search.answer("zebra").hits == []
    search.index()
    assert search.answer("red fox").guarantee.startswith("exact among ")


def test_order_by_tokens_and_as_a_whole(encoder: OnnxEncoder) -> None:
    texts = ["red fox by a river and a mountain path", "fox", "red river of tea", "bread"]
    question = "red fox river"
    hits = by_both(rerank(question, texts, encoder=encoder))
    [asked] = encoder.encode_queries([question])
    expected = []
    for rows in encoder.encode_documents(texts):
        means = asked.mean(axis=0), rows.mean(axis=0)
        whole = means[0] @ means[1] / np.prod([np.linalg.norm(mean) for mean in means])
        expected.append(float((asked @ rows.T).max(axis=1).mean() + whole))
    assert hits.ids == np.argsort(expected)[::-1].tolist()
    assert hits.ids != rerank(question, texts, encoder=encoder).ids
    np.testing.assert_allclose(hits.scores, sorted(expected, reverse=True), atol=1e-5)
    assert [hit.text for hit in hits] == [texts[int(id)] for id in hits.ids]


@pytest.mark.parametrize("indexed", [False, True])
def test_a_function_in_parts_is_named_once(search: FolderSearch, indexed: bool) -> None:
    (search.folder / "long.py").write_text("def red_fox():\n" + "    x = 'red fox and blue owl'\n" * 400)
    if indexed:
        search.index()
    hits = search.answer("red fox", 99).hits
    assert [hit.id for hit in hits].count("long.py") == 1
    assert len({(hit.id, hit.heading) for hit in hits}) == len(hits) > 1


@pytest.mark.parametrize("indexed", [False, True])
def test_answers_are_in_that_order(search: FolderSearch, indexed: bool) -> None:
    if indexed:
        search.index()
    best, few = search.answer("red fox river", 99), search.answer("red fox river", 2)
    scores = [hit.score for hit in best.hits]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= 2
    assert few.hits == best.hits[:2]


def test_models_for_late_interaction_are_ordered_by_it_alone(search: FolderSearch, encoder: OnnxEncoder) -> None:
    class Late:
        """Not an `OnnxEncoder`."""

        name, dim, fingerprint = "late", encoder.dim, encoder.fingerprint
        encode_documents, encode_queries = encoder.encode_documents, encoder.encode_queries

    answer = FolderSearch(search.folder, Late()).answer("red fox green river path", 3)
    assert answer.hits[0].score > 2  # a sum over tokens


@pytest.mark.filterwarnings("ignore::maxsieve.errors.StoreWarning")  # a truly large one is encoded before
def test_a_large_collection_is_calibrated(search: FolderSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    search.index()
    assert search.answer("red fox").guarantee.startswith("exact among ")
    monkeypatch.setattr(folder_search, "LARGE", 3)
    monkeypatch.setattr(folder_search, "DEPTH", 5)
    words = ("red", "blue", "owl", "tea", "path", "mountain", "bread", "coffee")
    for n in range(120):
        path = search.folder / f"{n}.md"
        path.write_text(f"The {words[n % 8]} fox and a {words[n // 8 % 8]} river at {n}.")
        os.utime(path, (1, 1))
    search.index()
    answer = search.answer("red fox", 3)
    assert answer.guarantee.startswith("calibrated on sentences: at least 99 % of the true top 5 passages")
    assert "the best 5 by late interaction" in answer.guarantee
    assert len(answer.hits) == 3
    assert search.answer("red fox", 3, types=["md"]).guarantee.startswith("exact among ")
    assert search.answer("red fox", 101).guarantee.startswith("exact among ")


def test_a_collection_without_sentences_stays_exact(search: FolderSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in [path for path in search.folder.rglob("*.*") if path.is_file()]:
        path.write_text("fox")
        os.utime(path, (1, 1))
    monkeypatch.setattr(folder_search, "LARGE", 3)
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
    (search.folder / "long.txt").write_text("x = 'red fox'; " * 20_000)
    (search.folder / "huge.py").write_text("x = 'red fox'\n" * 1_000_000)
    os.mkfifo(search.folder / "pipe.py")
    answer = search.answer("red fox", 99)
    assert {hit.id for hit in answer.hits} == {"long.txt"}  # its passages are the best 100
    [said] = answer.remarks
    assert all(f"{name} (" in said for name in ("binary.py", "huge.py", "pipe.py"))
    assert "empty.py" not in said
    assert search.answer("red fox", types=["md"]).remarks == []
    search.index()
    assert all(f"{name} (" in search.left_out[0] for name in ("binary.py", "huge.py", "pipe.py"))
    with pytest.raises(FileNotFoundError):
        FolderSearch(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError):
        FolderSearch(search.folder / "code.py")


def test_files_that_cannot_be_read_do_not_make_an_index_useless(
    search: FolderSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = search.folder / "bad.txt"
    bad.write_bytes(b"\0\1" * folder_search.SOON)
    os.utime(bad, (1, 1))
    assert search.index().bad == 1
    with monkeypatch.context() as patch:
        patch.setattr("maxsieve.text.sync.run.read_documents_of", None)  # nothing is read again
        assert search.answer("red fox").indexed
    assert search.index().bad == 1, "it is named each time"
    bad.write_text("A white zebra.")
    os.utime(bad, (2, 2))
    assert places(search.answer("white zebra", 1)) == ["bad.txt:1-1"]
    bad.unlink()
    assert "bad.txt" not in {hit.id for hit in search.answer("white zebra").hits}
    bad.write_bytes(b"\0\1" * folder_search.SOON)
    os.utime(bad, (3, 3))
    assert not search.answer("red fox").indexed
    search.index()
    bad.unlink()
    assert search.answer("red fox").indexed
