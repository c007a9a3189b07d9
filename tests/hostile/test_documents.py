"""Files of others, made to use up whoever reads them: refused in bounded time and memory, and the next one is read."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maxsieve.text.inputs import BadInput, DocumentReader, Fields, Input, InputDocument
from maxsieve.text.inputs.compressed import read_compressed
from maxsieve.text.inputs.document import LARGEST_FILE
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.lines import LONGEST_LINE
from text.made_files import join_pdf, make_docx, make_pdf, with_part

MIB = 1 << 20
SPACES = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def xml(body: str, before: str = "") -> bytes:
    return f"{before}<w:document {SPACES}><w:body>{body}</w:body></w:document>".encode()


def word(body: str, before: str = "") -> bytes:
    return with_part(make_docx(), "word/document.xml", xml(body, before))


@pytest.fixture(scope="module")
def process() -> Iterator[IsolatedReader]:
    with IsolatedReader(seconds=5, memory=256 * MIB) as found:
        yield found


def refused(path: Path, content: bytes, process: IsolatedReader) -> str:
    """Why a file is refused; another one must be read afterwards."""
    path.write_bytes(content)
    found = read_file(path, "it", process)
    (path.parent / "good.html").write_text("<p>fox")
    good = read_file(path.parent / "good.html", "good", process)
    assert isinstance(good, InputDocument)
    assert good.text == "fox"
    return str(found) if isinstance(found, BadInput) else f"read: {found.text[:200]!r}"


def test_a_page_tree_with_more_pages_than_there_are_atoms(tmp_path: Path, process: IsolatedReader) -> None:
    levels = 30
    nodes = [f"<< /Type /Pages /Kids [{f'{i + 6} 0 R ' * 10}] /Count {10**9} >>" for i in range(levels)]
    page = "<< /Type /Page /MediaBox [0 0 9 9] >>"
    objects = ["<< /Type /Catalog /Pages 5 0 R >>", "<< >>", "<< >>", "<< >>", *nodes, page]
    said = refused(tmp_path / "it.pdf", join_pdf(objects), process)
    assert "reading it takes more than" in said or "can't be read" in said


def test_a_page_tree_in_a_circle(tmp_path: Path, process: IsolatedReader) -> None:
    objects = [
        "<< /Type /Catalog /Pages 5 0 R >>",
        *["<< >>"] * 3,
        "<< /Type /Pages /Kids [5 0 R 6 0 R] /Count 9 >>",
        "<< /Type /Pages /Kids [5 0 R] /Parent 5 0 R /Count 9 >>",
    ]
    said = refused(tmp_path / "it.pdf", join_pdf(objects), process)
    assert said.startswith(f"{tmp_path / 'it.pdf'}: ")


def test_a_stream_that_unpacks_to_gigabytes(tmp_path: Path, process: IsolatedReader) -> None:
    packed = zlib.compress(zlib.compress(b"BT " + b" " * (1 << 28), 9), 9).decode("latin-1")
    stream = f"<< /Filter [/FlateDecode /FlateDecode] /Length {len(packed)} >>\nstream\n{packed}\nendstream"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
        "<< >>",
        "<< >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 6 0 R >>",
        stream,
    ]
    assert "it.pdf: " in refused(tmp_path / "it.pdf", join_pdf(objects), process)


def test_a_document_that_unpacks_to_gigabytes(tmp_path: Path, process: IsolatedReader) -> None:
    buffer = io.BytesIO(make_docx())
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("word/bomb.xml", "w") as file:
        for _ in range(300):
            file.write(bytes(MIB))
    assert "it decompresses to 315," in refused(tmp_path / "it.docx", buffer.getvalue(), process)


def test_a_document_that_lies_about_its_size(tmp_path: Path, process: IsolatedReader) -> None:
    honest = with_part(make_docx(), "word/document.xml", xml("<w:p/>") + b" " * (64 * MIB))
    size = (len(xml("<w:p/>")) + 64 * MIB).to_bytes(4, "little")
    assert honest.count(size) == 2
    assert "can't be read as a Word document: " in refused(
        tmp_path / "it.docx", honest.replace(size, (100).to_bytes(4, "little")), process
    )


def test_a_document_of_very_many_files(tmp_path: Path, process: IsolatedReader) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for i in range(20_000):
            archive.writestr(str(i), b"")
    assert "it contains 20,000 files" in refused(tmp_path / "it.docx", buffer.getvalue(), process)


def test_entities_that_multiply_and_files_of_the_machine(tmp_path: Path, process: IsolatedReader) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "laugh">{entities}]>'
    said = refused(tmp_path / "it.docx", word("<w:p><w:r><w:t>&e11;</w:t></w:r></w:p>", bomb), process)
    assert len(said) < 1000
    outside = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    said = refused(tmp_path / "it.docx", word("<w:p><w:r><w:t>&e;</w:t></w:r></w:p>", outside), process)
    assert "SECRET" not in said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("it.html", lambda: b"<div>" * 500_000 + b"deep"),
        ("it.html", lambda: b"<b><a><p>" * 50_000 + b"deep"),
        ("it.html", lambda: b"<table><tr><td>" * 20_000 + b"deep"),
        ("it.html", lambda: b"<p " + b"a=1 " * 100_000 + b">x"),
        ("it.docx", lambda: word("<w:tbl><w:tr><w:tc>" * 100 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 100)),
        ("it.docx", lambda: word("<w:sdt>" * 100_000 + "</w:sdt>" * 100_000)),
        ("it.pdf", lambda: join_pdf([f"{'[' * 100_000}{']' * 100_000}", *["<< >>"] * 4])),
    ],
)
def test_deep_nesting(tmp_path: Path, process: IsolatedReader, name: str, content: Callable[[], bytes]) -> None:
    assert "crashed" not in refused(tmp_path / name, content(), process)


def test_a_file_that_takes_too_long(tmp_path: Path) -> None:
    pages = make_pdf(["x" * 200] * 3000)
    with IsolatedReader(seconds=0) as hurried:
        assert "reading it takes more than 0 seconds" in refused_once(tmp_path / "it.pdf", pages, hurried)


def test_a_file_that_takes_too_much_memory(tmp_path: Path) -> None:
    with IsolatedReader(memory=40 * MIB) as small:
        said = refused_once(tmp_path / "it.html", b"<i>x</i>" * 2_000_000, small)
    assert "reading it takes more than 40 MiB of memory" in said or "crashed" in said


def refused_once(path: Path, content: bytes, process: IsolatedReader) -> str:
    path.write_bytes(content)
    found = read_file(path, "it", process)
    assert isinstance(found, BadInput)
    return str(found)


@pytest.mark.parametrize("suffix", [".pdf", ".html", ".docx", ".txt.gz"])
@pytest.mark.parametrize("kind", ["pipe", "device", "huge", "nowhere", "folder"])
def test_what_is_no_file(tmp_path: Path, process: IsolatedReader, suffix: str, kind: str) -> None:
    path = tmp_path / f"evil{suffix}"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "nowhere":
        path.symlink_to("/no/such/file")
    elif kind == "folder":
        path.mkdir()
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    found = read_file(path, "it", process)
    assert isinstance(found, BadInput)
    assert str(found).startswith(f"{path}: ")


def test_what_is_printed_by_a_library_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "pypdf.py").write_text(
        "import os; print('{}', flush=True); os.write(1, b'{}\\n'); os.write(2, b'noise'); raise KeyError('odd')"
    )
    monkeypatch.syspath_prepend(tmp_path / "shadow")
    with IsolatedReader() as process:
        said = refused(tmp_path / "it.pdf", make_pdf(["x"]), process)
    assert "can't be read as a PDF: " in said
    assert "odd" in said


def test_a_library_that_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "pypdf.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.syspath_prepend(tmp_path / "shadow")
    with IsolatedReader() as process:
        assert "the library that reads it crashed" in refused(tmp_path / "it.pdf", make_pdf(["x"]), process)


def test_escape_sequences_in_what_is_said(tmp_path: Path, process: IsolatedReader) -> None:
    said = refused(tmp_path / "it.pdf", b"%PDF-1.4\n\x1b[31m\n\ttrailer" * 9, process)
    assert "\n" not in said


def test_a_page_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "it.html").write_bytes(b"x" * (LARGEST_FILE + 1))
    with IsolatedReader() as process:
        assert "it is larger than" in str(read_file(tmp_path / "it.html", "it", process))


# gzip


def test_a_line_without_end_inside_a_small_file(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "it.jsonl.gz", "wb") as file:
        for _ in range(LONGEST_LINE // MIB + 2):
            file.write(b"x" * MIB)
    assert (tmp_path / "it.jsonl.gz").stat().st_size < MIB
    with pytest.raises(BadInput, match=r"it\.jsonl\.gz, line 1: .*longer"):
        list(DocumentReader([Input(str(tmp_path / "it.jsonl.gz"))], Fields(), skip_bad=True))


def test_a_text_that_unpacks_to_too_much(tmp_path: Path) -> None:
    (tmp_path / "it.txt.gz").write_bytes(gzip.compress(b"x" * 10_000))
    assert len(read_compressed(tmp_path / "it.txt.gz", at_most=10_000)) == 10_000
    with pytest.raises(ValueError, match=r"it\.txt\.gz\b.*\b9999\b"):
        read_compressed(tmp_path / "it.txt.gz", at_most=9999)
