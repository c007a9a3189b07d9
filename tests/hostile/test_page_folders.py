"""A folder of scans, PDFs and pictures with broken and hostile files among them: all good ones are found."""

from __future__ import annotations

import os
import struct
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from maxsieve import Collection
from maxsieve.text import FolderSync
from maxsieve.text.inputs import isolated
from text.made_files import join_pdf, make_pdf
from text.made_pages import scan_of
from text.support import WordEncoder

if sys.platform != "linux":
    pytest.skip("the memory of processes is measured in another way here", allow_module_level=True)

import resource

MIB = 1 << 20
LIMIT = 1200 * MIB
"""Enough for OCR of a small picture, but not for `LARGE` as well."""

LARGE = 9_900
"""Pixels a side of a picture below the limit on pixels, which takes 400 MB when it is decoded."""


def png(side: int, rows: int) -> bytes:
    """A PNG that claims to be a square, but has only so many rows of it."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packing, row = zlib.compressobj(1), bytes(1 + 3 * side)
    content = b"".join(packing.compress(row) for _ in range(rows)) + packing.flush()
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", content) + chunk(b"IEND", b"")


def write_good(folder: Path) -> dict[str, str]:
    """Writes good files. For each page a word that no other one has."""
    (folder / "text.pdf").write_bytes(make_pdf(["the hungry fox", "sour grapes"]))
    scan_of("the thirsty crow", folder / "m scan.png")
    Image.open(scan_of("some pebbles", folder / "photo.jpg")).save(folder / "scan.pdf")
    (folder / "photo.jpg").unlink()
    (folder / "notes.txt").write_text("a tortoise")
    return {"text.pdf#page=1": "fox", "text.pdf#page=2": "grapes", "m scan.png": "crow",
            "scan.pdf#page=1": "pebbles", "notes.txt": "tortoise"}  # fmt: skip


def write_bad(folder: Path) -> dict[str, str]:
    """Writes bad files. For each a part of the reason for which it is refused."""
    circle = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 9 >>"]
    contents = {
        "broken.pdf": (b"%PDF-1.4 nothing", ""),
        "circle.pdf": (join_pdf(circle), ""),
        "cut.pdf": (make_pdf(["a", "b"])[:200], ""),
        "empty.png": (b"", ""),
        "no picture.jpg": (b"this is text", ""),
        "other.webp": (make_pdf(["not a picture"]), ""),
        "pixels.png": (png(60_000, 1), "at most 100,000,000 are decoded"),
        "short.png": (png(500, 500)[:-100], ""),
        "z large.png": (png(LARGE, LARGE), "reading it takes more than 1200 MiB of memory"),
    }
    for name, (content, _) in contents.items():
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "pipe.pdf")
    (folder / "nowhere.pdf").symlink_to("nothing")
    return {name: why for name, (_, why) in contents.items()} | {"pipe.pdf": "", "nowhere.pdf": ""}


def test_good_files_are_found_and_bad_ones_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    good, bad = write_good(folder), write_bad(folder)
    monkeypatch.setattr(isolated, "OCR_MEMORY", LIMIT)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Collection.create(tmp_path / "it.ms", WordEncoder(), pages=True) as collection:
        follower = FolderSync(collection, folder, ocr=True)
        done = follower.run()
        assert set(collection.ids) == set(good)
        assert {id: collection.search(word, 1).ids for id, word in good.items()} == {id: [id] for id in good}
        assert follower.by_ocr == 2
        collection.verify()
    said = {Path(problem.place.source).name: str(problem) for problem in follower.problems}
    assert said.keys() == bad.keys()
    assert done.bad == len(follower.problems), "of a PDF that has pages, each bad page is named"
    assert all(why in said[name] for name, why in bad.items())
    assert not any("Traceback" in problem or len(problem) > 600 for problem in said.values())
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert more < 200 * MIB, "pictures are decoded in the separate process only, which has a limit"
