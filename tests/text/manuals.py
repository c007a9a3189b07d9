"""Manuals that Python itself installs, as files of several formats, and questions about them with known answers.

The questions were written before any search. An answer is a passage of the right file that has the given words. The
topics of `pydoc` are chapters of the language's reference; IDLE's help is a web page, taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics
from textwrap import indent
from typing import NamedTuple

import docx

WORD = re.compile(r"\w+")
UNDERLINE = re.compile(r"([*=~^-])\1+")
TOPICS = {
    "statements.pdf": "compound",
    "debugger.pdf": "debugger",
    "formats.rst": "formatstrings",
    "sequences.rst": "typesseq",
    "names.md": "execmodel",
    "imports.md": "import",
    "objects.docx": "customization",
    "mappings.rst": "typesmapping",
}
PAGE = "idle.html"
OUTLINED = "statements.pdf"
"""This PDF has bookmarks. The headings of the other one are only larger."""

QUESTIONS = [
    ("what is the value of a function if the cleanup code returns, too", "statements.pdf", "determined by the last"),
    ("handle several errors that were raised together", "statements.pdf", "clause s are used for handling"),
    ("when is the else part of a loop left out", "statements.pdf", "terminates the loop without executing the"),
    ("are default arguments computed at each call", "statements.pdf", "left to right when the function definition"),
    ("a case that accepts everything without giving it a name", "statements.pdf", "matches anything and binds no name"),
    ("in which order do several decorators take effect", "statements.pdf", "decorators are applied in nested fashion"),
    ("asynchronous loop used in an ordinary function", "statements.pdf", "async for statement outside the body"),
    ("how can a context manager swallow an error", "statements.pdf", "true the exception is suppressed"),
    (
        "extra condition that must hold before a case is taken",
        "statements.pdf",
        "A guard which is part of the case must succeed",
    ),
    ("match the keys of a dictionary in a case", "statements.pdf", "mapping pattern contains one or more key"),
    ("look into a program after it has crashed", "debugger.pdf", "post mortem debugging if the program"),
    ("stop at a breakpoint only sometimes", "debugger.pdf", "Set a new condition for the breakpoint"),
    ("let the program go on to the end of this function", "debugger.pdf", "until the current function returns"),
    ("file with commands that the debugger reads at its start", "debugger.pdf", "pdbrc exists in the user"),
    ("execute some lines again while debugging", "debugger.pdf", "This lets you jump back and execute"),
    ("who called this function", "debugger.pdf", "Print a stack trace with the most recent frame"),
    ("write large numbers with commas", "formats.rst", "use of a comma for a thousands separator"),
    ("how do I get a curly bracket into the output", "formats.rst", "it can be escaped by doubling"),
    ("put text into the middle of a field", "formats.rst", "Forces the field to be centered"),
    ("numbers with an exponent", "formats.rst", "Scientific notation For a given precision"),
    ("show the repr of a value in a replacement field", "formats.rst", "r which calls repr"),
    ("can methods see the variables of their class body", "names.md", "does not extend to the code blocks of methods"),
    (
        "error when a local variable is read before it is assigned",
        "names.md",
        "an UnboundLocalError exception is raised",
    ),
    ("may I change the dictionary of built-in names", "names.md", "Users should not touch __builtins__"),
    ("import everything within a function", "imports.md", "is only allowed at the module level"),
    ("which names of a module are public", "imports.md", "for a variable named __all__"),
    ("use a feature before it becomes standard", "imports.md", "directive to the compiler that a particular module"),
    ("start a script with arguments from the editor", PAGE, "Command Line Arguments extend sys argv"),
    ("recall what I typed before at the prompt", PAGE, "retrieves previous command matching"),
    ("long outputs slow down the window", PAGE, "Squeezed text label This is done automatically"),
    ("choose other letters and colors", PAGE, "fonts indentation keybindings text color themes"),
    ("when is the destructor of an object called", "objects.docx", "Called when the instance is about to be destroyed"),
    ("rule for hashes of equal objects", "objects.docx", "objects which compare equal have the same hash"),
    ("a list multiplied by a number holds the same inner list", "sequences.rst", "sequence s are not copied"),
    ("do dictionaries remember the order of their keys", "mappings.rst", "Dictionaries preserve insertion order"),
]


class Block(NamedTuple):
    """A paragraph, or a heading of a level from 1."""

    text: str
    level: int = 0


def words(text: str) -> list[str]:
    """Its words, without white space and marks, which the formats write in different ways."""
    return WORD.findall(text)


def write_manuals(folder: Path) -> dict[str, list[Block]]:
    """Writes all files; what is in each of them."""
    contents = {name: list(blocks(topics[topic])) for name, topic in TOPICS.items()}
    for name, parts in contents.items():
        path = folder / name
        if path.suffix == ".pdf":
            write_pdf(path, parts)
        elif path.suffix == ".docx":
            write_word(path, parts)
        else:
            path.write_text(topics[TOPICS[name]] if path.suffix == ".rst" else as_markdown(parts), encoding="utf-8")
    if (page := idle_help()) is not None:
        (folder / PAGE).write_bytes(page.read_bytes())
        contents[PAGE] = web_blocks(page.read_text(encoding="utf-8"))
    return contents


def idle_help() -> Path | None:
    """IDLE's help, which some distributions have in a package of its own."""
    found = find_spec("idlelib")
    page = Path(found.origin).with_name("help.html") if found is not None and found.origin else None
    return page if page is not None and page.is_file() else None


