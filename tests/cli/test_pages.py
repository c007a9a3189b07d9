"""Pages on the command line: `--pages`, `--ocr`, `search --save-pages`."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from cli.support import CommandLine
from text.made_files import make_pdf
from text.made_pages import scan_of

SLIDES = [f"slides.pdf#page={number}" for number in (1, 2, 3)]


@pytest.fixture
def folder(line: CommandLine) -> CommandLine:
    """A folder with a PDF of three pages, a scan and a text."""
    line.write("talks/slides.pdf", make_pdf(["red fox", "blue owl", "green tea"]))
    line.write("talks/notes.txt", "mountain bread")
    scan_of("river mountain", line.folder / "talks/scan.png")
    return line


def ids(line: CommandLine, *arguments: str) -> list[str]:
    return [hit["id"] for hit in line.json("search", *arguments)[0]["hits"]]


def test_each_page_is_a_document(folder: CommandLine) -> None:
    [made] = folder.json("index", "it.ms", "talks", "--pages", "--no-ocr")
    assert (made["added"], made["documents"], made.get("by_ocr")) == (5, 5, None)
    assert ids(folder, "it.ms", "owl")[0] == SLIDES[1]
    [hit] = folder.json("search", "it.ms", "owl", "-k", "1", "--explain")[0]["hits"]
    assert any("box" in match for match in hit["matches"])
    folder("index", "texts.ms", "talks", "--no-ocr")
    assert set(ids(folder, "texts.ms", "owl")) == {"slides.pdf", "notes.txt"}
    said = folder("index", "it.ms", "talks", "--no-pages", code=1).stderr
    assert "was made with --pages, which can't be changed to --no-pages" in said
    assert folder.json("index", "it.ms", "talks", "--no-ocr")[0]["skipped"] == 5, "it remembers that it has pages"


def test_info_names_pictures(folder: CommandLine) -> None:
    folder("index", "it.ms", "talks", "--pages", "--no-ocr")
    assert "pictures of pages" in folder("info", "it.ms").stdout
    stored = sum(path.stat().st_size for path in (folder.folder / "it.ms/pictures").rglob("*.webp"))
    assert folder.json("info", "it.ms")[0]["room"]["parts"]["pictures"] == stored > 0


def test_sync_follows_pages(folder: CommandLine) -> None:
    told = folder("sync", "it.ms", "talks", "--pages", "--no-ocr", "--dry-run").stdout
    assert told == "it.ms: would be created with 5 documents\n"
    assert folder.json("sync", "it.ms", "talks", "--pages", "--no-ocr")[0]["added"] == 5
    folder.write("talks/slides.pdf", make_pdf(["red fox", "white owl"]))
    done = folder("sync", "it.ms", "talks", "--no-ocr", "--progress")
    assert done.stdout.startswith("it.ms: 0 added, 1 changed, 1 deleted, 3 unchanged in "), done.stdout
    assert " pages a minute" in done.stderr


def test_scans_are_read_unless_told_not_to(folder: CommandLine) -> None:
    done = folder("index", "it.ms", "talks", "--pages")
    assert "maxsieve: 1 page without text: read by OCR" in done.stderr
    assert ids(folder, "it.ms", "river")[0] == "scan.png"
    folder("index", "without.ms", "talks", "--pages", "--no-ocr")
    assert "scan.png" not in ids(folder, "without.ms", "river")


@pytest.mark.full
def test_a_scanned_pdf_among_texts(folder: CommandLine) -> None:
    Image.open(folder.folder / "talks/scan.png").save(folder.folder / "talks/scan.pdf")
    said = folder("index", "without.ms", "talks", "--no-ocr", code=6).stderr
    assert "scan.pdf: " in said
    [made] = folder.json("index", "it.ms", "talks", "--ocr")
    assert (made["added"], made["by_ocr"]) == (3, 1)
    assert ids(folder, "it.ms", "river")[0] == "scan.pdf"


def test_pages_that_were_found_are_saved_with_their_matches(folder: CommandLine) -> None:
    folder("index", "it.ms", "talks", "--pages", "--no-ocr")
    done = folder("search", "it.ms", "blue owl", "-k", "5", "--save-pages", "found")
    assert "maxsieve: 3 pages with the matches drawn: found" in done.stderr, "a file of text has no picture"
    saved = sorted(path.name for path in (folder.folder / "found").iterdir())
    assert len(saved) == 3
    assert saved[0] == "1-1-slides.pdf_page=2.png"
    drawn = np.asarray(Image.open(folder.folder / "found" / saved[0]).convert("RGB"), int)
    marked = np.ptp(drawn, axis=2) > 50
    assert 0 < marked.mean() < 0.2, "the words have a colour, the rest of the page is white"
    folder.write("asked.tsv", "q/1\tred fox\nq2\tgreen tea\n")
    done = folder("search", "it.ms", "--queries", "asked.tsv", "-k", "1", "--save-pages", "asked", "--json")
    assert len(done.stdout.splitlines()) == 2
    names = {path.name for path in (folder.folder / "asked").iterdir()}
    assert names == {"q_1-1-slides.pdf_page=1.png", "q2-1-slides.pdf_page=3.png"}


@pytest.mark.parametrize("command", ["index", "sync"])
def test_pages_are_stored_before_all_are_read(line: CommandLine, command: str) -> None:
    """What fails after a batch of pages does not cost the batch."""
    line.write("talks/a.pdf", make_pdf(["red fox"] * 16))
    line.write("talks/b.pdf", b"%PDF-1.4 broken")
    said = line(command, "it.ms", "talks", "--pages", "--no-ocr", "--strict", code=1).stderr
    assert "b.pdf" in said
    assert line.json("info", "it.ms")[0]["documents"] == 16


@pytest.mark.full
def test_what_was_read_by_ocr_is_stored_before_more_is_read(line: CommandLine) -> None:
    (line.folder / "talks").mkdir()
    scan_of("river mountain", line.folder / "scan.png")
    Image.open(line.folder / "scan.png").save(line.folder / "talks/a.pdf")
    line.write("talks/b.txt", "red fox " * 20_000)
    line.write("talks/c.pdf", b"%PDF-1.4 broken")
    assert "c.pdf" in line("index", "it.ms", "talks", "--strict", code=1).stderr
    assert line.json("info", "it.ms")[0]["documents"] == 2
