"""The text of presentations, sheets, OpenDocument texts and books: .pptx, .xlsx, .odt and .epub."""

from __future__ import annotations

import io
import posixpath
import re
from typing import Any, BinaryIO
from urllib.parse import unquote

from maxsieve.common.optional import optional
from maxsieve.text.inputs.blocks import Blocks
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.packed import attribute, check_parts, local, open_parts, parse_part
from maxsieve.text.inputs.webpage import read_webpage

MOST_CELLS = 1 << 20
"""How many cells of a file of sheets are read; a larger one is refused."""

MOST_COLUMNS = 1 << 14
_SLIDE = re.compile(r"ppt/slides/slide(\d{1,6})\.xml")


def read_slides(file: BinaryIO) -> FileText:
    """The text of each slide of a presentation, which is a page; its title is a heading."""
    blocks = Blocks()
    with open_parts(file) as archive:
        slides = sorted((int(found[1]), found[0]) for name in archive.namelist() if (found := _SLIDE.fullmatch(name)))
        for place, (_, name) in enumerate(slides):
            if place:
                blocks.end_page()
            for shape in parse_part(archive, name).iter():
                if local(shape) not in ("sp", "graphicFrame"):
                    continue
                text = "\n".join(_runs(one, "t") for one in shape.iter() if local(one) == "p")
                kinds = {attribute(one, "type") for one in shape.iter() if local(one) == "ph"}
                blocks.heading(1, text) if kinds & {"title", "ctrTitle"} else blocks.add(text)
    return blocks.end("")


def _runs(paragraph: Any, tag: str) -> str:
    return "".join(one.text or "" for one in paragraph.iter() if local(one) == tag)


def read_sheets(file: BinaryIO) -> FileText:
    """The rows of all sheets, each below the name of its sheet. Formulas are the values that were last computed."""
    check_parts(file)
    book = optional("openpyxl", "files").load_workbook(file, read_only=True, data_only=True)
    blocks, cells = Blocks(), 0
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # a file may claim any size
        blocks.heading(1, sheet.title)
        for row in sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS):
            cells += len(row) + 1
            if cells > MOST_CELLS:
                raise ValueError(f"it has more than {MOST_CELLS:,} cells, the limit")
            blocks.add(" | ".join(" ".join(str(value).split()) for value in row if value is not None), "\n")
    return blocks.end("")


def read_opendocument(file: BinaryIO) -> FileText:
    """The headings, paragraphs and rows of an OpenDocument text."""
    blocks, rows = Blocks(), 0
    with open_parts(file) as archive:
        root = parse_part(archive, "content.xml")
    for element in root.iter():
        tag = local(element)
        if tag == "table-row":
            cells = (" ".join("".join(cell.itertext()).split()) for cell in element if local(cell) == "table-cell")
            blocks.add(" | ".join(cell for cell in cells if cell), "\n")
            rows += 1
        elif tag == "h":
            level = attribute(element, "outline-level")
            blocks.heading(int(level) if level.isdecimal() and len(level) < 3 else 1, "".join(element.itertext()))
        elif tag == "p" and not (rows and any(local(outer) == "table-row" for outer in element.iterancestors())):
            blocks.add("".join(element.itertext()))
    return blocks.end("")


def read_book(file: BinaryIO) -> FileText:
    """The chapters of a book in EPUB, in order, each as a web page is read."""
    blocks = Blocks()
    with open_parts(file) as archive:
        container = parse_part(archive, "META-INF/container.xml")
        package = next((attribute(one, "full-path") for one in container.iter() if local(one) == "rootfile"), "")
        elements = list(parse_part(archive, package).iter())
        names = {attribute(one, "id"): attribute(one, "href") for one in elements if local(one) == "item"}
        title = next(("".join(one.itertext()) for one in elements if local(one) == "title"), "")
        for one in elements:
            if local(one) != "itemref" or attribute(one, "idref") not in names:
                continue
            name = posixpath.normpath(
                posixpath.join(posixpath.dirname(package), unquote(names[attribute(one, "idref")]))
            )
            if name in archive.namelist():
                blocks.insert(read_webpage(io.BytesIO(archive.read(name))))
    return blocks.end(title)