def blocks(text: str) -> Iterator[Block]:
    """The parts of a topic. A heading is underlined; a new mark is a deeper level."""
    levels: dict[str, int] = {}
    for part in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        first, _, rest = part.partition("\n")
        if UNDERLINE.fullmatch(rest):
            yield Block(first, levels.setdefault(rest[0], len(levels) + 1))
        else:
            yield Block(part)


def as_markdown(parts: list[Block]) -> str:
    """The same in Markdown."""
    shown = (f"{'#' * part.level} {part.text}" if part.level else as_code(part.text) for part in parts)
    return "\n\n".join(shown) + "\n"


def as_code(text: str) -> str:
    """Indented lines as Markdown wants them: by four."""
    return indent(text, " ") if text.startswith(" ") else text


def write_word(path: Path, parts: list[Block]) -> None:
    """The same as a Word document."""
    document = docx.Document()
    for part in parts:
        if part.level:
            document.add_heading(part.text, part.level)
        else:
            document.add_paragraph(part.text)
    document.save(str(path))


def write_pdf(path: Path, parts: list[Block]) -> None:
    """The same as a PDF, whose pages end wherever the text fills them."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, Preformatted, SimpleDocTemplate, Spacer
    from reportlab.platypus.flowables import Flowable

    class Template(SimpleDocTemplate):  # type: ignore[misc]
        def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802
            level = getattr(flowable, "level", 0)
            if level and path.name == OUTLINED:
                self.canv.bookmarkPage(key := f"{id(flowable)}")
                self.canv.addOutlineEntry(flowable.getPlainText(), key, level - 1)

    styles, story = getSampleStyleSheet(), list[Flowable]()
    for part in parts:
        escaped = part.text.replace("&", "&amp;").replace("<", "&lt;")
        if part.level:
            story.append(Paragraph(escaped, styles[f"Heading{part.level}"]))
            story[-1].level = part.level
        elif part.text.startswith(" "):
            story.append(Preformatted(part.text, styles["Code"]))
        else:
            story.append(Paragraph(escaped, styles["BodyText"]))
        story.append(Spacer(1, 4))
    Template(str(path), title="").build(story)


class WebBlocks(HTMLParser):
    """The headings and the other texts of a web page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Block] = []
        self._level = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if re.fullmatch("h[1-6]", tag):
            self._level = int(tag[1])
            self.found.append(Block("", self._level))
        elif tag == "a" and dict(attrs).get("class") == "headerlink":
            self._level = 0

    def handle_endtag(self, tag: str) -> None:
        if re.fullmatch("h[1-6]", tag):
            self._level = 0

    def handle_data(self, data: str) -> None:
        if self._level:
            before = self.found.pop()
            self.found.append(Block(before.text + data, before.level))
        else:
            self.found.append(Block(data))


def web_blocks(page: str) -> list[Block]:
    """What a web page has, by the parser of Python."""
    parser = WebBlocks()
    parser.feed(page)
    return parser.found
