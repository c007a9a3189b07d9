"""Which files of a folder are read, and what is said of the others; encodings; facts about files as metadata."""

from __future__ import annotations

import email.message
import io
import json
import os
import zipfile
from pathlib import Path

import openpyxl
import pytest

from maxsieve.text.inputs.decoding import decode_text
from maxsieve.text.inputs.document import BadInput, Fields, InputDocument
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.kinds import LARGEST_DATA
from maxsieve.text.inputs.messages import read_message, read_notebook
from maxsieve.text.inputs.office import read_book, read_opendocument, read_sheets, read_slides
from maxsieve.text.inputs.reading import DocumentReader, Input
from maxsieve.text.inputs.survey import survey


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def names(folder: Path, *include: str) -> list[str]:
    return [file.id for file in survey(folder, include=include).files]


def test_what_is_taken_and_what_is_said_of_the_rest(tmp_path: Path) -> None:
    write(tmp_path, a_md="x", b_rst="x", c_py="x", d_conf="x", e_conf="x", f_bin="x", node__g_js="x")
    (tmp_path / "node").rename(tmp_path / "node_modules")
    (tmp_path / "big.csv").write_bytes(b"x" * (LARGEST_DATA + 1))
    (tmp_path / "app.min.js").write_text("x")
    assert names(tmp_path) == ["a.md", "b.rst", "c.py"]
    said = survey(tmp_path).said
    assert said[0] == "3 files are of other kinds: 2 .conf, 1 .bin"
    assert "2 files and folders are left out" in said[1]
    assert "big.csv: it has 1,048,577 bytes" in said[2]
    assert names(tmp_path, "*.conf", "big.csv") == ["a.md", "b.rst", "big.csv", "c.py", "d.conf", "e.conf"]


def test_gitignore_is_followed(tmp_path: Path) -> None:
    write(tmp_path, a_md="x", b_md="x", build__c_md="x", docs__d_md="x", docs__e_md="x")
    (tmp_path / ".gitignore").write_text("b.md\n/build/\n")
    (tmp_path / "docs" / ".gitignore").write_text("*\n!d.md\n")
    assert names(tmp_path) == ["a.md", "docs/d.md"]
    assert names(tmp_path, "b.md") == ["a.md", "b.md", "docs/d.md"]


def test_a_hostile_gitignore_is_no_reason_to_fail(tmp_path: Path) -> None:
    write(tmp_path, a_md="x")
    os.mkfifo(tmp_path / ".gitignore")
    assert names(tmp_path) == ["a.md"]


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        ("café".encode(), "café", None),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "café", None),
        ("café".encode("utf-16"), "café", "utf-16"),
        (b"# coding: koi8-r\n\xcc\xc9\xd3\xc1", "# coding: koi8-r\n\u043b\u0438\u0441\u0430", "koi8-r"),
        (b'<?xml version="1.0" encoding="iso-8859-1"?>\ncaf\xe9', None, "iso-8859-1"),
    ],
)
def test_text_is_read_as_it_declares(content: bytes, text: str | None, encoding: str | None) -> None:
    found = decode_text(content)
    assert found[1] == encoding
    assert text is None or found[0] == text


def test_the_encoding_is_detected_and_said(tmp_path: Path) -> None:
    sentence = "Der Bär trägt Äpfel über die große Brücke, und die Füße tun ihm weh. "
    (tmp_path / "a.txt").write_bytes((sentence * 20).encode("latin-1"))
    reader = DocumentReader([Input(str(tmp_path))], Fields())
    [document] = list(reader)
    assert document.text == sentence * 20
    assert list(reader.encodings) == [str(tmp_path / "a.txt")]


@pytest.mark.parametrize("content", [b"a\0b", b"\xff\x01\x02"])
def test_binary_is_no_text(content: bytes) -> None:
    with pytest.raises(ValueError, match="binary"):
        decode_text(content)


def test_a_bad_file_is_skipped_and_named(tmp_path: Path) -> None:
    write(tmp_path, a_md="x", c_txt="y")
    (tmp_path / "b.pdf").write_bytes(b"no PDF")
    reader = DocumentReader([Input(str(tmp_path))], Fields())
    assert [document.id for document in reader] == ["a.md", "c.txt"]
    assert (reader.bad, [problem.place.source for problem in reader.problems]) == (1, [str(tmp_path / "b.pdf")])
    with pytest.raises(BadInput, match=r"b\.pdf"):
        list(DocumentReader([Input(str(tmp_path))], Fields(), strict=True))


def test_facts_are_metadata(tmp_path: Path) -> None:
    write(tmp_path, docs__a_md="# Tea")
    os.utime(tmp_path / "docs" / "a.md", (0, 86400))
    [document] = DocumentReader([Input(str(tmp_path), prefix="x/")], Fields())
    assert document.metadata == {
        **{"path": "x/docs/a.md", "folder": "x/docs", "name": "a.md", "type": "md"},
        **{"modified": "1970-01-02T00:00:00Z", "size": 5},
    }


# Formats


def zipped(**parts: str) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return buffer


def test_notebooks() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tea\n", "hot"]},
        {"cell_type": "code", "source": "# no heading\nx = 1", "outputs": [{"text": "SECRET"}]},
    ]
    found = read_notebook(io.BytesIO(json.dumps({"cells": cells}).encode()))
    assert found.text == "# Tea\nhot\n\n```\n# no heading\nx = 1\n```"
    assert [heading.title for heading in found.headings] == ["Tea"]
    for broken in (b"[]", b'{"cells": 7}'):
        with pytest.raises(ValueError, match="no cells"):
            read_notebook(io.BytesIO(broken))


