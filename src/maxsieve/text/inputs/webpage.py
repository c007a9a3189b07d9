"""The text of an HTML page, through selectolax, which is an extra: headings as Markdown, no menus or scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from maxsieve.common.optional import optional
from maxsieve.text.inputs.document import LARGEST_FILE, FileText
from maxsieve.text.inputs.lines import BOM, WIDE_BOMS
from maxsieve.text.inputs.markup import LONGEST_TITLE
from maxsieve.text.inputs.nesting import check_nesting
from maxsieve.text.inputs.outline import MOST_HEADINGS, Heading

MARKS = {"li": "-", **{f"h{level}": "#" * level for level in range(1, 7)}}
"""The Markdown prefix of an element's first line."""

DROPPED = {
    *("script", "style", "noscript", "template", "head", "nav", "svg", "math", "canvas", "iframe", "object", "audio"),
    *("video", "map", "button", "select", "textarea", "input", "dialog"),
}
DROPPED_ROLES = {"navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog", "alertdialog"}
PERMALINKS = {"\u00b6", "\u00a7", "#", "\U0001f517"}
"""Texts of links that lead to the heading which they follow. They are no part of it."""

SECTIONS = {"article", "main", "section", "blockquote"}
"""A footer inside one of these belongs to the text; any other belongs to the site and is dropped."""

TIGHT = {"li", "tr", "br", "dt", "dd", "option"}
"""Elements that become lines. Those in `BLOCKS` become paragraphs."""

BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "details", "div", "dl", "fieldset", "figcaption", "figure"),
    *("footer", "form", "header", "hr", "html", "main", "ol", "p", "pre", "section", "summary", "table", "tbody"),
    *("thead", "tfoot", "caption", "ul", "h1", "h2", "h3", "h4", "h5", "h6"),
}
CELLS = {"td", "th"}
_CHARSET = re.compile(rb"""<meta[^>]{0,256}charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_ENCODINGS = re.compile(
    r"(us-)?ascii|iso-?8859-\d{1,2}|latin-?\d|windows-\d{3,4}|cp\d{3,4}|koi8-[ru]|shift[_-]jis|euc-(jp|kr)|iso-2022-jp"
    r"|gb2312|gbk|gb18030|big5(-hkscs)?|mac(intosh|-roman)"
)
"""Encodings of web pages. Python has other codecs, and some of them do not encode text."""

LATIN = ("iso-8859-1", "latin1", "ascii", "us-ascii")
"""Names that mean windows-1252 on the web."""


def read_webpage(file: BinaryIO) -> FileText:
    r"""The visible text of the page, and its title, which is also the first heading.

    >>> import io
    >>> page = b"<title>Foxes</title><nav>Home</nav><h2>Food</h2><p>Mice,<br>grapes.<script>x()</script>"
    >>> read_webpage(io.BytesIO(page))  # doctest: +ELLIPSIS
    FileText(text='# Foxes\n\n## Food\n\nMice,\ngrapes.', title='Foxes', headings=[...], by_ocr=0)
    """
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"it is larger than {LARGEST_FILE} bytes, the limit")
    text = decode_page(content)
    check_nesting(text)
    page = optional("selectolax.lexbor", "files").LexborHTMLParser(text)
    head = page.head.css_first("title") if page.head is not None else None
    title = " ".join((head.text() if head is not None else "").split())
    return _with_title(title, _text(page))


def decode_page(content: bytes) -> str:
    r"""Decodes the page by its byte order mark, its declared charset, as UTF-8, or as windows-1252.

    >>> decode_page(b'<meta charset="koi8-r">\xcc\xc9\xd3\xc1')[-4:], decode_page(b"caf\xe9")
    ('лиса', 'café')
    """
    if content.startswith(WIDE_BOMS):
        return content.decode("utf-16", "replace")
    if content.startswith(BOM):
        return content.removeprefix(BOM).decode(errors="replace")
    said = _CHARSET.search(content, 0, 4096)
    name = said[1].decode("ascii").lower() if said else ""
    if _ENCODINGS.fullmatch(name):
        try:
            return content.decode("cp1252" if name in LATIN else name, "replace")
        except LookupError:
            pass
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode(errors="replace") if name in ("utf-8", "utf8") else content.decode("cp1252", "replace")


def _text(page: Any) -> FileText:
    """The text of the page's main element, if it has exactly one with text; otherwise of the whole body."""
    main = page.css("main, [role=main]")
    found = _write(main[0]) if len(main) == 1 else FileText("")
    return found if found.text or page.body is None else _write(page.body)


def _with_title(title: str, page: FileText) -> FileText:
    """Puts the title first, unless the first heading is the title or a part of it, as without the site's name."""
    text, headings = page.text, page.headings
    if not title or (headings and headings[0].start == 0 and headings[0].level == 1 and headings[0].title in title):
        return FileText(text, title, headings)
    before = f"# {title}\n\n" if text else f"# {title}"
    moved = (heading._replace(start=heading.start + len(before)) for heading in headings)
    return FileText(before + text, title, [Heading(0, 1, title), *moved])


class _Page:
    """Collects the lines of a page."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._line: list[str] = []
        self._gap = self._mark = ""

    def add(self, text: str) -> None:
        self._line.append(text)

    def end_line(self, gap: str, mark: str | None = None) -> None:
        """Ends the line, if it is not empty; ``mark`` becomes the prefix of the next line."""
        if line := " ".join("".join(self._line).split()).removesuffix(" |"):
            start = self._append(f"{self._mark} {line}" if self._mark else line)
            if self._mark.startswith("#") and len(self._headings) < MOST_HEADINGS:
                self._headings.append(Heading(start, len(self._mark), line[:LONGEST_TITLE]))
            self._mark = ""
        self._line = []
        self._mark = self._mark if mark is None else mark
        self._widen(gap)

    def end_code(self) -> None:
        """Ends preformatted lines, in a code fence, so that none of them is taken for a heading."""
        if (code := "".join(self._line).strip("\n")).strip():
            self._append(f"```\n{code}\n```")
        self._line, self._mark = [], ""
        self._widen("\n\n")

    def _append(self, text: str) -> int:
        """Adds a line, and returns where it begins."""
        added = [self._gap, text] if self._parts else [text]
        self._parts += added
        self._length += sum(map(len, added))
        self._gap = ""
        return self._length - len(text)

    def _widen(self, gap: str) -> None:
        self._gap = max(self._gap, gap, key=len)

    def end(self) -> FileText:
        """The text of the page, without a title."""
        self.end_line("")
        return FileText("".join(self._parts), "", self._headings)


def _write(body: Any) -> FileText:
    page, code = _Page(), False
    for node, entered in _walk(body):
        tag = node.tag
        if tag == "-text":
            page.add((node.text_content or "") if entered else "")
        elif tag == "pre":
            page.end_line("\n\n") if entered else page.end_code()
            code = entered
        elif code:
            page.add("\n" if tag == "br" and entered else "")
        elif tag in CELLS:
            page.add(" " if entered else " | ")
        elif tag in TIGHT:
            page.end_line("\n", _mark(tag, entered))
        elif tag in BLOCKS:
            page.end_line("\n\n", _mark(tag, entered))
    return page.end()


def _mark(tag: str, entered: bool) -> str | None:
    """The prefix of the next line: the element's mark, empty after its end, or None to keep the present one."""
    return (MARKS[tag] if entered else "") if tag in MARKS else None


def _walk(root: Any) -> Iterator[tuple[Any, bool]]:
    """Each node on entry and on exit, without dropped ones. Not recursive, so that depth does not matter."""
    node, entering, end = root, True, root.mem_id
    sections = int(_is_inside(root, SECTIONS))  # how many of them are open
    while True:
        dropped = entering and node.mem_id != end and _is_dropped(node, sections > 0)
        if not dropped:
            yield node, entering
        if not dropped and node.tag in SECTIONS:
            sections += 1 if entering else -1
        if entering and not dropped and (inner := node.first_child) is not None:
            node = inner
            continue
        if entering and not dropped:
            yield node, False
            sections -= node.tag in SECTIONS
        if node.mem_id == end:
            return
        following = node.next
        node, entering = (node.parent, False) if following is None else (following, True)


def _is_dropped(node: Any, in_section: bool) -> bool:
    tag = node.tag
    if not node.is_element_node:
        return not node.is_text_node
    if tag in DROPPED:
        return True
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true" or attributes.get("role") in DROPPED_ROLES:
        return True
    if tag == "a" and (attributes.get("href") or "").startswith("#"):
        return node.text().strip() in PERMALINKS
    return tag == "footer" and not in_section


def _is_inside(node: Any, tags: set[str]) -> bool:
    above = node.parent
    while above is not None and above.tag not in tags:
        above = above.parent
    return above is not None
