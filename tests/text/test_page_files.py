"""Files whose pages are documents: PDFs, scans, pictures, and bad ones among them; OCR; sync."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from maxsieve import Collection
from maxsieve.text import FolderSync
from maxsieve.text.inputs.document import BadInput, Fields
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.reading import DocumentReader, Input
from maxsieve.text.pages import ocr
from text.made_files import make_pdf
from text.made_pages import scan_of
from text.support import WordEncoder

SCANNED = "The hungry fox\ncould not reach the grapes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "folder"
    found.mkdir()
    (found / "slides.pdf").write_bytes(make_pdf(["first slide", "second slide", "third slide"]))
    scan_of(SCANNED, found / "scan.png")
    (found / "notes.txt").write_text("plain notes")
    return found


def documents(folder: Path, **options: bool) -> DocumentReader:
    return DocumentReader([Input(str(folder), **options)], Fields(), skip_bad=True)


def test_pages_are_documents_and_scans_are_read(folder: Path) -> None:
    reader = documents(folder, pages=True, ocr=True)
    found = {document.id: document for document in reader}
    pages = [f"slides.pdf#page={number}" for number in (1, 2, 3)]
    assert list(found) == ["notes.txt", "scan.png", *pages]
    assert found["slides.pdf#page=2"].text.strip() == "second slide"
    assert found["scan.png"].text.split() == SCANNED.split()
    assert (reader.by_ocr, reader.bad) == (1, 0)
    page = found["scan.png"].page
    assert page is not None
    lines = [word.box.top for word in page.words]
    assert max(lines[:3]) < min(lines[3:])


def test_without_ocr_a_scan_has_a_picture_and_no_text(folder: Path) -> None:
    reader = documents(folder, pages=True)
    [scan] = [document for document in reader if document.id == "scan.png"]
    assert (scan.text, scan.page is not None, reader.by_ocr) == ("", True, 0)


def test_pages_of_a_pdf_without_text_are_read_when_texts_are_indexed(folder: Path) -> None:
    scan = io.BytesIO()
    Image.open(folder / "scan.png").save(scan, "PDF")
    (folder / "scan.pdf").write_bytes(scan.getvalue())
    reader = documents(folder, ocr=True)
    found = {document.id: document.text for document in reader}
    assert found["scan.pdf"].split() == SCANNED.split()
    assert (reader.by_ocr, "scan.png" in found) == (1, False)
    without = documents(folder)
    assert "scan.pdf" not in [document.id for document in without]
    assert "maxsieve[pages]" in str(without.problems[0])


def test_frames_of_a_tiff_are_pages(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "green")]
    frames[0].save(tmp_path / "fax.tiff", save_all=True, append_images=frames[1:])
    found = list(documents(tmp_path, pages=True))
    assert [document.id for document in found] == ["fax.tiff#page=1", "fax.tiff#page=2"]
    colours = [document.page.image().getpixel((30, 20)) for document in found if document.page]
    assert colours[0][0] > 200 > 160 > colours[1][1] > 90


def test_bad_files_are_named_and_good_ones_are_read(folder: Path) -> None:
    (folder / "cut.pdf").write_bytes(make_pdf(["a", "b"])[:200])
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.jpg").write_text("this is no picture")
    (folder / "other.png").write_bytes((folder / "slides.pdf").read_bytes())
    (folder / "nowhere.pdf").symlink_to("nothing")
    bomb = io.BytesIO()
    Image.new("1", (30_000, 30_000)).save(bomb, "PNG")
    (folder / "bomb.png").write_bytes(bomb.getvalue())
    bad, good = [], []
    for found in Input(str(folder), pages=True).documents(Fields()):
        (bad if isinstance(found, BadInput) else good).append(found)
    assert {Path(problem.place.source).name for problem in bad if isinstance(problem, BadInput)} == {
        "bomb.png", "cut.pdf", "empty.png", "nowhere.pdf", "other.png", "text.jpg"}  # fmt: skip
    assert len(good) == 5


def test_a_page_that_breaks_the_limit_does_not_cost_the_others(tmp_path: Path) -> None:
    frames = [Image.new("L", (900, 900)), Image.new("L", (9900, 9900)), Image.new("L", (900, 900))]
    frames[0].save(tmp_path / "fax.tiff", save_all=True, append_images=frames[1:], compression="tiff_deflate")
    with IsolatedReader(memory=40 << 20) as reader:
        found = list(reader.pages(tmp_path / "fax.tiff", ".tiff"))
    kinds = ["problem" if isinstance(page, ValueError) else "page" for page in found]
    assert kinds == ["page", "problem", "page"]
    assert "page 2: reading it takes more than 40 MiB" in str(found[1])


def test_ocr_opens_no_connection(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(requests.Session, "request", refused)
    monkeypatch.setattr("socket.socket.connect", refused)
    ocr._engine.cache_clear()
    assert "hungry" in ocr.read_words(Image.open(folder / "scan.png").convert("RGB")).text


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [("Status Message: std::bad_alloc", MemoryError, "bad_alloc"), ("no such node", ValueError, "OCR failed: no such")],
)
def test_a_failure_of_ocr_is_short_and_lack_of_memory_is_known(
    monkeypatch: pytest.MonkeyPatch, said: str, kind: type[Exception], told: str
) -> None:
    def engine(_: object) -> None:
        raise RuntimeError(f"Traceback (most recent call last):\n{said}") from RuntimeError(said)

    monkeypatch.setattr(ocr, "_engine", lambda: engine)
    with pytest.raises(kind, match=told) as failed:
        ocr.read_words(Image.new("RGB", (30, 20)))
    assert "Traceback" not in str(failed.value)


def test_sync_follows_pages(folder: Path, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "it.ms", WordEncoder(), pages=True) as collection:
        follower = FolderSync(collection, folder, ocr=False)
        assert follower.run().added == 5
        assert sorted(collection.ids)[-1] == "slides.pdf#page=3"
        assert FolderSync(collection, folder, ocr=False).run()[:4] == (0, 0, 0, 5)
        (folder / "slides.pdf").write_bytes(make_pdf(["first slide", "another slide"]))
        scan_of("other words", folder / "scan.png")
        done = FolderSync(collection, folder, ocr=False).run()
        assert done[:3] == (0, 2, 1)
        assert sorted(collection.ids) == ["notes.txt", "scan.png", "slides.pdf#page=1", "slides.pdf#page=2"]
        assert collection.text("slides.pdf#page=2").strip() == "another slide"
        (folder / "scan.png").unlink()
        assert FolderSync(collection, folder, ocr=False).run().deleted == 1
        (folder / "slides.pdf").write_bytes(b"broken")
        done = FolderSync(collection, folder, ocr=False).run()
        assert (done.bad, done.deleted, len(collection)) == (1, 0, 3)
        collection.verify()


def test_sync_reads_scans(folder: Path, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "it.ms", WordEncoder(), pages=True) as collection:
        follower = FolderSync(collection, folder)
        follower.run()
        assert follower.by_ocr == 1
        hits = collection.search("grapes")
        assert hits.ids[0] == "scan.png"
        assert hits.explain(0)[0].box is not None