def test_messages() -> None:
    message = email.message.EmailMessage()
    message["Subject"], message["From"], message["To"] = "Tea", "a@example.org", "b@example.org"
    message.set_content("It is hot.")
    message.add_alternative("<p>It is hot.", subtype="html")
    message.add_attachment(b"SECRET", maintype="application", subtype="octet-stream", filename="tea.bin")
    found = read_message(io.BytesIO(message.as_bytes()))
    assert found.text == "# Tea\n\nFrom: a@example.org\nTo: b@example.org\n\nIt is hot.\n\nAttachments: tea.bin"
    assert found.title == "Tea"


def test_slides_are_pages() -> None:
    slide = (
        '<p:sld xmlns:p="p" xmlns:a="a"><p:sp>'
        '<p:nvSpPr><p:ph type="title"/></p:nvSpPr><a:p><a:r><a:t>{}</a:t></a:r></a:p>'
        "</p:sp><p:sp><a:p><a:r><a:t>is</a:t></a:r><a:r><a:t> hot</a:t></a:r></a:p></p:sp></p:sld>"
    )
    slides = {"ppt__slides__slide10_xml": slide.format("Ten"), "ppt__slides__slide2_xml": slide.format("Two")}
    found = read_slides(zipped(**slides))
    assert found.text == "# Two\n\nis hot\f# Ten\n\nis hot"
    assert [found.text[heading.start :][:5] for heading in found.headings] == ["# Two", "# Ten"]


def test_opendocument() -> None:
    content = (
        '<c xmlns:text="t" xmlns:table="s"><text:h text:outline-level="2">Tea</text:h>'
        "<text:p>It <text:s/>is hot.</text:p>"
        "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p>"
        "</table:table-cell></table:table-row></c>"
    )
    found = read_opendocument(zipped(content_xml=content))
    assert found.text == "## Tea\n\nIt is hot.\n\na | b"
    assert [(heading.level, heading.title) for heading in found.headings] == [(2, "Tea")]


def test_books() -> None:
    package = (
        '<package xmlns:dc="d"><metadata><dc:title>Fables</dc:title></metadata><manifest><item id="b" href="b.xhtml"/>'
        '<item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    parts = {
        "META-INF__container_xml": '<c><rootfiles><rootfile full-path="o/p.opf"/></rootfiles></c>',
        "o__p_opf": package,
        "o__a_xhtml": "<h1>One</h1><p>fox",
        "o__b_xhtml": "<h1>Two</h1><p>owl",
    }
    found = read_book(zipped(**parts))
    assert (found.text, found.title) == ("# One\n\nfox\n\n# Two\n\nowl", "Fables")
    assert [found.text[heading.start :][:5] for heading in found.headings] == ["# One", "# Two"]


def test_sheets() -> None:
    book = openpyxl.Workbook()
    book.active.title = "Teas"
    for row in (["name", "minutes"], ["green", 2], [None, None], ["black", 4]):
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    found = read_sheets(buffer)
    assert found.text == "# Teas\n\nname | minutes\ngreen | 2\nblack | 4"
    assert [heading.title for heading in found.headings] == ["Teas"]


BOMB = '<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><c xmlns:text="t"><text:p>&b;</text:p></c>'


def test_entities_are_not_expanded_and_archives_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "aaaa" not in read_opendocument(zipped(content_xml=BOMB)).text
    huge = zipped(content_xml=" " * ((1 << 28) + 1))
    for name in ("a.odt", "a.pptx", "a.epub", "a.xlsx"):
        (tmp_path / name).write_bytes(huge.getvalue())
        with IsolatedReader() as reader:
            found = read_file(tmp_path / name, name, reader)
        assert isinstance(found, BadInput)
        assert "decompresses to" in str(found)
    outside = {
        "META-INF__container_xml": '<c><rootfile full-path="p.opf"/></c>',
        "p_opf": '<p><item id="a" href="../../etc/passwd"/><itemref idref="a"/></p>',
    }
    assert read_book(zipped(**outside)).text == ""
    monkeypatch.setattr("maxsieve.text.inputs.office.MOST_CELLS", 5)
    book = openpyxl.Workbook()
    book.active.append(["x"] * 10)
    buffer = io.BytesIO()
    book.save(buffer)
    with pytest.raises(ValueError, match="5 cells"):
        read_sheets(buffer)


def test_other_kinds_are_read_as_text_if_asked_for(tmp_path: Path) -> None:
    write(tmp_path, a_conf="# set\nx = 1")
    [document] = DocumentReader([Input(str(tmp_path), include=("*.conf",))], Fields())
    assert isinstance(document, InputDocument)
    assert (document.id, document.text) == ("a.conf", "# set\nx = 1")


def test_each_file_is_examined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts, not times: a tree may have thousands of files."""
    for number in range(30):
        (tmp_path / "notes" / str(number % 3)).mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / str(number % 3) / f"{number}.md").write_text("text")
    examined: list[str] = []
    for name in ("stat", "lstat"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda path, *given, real=real, **by: examined.append(str(path)) or real(path, *given, **by)
        )
    files = survey(tmp_path / "notes", inside=True).files
    assert sorted(examined) == sorted(file.path for file in files)
    assert len(files) == 30
