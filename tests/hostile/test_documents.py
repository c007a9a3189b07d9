"""Files made to exhaust their reader: they are refused in bounded time and memory, and the next file is read."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maxsieve.text.inputs import tables
from maxsieve.text.inputs.compressed import read_compressed
from maxsieve.text.inputs.document import LARGEST_FILE, MOST_VALUES, BadInput, Fields, InputDocument
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.lines import LONGEST_LINE
from maxsieve.text.inputs.reading import DocumentReader, Input
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
    """Why a file is refused. The next file must be read anyway."""
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
        ("it.html", lambda: b"<b><a><p>" * 50_000 + b"deep"),
        ("it.html", lambda: b"<section>" + b"<div>" * 1_900 + b"<footer>deep</footer>" * 50_000),
        ("it.html", lambda: b"<p " + b"a=1 " * 100_000 + b">x"),
        ("it.docx", lambda: word("<w:tbl><w:tr><w:tc>" * 100 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 100)),
        ("it.docx", lambda: word("<w:sdt>" * 100_000 + "</w:sdt>" * 100_000)),
        ("it.pdf", lambda: join_pdf([f"{'[' * 100_000}{']' * 100_000}", *["<< >>"] * 4])),
    ],
)
def test_deep_nesting(tmp_path: Path, process: IsolatedReader, name: str, content: Callable[[], bytes]) -> None:
    assert "crashed" not in refused(tmp_path / name, content(), process)


@pytest.mark.parametrize(
    "element",
    [
        b"<div>",
        b"<table><tr><td>",
        b"<BLOCKQUOTE class='</blockquote>'>",
        b"<div id=a title='x' data-x=\"</div>\">",
        b"<div><!--</div>-->",
        b"<div><!-->",
        b"<div><script>'</div>'</script>",
        b"<ul><li>",
    ],
)
def test_nested_elements_have_a_limit(tmp_path: Path, process: IsolatedReader, element: bytes) -> None:
    said = refused(tmp_path / "it.html", element * 500_000 + b"deep", process)
    assert said.endswith("its elements are nested more than 2,000 deep")
    end = b"</" + element[1:].partition(b">")[0].split()[0].lower() + b">"
    assert "deep" in refused(tmp_path / "it.html", element * 600 + b"deep" + end * 600, process)
    assert "read: '" in refused(tmp_path / "it.html", (element + b"deep" + end) * 5_000, process), "one by one"


@pytest.mark.parametrize(
    "forgotten", ["<p><font size=1>", "<li>", "<tr><td><b>", "<dt><i>", "<div><span></div>", "<br>"]
)
def test_a_page_whose_author_forgot_ends_is_read(tmp_path: Path, process: IsolatedReader, forgotten: str) -> None:
    assert "read: '" in refused(tmp_path / "it.html", f"{forgotten}fox ".encode() * 5_000, process)


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


# rows and columns


def documents_of(path: Path, content: bytes) -> list[InputDocument]:
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return list(DocumentReader([Input(str(path))], Fields(), skip_bad=True))


@pytest.mark.parametrize("filler", [b"x" * 50, b'x","y'])
def test_a_row_without_end_inside_a_small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filler: bytes) -> None:
    """Neither one long field nor many short ones: a quote at the end of each line continues the row."""
    monkeypatch.setattr(tables, "LONGEST_ROW", 10_000)
    good = b'id,text\na,"red\nfox"\n'
    with pytest.raises(BadInput, match=r"it\.csv\.gz, line 4: the row is longer than 10000 bytes"):
        documents_of(tmp_path / "it.csv.gz", good + b'b,"' + (filler + b"\n") * 10_000)
    long = good + b'b,"' + b"x" * 9_000 + b'"\n' + b'c,"' + b"y" * 9_000 + b'"\n'
    assert [found.id for found in documents_of(tmp_path / "it.csv", long)] == ["a", "b", "c"], (
        "rows count by themselves"
    )


def test_a_header_of_very_many_columns(tmp_path: Path) -> None:
    names = ",".join(map(str, range(200_000)))
    with pytest.raises(ValueError, match=r"the header has no column 'text', only '0', .* and 199,992 more") as caught:
        documents_of(tmp_path / "it.csv", names.encode())
    assert len(str(caught.value)) < 1000
    with pytest.raises(ValueError, match="column '7' twice"):
        documents_of(tmp_path / "it.csv", f"{names},7".encode())


def test_a_line_of_very_many_values(tmp_path: Path) -> None:
    """Each takes twenty times its size in memory."""
    many = b"[" + b"[]," * (MOST_VALUES // 2) + b"1]"
    good, bad = b'{"id": "a", "text": "fox"}', b'{"id": "b", "text": "owl", "odd": ' + many + b"}"
    assert [found.id for found in documents_of(tmp_path / "it.jsonl.gz", good + b"\n" + bad)] == ["a"]
    assert [found.id for found in documents_of(tmp_path / "it.json.gz", b"[" + good + b"," + bad + b"]")] == ["a"]
    for name, mark in (("it.csv.gz", b","), ("it.tsv.gz", b"\t")):
        with pytest.raises(BadInput, match=r"it\..sv\.gz, line 2: it has more than 4,194,304 commas"):
            documents_of(tmp_path / name, b"id" + mark + b"text\n" + mark * (MOST_VALUES + 1))


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.null()), pa.list_(pa.list_(pa.bool_())), pa.list_(pa.struct({"x": pa.int8()}))]
)
def test_a_row_of_very_many_values(tmp_path: Path, kind: pa.DataType) -> None:
    values = pa.nulls(MOST_VALUES, kind.value_type)
    column = pa.ListArray.from_arrays(pa.array([0, 1, MOST_VALUES], pa.int32()), values)
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["fox", "owl"], "odd": column}), tmp_path / "it.parquet")
    assert (tmp_path / "it.parquet").stat().st_size < MIB
    reader = DocumentReader([Input(str(tmp_path / "it.parquet"))], Fields(), skip_bad=True)
    assert [found.id for found in reader] == ["a"]
    assert "more than 4,194,304 commas and brackets, or values" in str(reader.problems[0])
