"""Headings come from the format of a file; a hit knows the heading, the page and the line of its best words."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from maxsieve.text.collection.answers import to_plain
from maxsieve.text.collection.collection import Collection
from maxsieve.text.inputs.columns import as_columns
from maxsieve.text.inputs.document import InputDocument
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.markup import latex_headings, markdown_headings, org_headings, rst_headings
from maxsieve.text.inputs.outline import Heading, Outline
from maxsieve.text.inputs.pdf import read_pdf
from maxsieve.text.inputs.webpage import read_webpage
from maxsieve.text.passages import Passage, Splitter, check_record, to_passage, to_record
from maxsieve.text.splitter import Sizes, split
from text.support import ShortSighted

from .made_files import make_pdf, with_outline
from .test_splitting import words

ROOT = Path(__file__).parents[2]
COMMENT = "# a comment of R"
WORDS = {"a": "yak", "b": "zebra", "c": "panda"}


def titles(headings: Sequence[Heading]) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in headings]


# Markdown and its relatives


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda page: page.stem)
def test_markdown_has_the_headings_that_commonmark_has(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    tokens = [token for token in MarkdownIt("commonmark").parse(text) if token.type == "heading_open"]
    expected = [(token.map[0] if token.map else -1, int(token.tag[1])) for token in tokens]
    assert [(text.count("\n", 0, found.start), found.level) for found in markdown_headings(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A #\n## B", [(1, "A"), (2, "B")]),
        ("#no\n####### no\n    # code", []),
        ("A\n===\nB\nc\n---\n", [(1, "A"), (2, "B c")]),
        ("- a\n---\n\n> b\n---\n\na | b\n\n---\n", []),
        ("---\ntitle: no\n---\n# A", [(1, "A")]),
        ("~~~\n# no\n```\n~~~\n# A", [(1, "A")]),
        ("<!--\n# no\n-->\n# A", [(1, "A")]),
        ("<pre>\n# no\n</pre>\n# A", [(1, "A")]),
        ("\r\n# A\r\ntext\r\n---\r\n", [(1, "A"), (2, "text")]),
    ],
)
def test_markdown(text: str, expected: list[tuple[int, str]]) -> None:
    assert titles(list(markdown_headings(text))) == expected


def test_restructuredtext() -> None:
    text = (
        "=====\n Tea\n=====\n\nGreen\n-----\n\nIt is\ngood\n----\n\n"
        "::\n\n  No\n  --\n\nBlack\n-----\n\nHow\n~~~\n== ==\na  b\n== ==\n"
    )
    assert titles(list(rst_headings(text))) == [(1, "Tea"), (2, "Green"), (2, "Black"), (3, "How")]


def test_org_and_latex() -> None:
    assert titles(list(org_headings("* A\n** DONE B :x:y:\ntext *bold*\n*bold*"))) == [(1, "A"), (2, "B")]
    text = (
        "\\chapter*{A}\n\\section[short]{B \\textbf{c}}\n%\\section{no}\n\\begin{verbatim}\\section{no}\\end{verbatim}"
    )
    assert titles(list(latex_headings(text))) == [(2, "A"), (3, "B c")]


# PDF


def test_a_comment_in_a_pdf_is_no_heading() -> None:
    assert read_pdf(io.BytesIO(make_pdf([f"The plot\n{COMMENT}\nx = 1", "more"]))).headings == []


def test_the_outline_of_a_pdf() -> None:
    pages = ["Tea\nby Aesop", "Tea\nGreen tea\nis not Black tea\nBlack tea\nis hot", "Tea\nHow to"]
    entries = [("Tea", 0, 720.0, None), ("Green  Tea", 1, 690.0, 0), ("Black tea", 1, 660.0, 0), ("gone", 2, 690.0, 0)]
    found = read_pdf(io.BytesIO(with_outline(make_pdf(pages), entries)))
    assert titles(found.headings) == [(1, "Tea"), (2, "Green Tea"), (2, "Black tea"), (2, "gone")]
    assert [found.text[heading.start :].partition("\n")[0] for heading in found.headings] == [
        *("Tea", "Green tea", "Black tea", "How to")
    ]
    assert [found.text.count("\f", 0, heading.start) for heading in found.headings] == [0, 1, 1, 2]


def test_an_outline_without_heights() -> None:
    content = with_outline(
        make_pdf(["One", "Two\nGreen tea\nhot"]), [("Green tea", 1, None, None), ("x", 0, None, None)]
    )
    found = read_pdf(io.BytesIO(content))
    assert [(found.text[heading.start : heading.start + 3], heading.title) for heading in found.headings] == [
        *(("One", "x"), ("Gre", "Green tea"))
    ]


def test_large_letters_are_headings() -> None:
    body = "\n".join(["some words of the text", COMMENT] * 6)
    pages = [f"Tea\nGreen\nand white\n{body}", f"Manual 1\n{body}\nBlack", f"Manual 2\n{body}", f"Manual 3\n{body}"]
    sizes = {"Tea": 24, "Green": 16, "and white": 16, "Black": 16, "Manual 1": 16, "Manual 2": 16, "Manual 3": 16}
    found = read_pdf(io.BytesIO(make_pdf(pages, size=lambda line: sizes.get(line, 10))))
    assert titles(found.headings) == [(1, "Tea"), (2, "Green and white"), (2, "Black")]
    assert all(found.text[heading.start :].startswith(heading.title.split()[0]) for heading in found.headings)


def test_much_code_in_small_letters_is_not_the_text() -> None:
    pages = ["Tea\nIt is made of leaves.\nboil(water)\npour(water, leaves)\nwait(minutes=3)", "And hot.\ndrink(tea)"]
    sizes = {"Tea": 18, "It is made of leaves.": 10, "And hot.": 10}
    found = read_pdf(io.BytesIO(make_pdf(pages, size=lambda line: sizes.get(line, 8))))
    assert titles(found.headings) == [(1, "Tea")]


def test_links_to_headings_are_no_part_of_them() -> None:
    page = '<h2>Tea<a class="headerlink" href="#tea">\u00b6</a></h2><p>See <a href="#hot">hot</a> or <a>\u00b6</a>.'
    found = read_webpage(io.BytesIO(page.encode()))
    assert (titles(found.headings), found.text) == ([(2, "Tea")], "## Tea\n\nSee hot or \u00b6.")


def test_slides_have_no_headings() -> None:
    sizes = {"Large words on a slide": 30}
    found = read_pdf(
        io.BytesIO(make_pdf(["Large words on a slide\nsmall print"] * 2, size=lambda line: sizes.get(line, 8)))
    )
    assert found.headings == []


# Other files


def test_a_paragraph_of_a_page_is_no_heading() -> None:
    found = read_webpage(io.BytesIO(b"<h2>Tea</h2><p># not a heading</p><h3>Green</h3>x"))
    assert found.headings == [Heading(0, 2, "Tea"), Heading(25, 3, "Green")]
    assert found.text[25:] == "### Green\n\nx"


@pytest.mark.parametrize(("name", "headings"), [("a.md", None), ("a.txt", ()), ("a.md.gz", None)])
def test_text_has_headings_if_it_is_markdown(tmp_path: Path, name: str, headings: object) -> None:
    import gzip

    content = b"# Licence\nx = 1"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with IsolatedReader() as reader:
        found = read_file(tmp_path / name, name, reader)
    assert isinstance(found, InputDocument)
    assert found.outline == Outline(headings, lines=True)  # type: ignore[arg-type]


# Hits


def test_the_place_of_the_best_words(tmp_path: Path) -> None:
    """Their heading, page and line, not those of the beginning of a passage."""
    filler = "nothing to see here at all. " * 2
    sections = [f"Part {name}\n{filler}\n{filler}\n{WORDS[name]} is the word." for name in WORDS]
    paged, lined = "\f".join(sections * 2), "\n".join(sections * 2)
    with Collection.create(tmp_path / "it", ShortSighted()) as collection:
        collection.add(
            [paged, lined, sections[0]],
            ["paged", "lined", "short"],
            outlines=[Outline(headings(paged)), Outline(headings(lined), lines=True), Outline((), lines=True)],
        )
        for n, (name, word) in enumerate(WORDS.items()):
            hits = {hit.id: hit for hit in collection.search(word)}
            for id, text in (("paged", paged), ("lined", lined)):
                hit = hits[id]
                at = hit.passage.start + hit.text.index(f"{word} is")
                assert hit.heading == f"Part {name}"
                assert hit.page == (text.count("\f", 0, at) + 1 if id == "paged" else None)
                assert hit.line == (text.count("\n", 0, at) + 1 if id == "lined" else None)
            assert hits["paged"].passage.lines is None
            first, last = hits["lined"].passage.lines or (0, 0)
            assert first <= (hits["lined"].line or 0) <= last
            assert n or (hits["short"].line, hits["short"].passage.lines, hits["short"].heading) == (4, (1, 4), "")
        plain = {hit["id"]: hit for hit in to_plain(collection.search("zebra"))["hits"]}
        assert plain["paged"]["page"] in (2, 5)
        first, last = plain["paged"]["passage"]["pages"]
        assert first <= plain["paged"]["page"] <= last
        assert "line" not in plain["paged"]
        assert plain["lined"]["heading"] == "Part b"


def headings(text: str) -> list[Heading]:
    starts = [start for start in range(len(text)) if text.startswith("Part ", start)]
    return [Heading(start, 1, text[start:].partition("\n")[0]) for start in starts]


def test_a_passage_counts_pages_and_lines_from_its_first_word() -> None:
    passage = Passage("\n\f\n one\ntwo\f\nthree\n\f", page=3, line=7)
    assert (passage.pages, passage.lines) == ((3, 4), (7, 9))
    assert [passage.page_at(passage.text.index(word)) for word in ("one", "two", "three")] == [3, 3, 4]
    assert [passage.line_at(passage.text.index(word)) for word in ("one", "two", "three")] == [7, 8, 9]
    assert (passage.page_at(0), passage.line_at(0)) == (3, 7)


def test_the_end_of_a_section_is_known() -> None:
    text = "def a():\n  one two three\n\nfour five six\n\ndef b():\n  seven\n"
    marks = ((text.index("def a"), "a"), (text.index("four"), ""), (text.index("def b"), "b"))
    found = split(
        text, Sizes(5, 5, 0), words, outline=Outline([Heading(at, 1, name) for at, name in marks], lines=True)
    )
    assert [(text[one.start :].split()[0], one.heading, one.line) for one in found] == [
        *(("def", "a", 1), ("four", "", 4), ("def", "b", 6))
    ]


def test_a_whole_document_has_its_sections() -> None:
    split_ = Splitter(Sizes(500, 256, 32), words)
    [whole] = split_("intro\n# Tea\nhot", {"title": "Drinks"})
    assert (whole.heading, whole.sections) == ("", ((6, "Drinks > Tea"),))
    assert (whole.heading_at(0), whole.heading_at(9)) == ("", "Drinks > Tea")
    assert whole.encoded == whole.text


def test_records_of_earlier_versions_are_read() -> None:
    old = {"text": "b\fc", "metadata": None, "passage": [3, 10, "Tea", 2]}
    assert to_passage(check_record(old, "a"), 1) == Passage("b\fc", 1, 3, 10, "Tea", 2)
    assert to_passage(check_record({"text": "b", "metadata": None}, "a"), 0) == Passage("b")
    for passage in (Passage("b\fc", 1, 3, 10, "Tea", 2), Passage("b", line=1), Passage("b", sections=((0, "A"),))):
        assert to_passage(check_record(to_record(passage, None), "a"), passage.number) == passage


def test_the_columns_of_documents_have_outlines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# no heading\n" + "word " * 100)
    with IsolatedReader() as reader, Collection.create(tmp_path / "it", ShortSighted()) as collection:
        found = read_file(tmp_path / "a.txt", "a.txt", reader)
        assert isinstance(found, InputDocument)
        collection.add(**as_columns([found], 1, str))
        hit = collection.search("heading")[0]
        assert (hit.heading, hit.line, hit.passage.of > 1) == ("", 1, True)
