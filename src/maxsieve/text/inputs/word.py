"""The text of a Word document (.docx), through python-docx, which is an extra: headings as Markdown, tables as rows."""

from __future__ import annotations

import re
import zipfile
from itertools import accumulate
from typing import Any, BinaryIO

from maxsieve.common.optional import optional
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.markup import LONGEST_TITLE
from maxsieve.text.inputs.outline import MOST_HEADINGS, Heading

GAP = "\n\n"
LARGEST_PARTS = 1 << 28
"""Limit on the decompressed bytes of all its files: they are read into memory."""

MOST_PARTS = 10_000
DROPPED = {"del", "moveFrom", "Fallback", "instrText", "delText", "tabs", "rPr", "sectPr"}
"""Deleted text, alternatives for older programs, field codes, and properties."""

BREAKS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_HEADING = re.compile(r"[Hh]eading ([1-9])")


def read_word(file: BinaryIO) -> FileText:
    """The paragraphs and tables of a document in order, with tracked changes accepted."""
    docx, etree = optional("docx", "files"), optional("lxml.etree", "files")
    _check_size(file)
    document = docx.Document(file)
    names = {style.style_id: style.name or "" for style in document.styles}
    text = _WordText()
    walker = etree.iterwalk(document.element.body, events=("start", "end"))
    for event, element in walker:
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if event == "end":
            text.end(tag)
        elif tag in DROPPED:
            walker.skip_subtree()
        elif tag == "t":
            text.add(element.text or "")
        elif tag in BREAKS:
            text.add(BREAKS[tag])
        elif tag == "pStyle":
            text.style = names.get(_value(element), "")
        else:
            text.start(tag)
    return text.end_document(_title(document))


class _WordText:
    """Collects blocks of text: paragraphs, and rows of tables, whose cells may contain tables."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._headings: list[tuple[int, int, str]] = []
        """For each heading, the number of its block, its level and its title."""
        self.title = self.style = ""
        self._line: list[str] = []
        self._rows: list[list[list[str]]] = []
        """For each open table, the cells of its current row; a cell is a list of paragraphs."""

    def end_document(self, title: str) -> FileText:
        """The whole text. ``title`` is that of its properties, if no paragraph is the title."""
        starts = [0, *accumulate(len(block) + len(GAP) for block in self.blocks)]
        headings = [Heading(starts[block], level, name) for block, level, name in self._headings]
        return FileText(GAP.join(self.blocks), self.title or title, headings)

    def add(self, text: str) -> None:
        self._line.append(text)

    def start(self, tag: str) -> None:
        if tag == "p":
            self._end_paragraph()  # a text box is inside a paragraph
        elif tag == "tr":
            self._rows.append([])
        elif tag == "tc" and self._rows:
            self._rows[-1].append([])

    def end(self, tag: str) -> None:
        if tag == "p":
            self._end_paragraph()
        elif tag == "tr" and self._rows:
            cells = (" ".join(cell) for cell in self._rows.pop())
            self._put(" | ".join(cell for cell in cells if cell), row=True)

    def _end_paragraph(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self._line).split("\n"))
        text = "\n".join(line for line in lines if line)
        style, self._line, self.style = self.style, [], ""
        if not text:
            return
        heading = _HEADING.fullmatch(style)
        if style == "Title" and not self.title:
            self.title = " ".join(text.split())
        if (heading or style == "Title") and not self._rows:
            level, name = min(int(heading[1]), 6) if heading else 1, " ".join(text.split())
            text = "#" * level + f" {name}"
            if len(self._headings) < MOST_HEADINGS:
                self._headings.append((len(self.blocks), level, name[:LONGEST_TITLE]))
        elif style.startswith("List"):
            text = f"- {text}"
        self._put(text)

    def _put(self, text: str, *, row: bool = False) -> None:
        if not text:
            return
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text)
        elif row and self._after_row:
            self.blocks[-1] += f"\n{text}"
        else:
            self.blocks.append(text)
        self._after_row = row

    _after_row = False


def _check_size(file: BinaryIO) -> None:
    """Refuses an archive that decompresses to too much. `zipfile` reads no more of a file than its declared size."""
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
    if len(parts) > MOST_PARTS:
        raise ValueError(f"it contains {len(parts):,} files; a Word document has a few dozen")
    if (size := sum(part.file_size for part in parts)) > LARGEST_PARTS:
        raise ValueError(f"it decompresses to {size:,} bytes; at most {LARGEST_PARTS:,} are read")
    file.seek(0)


def _title(document: Any) -> str:
    """The title in its properties. Without properties, python-docx would make up default ones."""
    if not any(link.reltype.endswith("/core-properties") for link in document.part.package.rels.values()):
        return ""
    return str(document.core_properties.title or "").strip()


def _value(element: Any) -> str:
    return next((value for name, value in element.attrib.items() if name.endswith("}val")), "")
