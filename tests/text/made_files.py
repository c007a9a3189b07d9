"""PDF and Word files, made here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import docx
import pypdf
from pypdf.generic import Fit


def make_pdf(pages: Sequence[str], title: str = "", size: Callable[[str], int] = lambda line: 12) -> bytes:
    """A PDF with a line of text for each line of each page, in letters of a size that may depend on the line."""
    kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>" if title else "<< >>",
    ]
    for i, page in enumerate(pages):
        lines = page.split("\n") if page else []
        sizes = [size(line) for line in lines]
        changed = (f"/F1 {new} Tf " if new != old else "" for old, new in pairwise([12, *sizes]))
        shown = "".join(
            f"{font}({line}) Tj 0 -{max(14, letters * 2 if letters > 12 else 0)} Td "
            for font, line, letters in zip(changed, lines, sizes, strict=True)
        )
        shown = f"BT /F1 12 Tf 50 700 Td {shown}ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {6 + 2 * i} 0 R >>",
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    return join_pdf(objects)


def with_outline(content: bytes, entries: Sequence[tuple[str, int, float | None, int | None]]) -> bytes:
    """A PDF with bookmarks: the title of each, its page from 0, the height there, and the number of the outer one."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content))
    made: list[Any] = []
    for title, page, top, parent in entries:
        fit = Fit.xyz(left=0, top=top) if top is not None else Fit.fit()
        outer = None if parent is None else made[parent]
        made.append(writer.add_outline_item(title=title, page_number=page, parent=outer, fit=fit))
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def join_pdf(objects: Sequence[str]) -> bytes:
    """A PDF of objects, numbered from 1. The first is its catalog, the fourth its information dictionary."""
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R"
    return content + f"{end} /Info 4 0 R >>\nstartxref\n{len(content)}\n%%EOF\n".encode()


def make_docx(title: str = "") -> bytes:
    """A Word document with a title, headings, a list and a table."""
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Of foxes", 0)
    document.add_heading("Food", 1)
    document.add_paragraph("Mice and\ngrapes.")
    document.add_heading("By season", 2)
    table = document.add_table(2, 2)
    for i, text in enumerate(("Spring", "mice", "Autumn", "grapes, sour")):
        table.cell(i // 2, i % 2).text = text
    table.cell(1, 1).add_table(1, 1).cell(0, 0).text = "unripe"
    document.add_paragraph("one", style="List Bullet")
    return saved(document)


def saved(document: docx.document.Document) -> bytes:
    """The bytes of a document."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    """A Word document that contains another file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for one in old.namelist():
            new.writestr(one, part if one == name else old.read(one))
        if name not in old.namelist():
            new.writestr(name, part)
    return buffer.getvalue()
