"""Manuals of several formats are found by 35 questions, and the headings, pages and lines of hits are right.

Places are checked by other programs: `pdftotext` (or pypdfium2 where it is not installed), `grep` and `sed`, and by
what the files were made from.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pypdfium2
import pytest

from maxsieve.text import OnnxEncoder
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.sync.folder_sync import FolderSync
from text.manuals import QUESTIONS, Block, idle_help, words, write_manuals

pytestmark = pytest.mark.full

TOP, SAMPLE = 3, 50
LEAST_FIRST, LEAST_TOP = 16, 23
"""Of 35 questions, 18 and 26 with the manuals of Python 3.11; BM25 has 15 and 18. Other versions differ in words."""


class Searched(NamedTuple):
    folder: Path
    contents: dict[str, list[Block]]
    collection: Collection
    found: list[TextHits]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory, minilm: OnnxEncoder) -> Iterator[Searched]:
    if idle_help() is None:
        pytest.skip("this Python has no idlelib/help.html: Debian has it in the package idle")
    folder = tmp_path_factory.mktemp("manuals")
    contents = write_manuals(folder)
    with Collection.create(tmp_path_factory.mktemp("collections") / "manuals.ms", minilm) as collection:
        assert FolderSync(collection, folder).run().added == len(contents)
        found = collection.search_many([question for question, _, _ in QUESTIONS], TOP, by="passage")
        yield Searched(folder, contents, collection, found)


def test_every_answer_is_in_its_manual(searched: Searched) -> None:
    for question, name, answer in QUESTIONS:
        assert is_within(answer, " ".join(block.text for block in searched.contents[name])), question
    assert len({question for question, _, _ in QUESTIONS}) == 35


def test_more_is_found_than_by_bm25(searched: Searched, capsys: pytest.CaptureFixture[str]) -> None:
    collection = searched.collection
    snapshot = collection.index.storage.snapshot
    late, lexical = [], []
    for (question, name, answer), hits in zip(QUESTIONS, searched.found, strict=True):
        late.append([hit.id == name and is_within(answer, hit.text) for hit in hits])
        keys = collection.bm25.best(question, TOP, None, snapshot, collection.keys.flat)
        texts = [(collection.keys.document(key), collection.index.metadata(key)["text"]) for key in keys]
        lexical.append([id == name and is_within(answer, text) for id, text in texts])
    late_first, late_top = count(late)
    first, top = count(lexical)
    with capsys.disabled():
        print(f"\n35 questions: late interaction {late_first} first, {late_top} in {TOP}; BM25 {first} and {top}")
    assert late_first >= max(first, LEAST_FIRST)
    assert late_top >= max(top, LEAST_TOP)


def test_headings_pages_and_lines_are_right(searched: Searched) -> None:
    """Of a sample of hits. Every format is in it."""
    hits = [(found, rank) for found in searched.found for rank in range(len(found))]
    chosen = np.random.default_rng(0).permutation(len(hits))[:SAMPLE]
    assert len(chosen) == SAMPLE
    suffixes = set()
    for number in chosen:
        found, rank = hits[number]
        path = searched.folder / str(found[rank].id)
        suffixes.add(path.suffix)
        check_heading(found, rank, searched.contents[path.name])
        if path.suffix == ".pdf":
            check_pages(found, rank, path)
        elif path.suffix in (".md", ".rst"):
            check_lines(found, rank, path)
        else:
            assert (found[rank].page, found[rank].line) == (None, None)
    assert suffixes == {".pdf", ".md", ".rst", ".html", ".docx"}


def count(answered: list[list[bool]]) -> tuple[int, int]:
    """How many questions the first hit answers, and how many any hit."""
    return sum(one[:1] == [True] for one in answered), sum(map(any, answered))


def is_within(part: str, text: str) -> bool:
    """Whether the words of a part follow each other in a text."""
    return f" {' '.join(words(part))} " in f" {' '.join(words(text))} "


def matched_line(hits: TextHits, rank: int) -> str:
    """The line of the passage with the best-matching words."""
    text, place = hits.texts[rank].replace("\f", "\n"), hits.place(rank)
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : len(text) if end < 0 else end]


def check_heading(hits: TextHits, rank: int, blocks: list[Block]) -> None:
    """The headings above the match are those above the same words in what the file was made from."""
    passage, place = words(hits.texts[rank]), len(words(hits.texts[rank][: hits.place(rank)]))
    source = [(word, number) for number, block in enumerate(blocks) for word in words(block.text)]
    plain = [word for word, _ in source]
    starts = [at for at in range(len(plain)) if plain[at : at + len(passage)] == passage]
    assert starts, hits.texts[rank]
    expected = []
    for start in starts:
        above: dict[int, str] = {}
        for block in blocks[: source[start + place][1] + 1]:
            if block.level:
                above = {level: title for level, title in above.items() if level < block.level}
                above[block.level] = " ".join(block.text.split())
        expected.append(" > ".join(above.values()))
    assert any(hits[rank].heading.endswith(one) and one for one in expected), (hits[rank].heading, expected)


def check_pages(hits: TextHits, rank: int, path: Path) -> None:
    """The match is on its page, and the passage begins and ends on those that it names."""
    hit, pages = hits[rank], hits[rank].passage.pages
    assert hit.page is not None
    assert pages is not None
    lines = hit.text.strip().replace("\f", "\n").splitlines()
    for page, line in ((hit.page, matched_line(hits, rank)), (pages[0], lines[0]), (pages[1], lines[-1])):
        assert is_within(line, page_text(path, page)), (page, line)
    assert pages[0] <= hit.page <= pages[1]


def page_text(path: Path, page: int) -> str:
    if shutil.which("pdftotext"):
        return output("pdftotext", "-f", str(page), "-l", str(page), str(path), "-")
    with pypdfium2.PdfDocument(path) as document:
        return str(document[page - 1].get_textpage().get_text_range())


def check_lines(hits: TextHits, rank: int, path: Path) -> None:
    """`grep` finds the matched line at its number, `sed` prints the passage from its first to its last line."""
    hit, lines = hits[rank], hits[rank].passage.lines
    assert lines is not None
    assert hit.line is not None
    numbered = output("grep", "-nF", "-e", matched_line(hits, rank), str(path)).splitlines()
    assert str(hit.line) in [line.split(":")[0] for line in numbered]
    assert lines[0] <= hit.line <= lines[1]
    printed = output("sed", "-n", f"{lines[0]},{lines[1]}p", str(path))
    assert hit.text.strip() in printed
    assert hit.text.strip().count("\n") == printed.strip("\n").count("\n")


def output(*command: Any) -> str:
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
