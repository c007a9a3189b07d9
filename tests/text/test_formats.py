"""What is read from files of each format: text, pages, headings, titles. Files that are not documents are named."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import docx
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.text.inputs import json_array
from maxsieve.text.inputs.document import BadInput, Fields, FileText, InputDocument
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.json_array import read_json_array
from maxsieve.text.inputs.outline import Heading
from maxsieve.text.inputs.pdf import read_pdf
from maxsieve.text.inputs.reading import DocumentReader, Format, Input
from maxsieve.text.inputs.tables import find_delimiter
from maxsieve.text.inputs.webpage import decode_page, read_webpage
from maxsieve.text.inputs.word import read_word

from .made_files import make_docx, make_pdf, saved, with_part


def read(path: Path, *, skip_bad: bool = False, **options: Any) -> list[tuple[Any, ...]]:
    reader = DocumentReader([Input(str(path), **options)], Fields(), skip_bad=skip_bad)
    return [document[:3] for document in reader]


# PDF


def test_pdf_pages_are_joined_by_form_feeds() -> None:
    found = read_pdf(io.BytesIO(make_pdf(["The fox\nand the crow", "", "Page three"], "Fables")))
    assert found == FileText("The fox\nand the crow\f\fPage three", "Fables", [])


@pytest.mark.parametrize("title", ["", "Untitled", "Microsoft Word - draft7.doc", "fables.indd"])
def test_a_title_that_a_program_made_up_is_none(title: str) -> None:
    assert read_pdf(io.BytesIO(make_pdf(["fox"], title))).title == ""


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_encrypted_pdfs_are_read_if_anybody_may(algorithm: str) -> None:
    for password, readable in (("", True), ("secret", False)):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(make_pdf(["The fox"])))
        writer.encrypt(password, "owner", algorithm=algorithm)
        buffer = io.BytesIO()
        writer.write(buffer)
        if readable:
            assert read_pdf(buffer).text == "The fox"
        else:
            with pytest.raises(ValueError, match="encrypted"):
                read_pdf(buffer)


def test_a_pdf_that_is_wrong_about_the_length_of_a_stream() -> None:
    content = make_pdf(["The fox"])
    assert content.count(b"/Length 47") == 1
    assert read_pdf(io.BytesIO(content.replace(b"/Length 47", b"/Length 99"))).text == "The fox"


def test_a_scan_has_no_text() -> None:
    with pytest.raises(ValueError, match=r"\b2 pages.*\bOCR\b"):
        read_pdf(io.BytesIO(make_pdf(["", ""])))


# HTML

PAGE = """<!DOCTYPE html><html><head><title>  Foxes |
 Zoo </title><style>p {}</style><script>var x = "<p>no</p>"</script></head><body>
<nav><a href="/">Home</a></nav><div role="banner">Sign in</div>
<header><h1>Fo<b>x</b>es</h1></header>
<p>They eat   mice,<br>and <a href="x">grapes</a>.<!-- no --></p>
<ul><li>red</li><li>arctic<ul><li>white</li></ul></li></ul>
<h3>Food &amp; drink</h3>
<table><tr><th>When</th><th>What</th></tr><tr><td>Spring</td><td>mice</td></tr></table>
<pre><code># no heading
  x = 1</code></pre>
<div hidden>hidden</div><svg><title>icon</title></svg><button>Buy</button>
<article>Inside<footer>by Aesop</footer></article>
<footer>Imprint</footer></body></html>"""


def test_what_is_read_of_a_page() -> None:
    assert read_webpage(io.BytesIO(PAGE.encode())) == FileText(
        "# Foxes\n\nThey eat mice,\nand grapes.\n\n- red\n- arctic\n\n- white\n\n### Food & drink\n\n"
        "When | What\nSpring | mice\n\n```\n# no heading\n  x = 1\n```\n\nInside\n\nby Aesop",
        "Foxes | Zoo",
        [Heading(0, 1, "Foxes"), Heading(62, 3, "Food & drink")],
    )


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<title>A</title><p>b", "# A\n\nb"),
        ("<title>A</title><h1>A</h1><p>b", "# A\n\nb"),
        ("<title>A</title><h1>Other</h1>", "# A\n\n# Other"),
        ("<title>A</title>", "# A"),
        ("<p>b", "b"),
        ("just text", "just text"),
        ("", ""),
        ("<h2></h2><p>b<h2>c<br>d</h2>e", "b\n\n## c\nd\n\ne"),
        ("<p>menu<main><p>b</main>imprint", "b"),
        ("<p>menu<div role=main>b</div>", "b"),
        ("<p>a<main></main>", "a"),
        ("<main>a</main><main>b</main>", "a\n\nb"),
        ("<p>a<p>b</span><table><td>c", "a\n\nb\n\nc"),
    ],
)
def test_titles_and_broken_pages(page: str, text: str) -> None:
    assert read_webpage(io.BytesIO(page.encode())).text == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"caf\xc3\xa9", "café"),
        (b"caf\xe9", "café"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
        ("café".encode("utf-16"), "café"),
        (b'<meta charset="iso-8859-1">\x93fox\x94', "“fox”"),
        (b"<meta http-equiv=x content='text/html; charset=windows-1251'>\xeb\xe8\xf1\xe0", "лиса"),
        (b'<meta charset="utf-8">caf\xe9', "caf\ufffd"),
        (b'<meta charset="unicode_escape">\\u0041', "\\u0041"),
        (b'<meta charset="idna">caf\xc3\xa9', "café"),
        (b'<meta charset="windows-9999">caf\xc3\xa9', "café"),
    ],
)
def test_the_encoding_of_a_page(content: bytes, text: str) -> None:
    assert decode_page(content).rpartition(">")[2] == text


@given(st.text(alphabet=st.sampled_from("<>/&;=\"' aphdiv123!-\x00é"), max_size=200))
def test_any_page_gives_text_without_scripts(page: str) -> None:
    found = read_webpage(io.BytesIO(f"{page}<script>SECRET</script>".encode()))
    if "<!" not in page and "<" not in page:
        assert "SECRET" not in found.text
    assert "\n\n\n" not in found.text


# Word


def test_what_is_read_of_a_word_document() -> None:
    assert read_word(io.BytesIO(make_docx("In its properties"))) == FileText(
        "# Of foxes\n\n# Food\n\nMice and\ngrapes.\n\n## By season\n\n"
        "Spring | mice\nAutumn | grapes, sour unripe\n\n- one",
        "Of foxes",
        [Heading(0, 1, "Of foxes"), Heading(12, 1, "Food"), Heading(38, 2, "By season")],
    )


def test_the_title_of_a_word_document() -> None:
    document = docx.Document()
    document.add_paragraph("fox")
    document.core_properties.title = "Fables"
    assert read_word(io.BytesIO(saved(document))) == FileText("fox", "Fables", [])


def test_tracked_changes_content_controls_and_text_boxes() -> None:
    spaces = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p>"
        "</w:txbxContent></mc:Choice><mc:Fallback><w:p><w:r><w:t>boxed</w:t></w:r></w:p></mc:Fallback>"
        "</mc:AlternateContent></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    part = f"<w:document {spaces}><w:body>{body}</w:body></w:document>".encode()
    content = with_part(make_docx(), "word/document.xml", part)
    assert read_word(io.BytesIO(content)).text == "kept inserted\n\nin a control\n\nboxed"


# All of them


def test_a_folder_of_all_kinds(tmp_path: Path) -> None:
    for name, content in (
        ("a.pdf", make_pdf(["The fox"], "Fables")),
        ("b.html", b"<title>Owls</title><p>They see."),
        ("c.HTM", b"<p>no title"),
        ("d.docx", make_docx()),
        ("e.md", b"# Tea"),
        ("f.txt", b"plain"),
        ("g.unknown", b"unknown"),
        ("h.py", b"# no heading"),
    ):
        (tmp_path / name).write_bytes(content)
    found = read(tmp_path)
    assert [(one, metadata.get("title"), metadata["type"]) for one, _, metadata in found] == [
        ("a.pdf", "Fables", "pdf"),
        ("b.html", "Owls", "html"),
        ("c.HTM", None, "htm"),
        ("d.docx", "Of foxes", "docx"),
        ("e.md", None, "md"),
        ("f.txt", None, "txt"),
        ("h.py", None, "py"),
    ]
    assert Input(str(tmp_path)).count() == 7
    assert Input(str(tmp_path)).survey().other == {"unknown": 1}
    [(one, text, metadata)] = read(tmp_path / "a.pdf")
    assert (one, text, metadata["title"]) == (str(tmp_path / "a.pdf"), "The fox", "Fables")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("it.pdf", b"no PDF", "can't be read as a PDF: "),
        ("it.pdf", b"", "can't be read as a PDF: "),
        ("it.pdf", make_pdf(["fox"])[:300], "can't be read as a PDF: "),
        ("it.pdf", make_pdf([""]), "if it is a scan"),
        ("it.docx", b"no archive", "can't be read as a Word document: "),
        ("it.docx", make_docx()[:-500], "can't be read as a Word document: "),
        ("it.docx", with_part(make_docx(), "word/document.xml", b"<w:document"), "can't be read as a Word document: "),
        ("it.txt.gz", gzip.compress(b"fox", mtime=0)[:-9], "can't be read as gzip"),
        ("it.txt.gz", gzip.compress(b"\xff\0", mtime=0), "binary"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with IsolatedReader() as reader:
        found = read_file(tmp_path / name, "it", reader)
        assert isinstance(found, BadInput)
        assert str(found).startswith(f"{tmp_path / name}: ")
        assert why in str(found)
        (tmp_path / "good.html").write_text("<p>fox")
        after = read_file(tmp_path / "good.html", "good", reader)
        assert isinstance(after, InputDocument)
        assert after.text == "fox"


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "pypdf.py").write_text("raise ModuleNotFoundError('no', name='pypdf')")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "shadow"), *sys.path])
    (tmp_path / "a.pdf").write_bytes(make_pdf(["fox"]))
    with pytest.raises(BadInput, match=r"a\.pdf: .*pypdf.*maxsieve\[files\]"):
        read(tmp_path / "a.pdf")


# JSON arrays

ROWS = [{"id": f"d{i}", "text": f"fox {i} é", "n": [i, {"deep": "]},"}]} for i in range(300)]
DOCUMENTS = [(row["id"], row["text"], {"n": row["n"]}) for row in ROWS]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_a_json_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, size: int) -> None:
    monkeypatch.setattr(json_array, "READ", size)
    (tmp_path / "it.json").write_bytes(
        b"\xef\xbb\xbf \n" + json.dumps(ROWS, indent=indent, ensure_ascii=False).encode()
    )
    assert read(tmp_path / "it.json") == DOCUMENTS
    assert Input(str(tmp_path / "it.json")).count() is None


def test_a_json_file_may_be_lines(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text("\n".join(map(json.dumps, ROWS)))
    assert read(tmp_path / "it.json") == DOCUMENTS
    (tmp_path / "empty.json").write_text("[ ]\n")
    assert read(tmp_path / "empty.json") == []


def test_standard_input_can_be_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(ROWS).encode())))
    reader = DocumentReader([Input("-", Format.JSON)], Fields(), skip_bad=False)
    assert [document[:3] for document in reader] == DOCUMENTS


@pytest.mark.parametrize(
    ("content", "good", "why"),
    [
        ('[{"text": "a"}, 7, {"text": "b"}]', 2, "item 2: a JSON object is expected, not a number"),
        ('[{"text": "a"}, {"body": "b"}, {"text": "c"}]', 2, "item 2: there is no field 'text'"),
        ('[{"text": "a"}, {"text": "b", "n": NaN}, {"text": "c"}]', 2, "item 2: not JSON: NaN"),
        (
            '[{"text": "a"}, {"text": }, {"text": "c"}]',
            1,
            "item 2: not JSON: Expecting value at character 10 of it",
        ),
        ('[{"text": "a"}, {"text": "b"', 1, "item 2: not JSON: "),
        ('[{"text": "a"} {"text": "b"}]', 1, "item 2: not JSON: ',' is expected, not '{', and the rest is not read"),
        ('[{"text": "a"}', 1, "item 2: not JSON: ',' is missing at the end"),
        ('[{"text": "a"}] x', 1, "item 2: not JSON: the array has ended, but 'x' follows"),
        ('[{"text": "a"},]', 1, "item 2: not JSON: Expecting value"),
        ("[" * 100_000, 0, "item 1: not JSON: "),
        (b'[{"text": "a"}, {"text": "\xff"}]', 0, "item 1: not UTF-8"),
    ],
)
def test_bad_items(tmp_path: Path, content: str | bytes, good: int, why: str) -> None:
    (tmp_path / "it.json").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BadInput) as refused:
        read(tmp_path / "it.json")
    assert f"it.json, {why}" in str(refused.value)
    assert len(read(tmp_path / "it.json", skip_bad=True)) == good


def test_an_endless_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_array, "LONGEST_LINE", 1 << 20)

    class Endless(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            self.taken += size
            return b'[{"text": "' if self.taken == size else b"x" * size

    file = Endless()
    [bad] = read_json_array(file, "it", Fields())
    assert "longer than 1048576 characters, or broken" in str(bad)
    assert file.taken < 1 << 23


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b"]), json_values), max_size=5), st.integers(1, 9), st.booleans()
)
def test_any_array_is_read_as_json_reads_it(rows: list[dict[str, Any]], size: int, ascii_only: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "READ", size)
        given_rows = [{**row, "text": "x"} for row in rows]
        content = json.dumps(given_rows, ensure_ascii=ascii_only).encode()
        found = list(read_json_array(io.BytesIO(content), "it", Fields()))
    expected = [{name: value for name, value in row.items() if value is not None} or None for row in rows]
    assert [one.metadata for one in found if isinstance(one, InputDocument)] == expected


# gzip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("it.jsonl.gz", "\n".join(map(json.dumps, ROWS))),
        ("it.NDJSON.GZ", "\n".join(map(json.dumps, ROWS))),
        ("it.json.gz", json.dumps(ROWS)),
    ],
)
def test_compressed_lines(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content.encode()))
    assert read(tmp_path / name) == DOCUMENTS
    assert Input(str(tmp_path / name)).count() is None


def test_compressed_tables_and_texts(tmp_path: Path) -> None:
    (tmp_path / "it.csv.gz").write_bytes(gzip.compress(b"id;text\na;fox\n"))
    (tmp_path / "it.tsv.gz").write_bytes(gzip.compress(b"id\ttext\na\tfox\n"))
    (tmp_path / "it.md.gz").write_bytes(gzip.compress(b"# Fox"))
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"fox\nowl\n"))
    assert read(tmp_path / "it.csv.gz") == read(tmp_path / "it.tsv.gz") == [("a", "fox", None)]
    [(one, text, metadata)] = read(tmp_path / "it.md.gz")
    assert (one, text, metadata["type"]) == (str(tmp_path / "it.md.gz"), "# Fox", "md")
    assert [text for _, text, _ in read(tmp_path / "it.gz", format=Format.LINES)] == ["fox", "owl"]


@pytest.mark.parametrize("name", ["it.jsonl.gz", "it.json.gz"])
def test_a_file_that_is_cut_off(tmp_path: Path, name: str) -> None:
    content = gzip.compress(json.dumps(ROWS).encode() if name == "it.json.gz" else b'{"text": "a"}\n' * 9)
    (tmp_path / name).write_bytes(content[:-12])
    with pytest.raises(ValueError, match=f"{name}.*gzip"):
        read(tmp_path / name)


# CSV


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("id,text", ","),
        ("id;text;a,b", ";"),
        ("id\ttext", "\t"),
        ("id|text", "|"),
        ("text", ","),
        ('"a;text;b",text', ","),
        ('"id";"text"', ";"),
        (" id ; text ", ";"),
        ("id;body", ","),
        ('"', ","),
        ("", ","),
    ],
)
def test_the_header_tells_the_delimiter(header: str, delimiter: str) -> None:
    assert find_delimiter(header + "\n", Fields()) == delimiter


def test_a_delimiter_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "it.csv").write_text("id~text\na~red, blue\n")
    assert read(tmp_path / "it.csv", delimiter="~") == [("a", "red, blue", None)]
    (tmp_path / "it.csv").write_text('\n\nid|text\na|"red|\nblue"\n')
    assert read(tmp_path / "it.csv") == [("a", "red|\nblue", None)]
    with pytest.raises(ValueError, match=r"CSV.*delimiter"):
        Input(str(tmp_path), delimiter=";")


def test_an_interrupted_question_leaves_no_answer_behind(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text(f"<p>{name}")
    with IsolatedReader() as reader:
        assert reader.read(tmp_path / "a.html", ".html").text == "a"
        assert reader._process is not None
        answers, reader._process.stdout = reader._process.stdout, Interrupted()
        with pytest.raises(KeyboardInterrupt):
            reader.read(tmp_path / "a.html", ".html")
        assert answers is not None
        answers.close()
        assert reader.read(tmp_path / "b.html", ".html").text == "b"


class Interrupted(io.BytesIO):
    """Ctrl-C comes while the process waits for an answer."""

    def readline(self, size: int | None = -1, /) -> bytes:
        raise KeyboardInterrupt
