"""What runs in the process of `isolated`: it reads files, parses source code and renders pages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO

from maxsieve.common.files import open_regular
from maxsieve.common.processes import limit_memory, limit_time
from maxsieve.text.inputs.definitions import definitions
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.isolated import READERS, SECONDS
from maxsieve.text.inputs.messages import read_message, read_notebook
from maxsieve.text.inputs.office import read_book, read_opendocument, read_sheets, read_slides
from maxsieve.text.inputs.outline import Heading
from maxsieve.text.inputs.pdf import read_pdf
from maxsieve.text.inputs.webpage import read_webpage
from maxsieve.text.inputs.word import read_word
from maxsieve.text.pages.ocr import read_words
from maxsieve.text.pages.rendering import Source, opened
from maxsieve.text.pages.requests import OpenPages, PageRequest

PARSING_SECONDS = 3
"""Limit on the CPU time for parsing a source file, of at most 1 MiB: usually it takes milliseconds."""

MOST_CHARACTERS = 1 << 26

FUNCTIONS: dict[str, Callable[[BinaryIO], FileText]] = {
    ".pdf": read_pdf,
    ".html": read_webpage,
    ".htm": read_webpage,
    ".docx": read_word,
    ".odt": read_opendocument,
    ".pptx": read_slides,
    ".xlsx": read_sheets,
    ".epub": read_book,
    ".eml": read_message,
    ".ipynb": read_notebook,
}
"""How a file of each format is read."""


def serve(seconds: int, memory: int) -> None:
    """Reads requests, one line of JSON each, and answers them, until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)  # so that output of libraries does not mix with answers
    limit_memory(memory)
    with OpenPages() as pages:
        for line in sys.stdin.buffer:
            limit_time(seconds)
            question = json.loads(line)
            answers.write(json.dumps(_answer(question, pages, seconds)).encode() + b"\n")
            answers.flush()


def _answer(question: dict[str, Any], pages: OpenPages, seconds: int) -> dict[str, Any]:
    path, kind = question.get("path", ""), READERS.get(question["suffix"], "a picture")
    try:
        if "source" in question:
            limit_time(min(seconds, PARSING_SECONDS))
            return {"headings": definitions(question["source"], question["suffix"])}
        if "number" in question:
            return pages.answer(PageRequest(**question))
        return _text(path, question["suffix"], seconds if question["ocr"] else None)
    except MemoryError:
        return {"ended": "full"}
    except RecursionError:
        return {"problem": "it is nested too deeply"}
    except ModuleNotFoundError as missing:
        return {"problem": str(missing)}
    except OSError as problem:
        return {"problem": f"can't be read: {problem.strerror or problem}"}
    except Exception as problem:  # whatever a library raises for a file that it can't read
        said = " ".join(str(problem).split())[:200].removeprefix(f"{path} ")
        return {"problem": said if type(problem) is ValueError else f"can't be read as {kind}: {said or problem!r}"}


def _text(path: str, suffix: str, seconds: int | None) -> dict[str, Any]:
    """The text of a file; with ``seconds``, that of pages without text by OCR, each within so many seconds."""
    with open_regular(path, follow_links=True) as file, ExitStack() as stack:
        sources: list[Source] = []

        def ocr(number: int) -> str:
            limit_time(seconds or SECONDS)
            if not sources:
                sources.append(stack.enter_context(opened(file, suffix)))
            return read_words(sources[0].render(number)).text

        if suffix == ".pdf":
            text, title, headings, by_ocr = read_pdf(file, None if seconds is None else ocr)
        else:
            text, title, headings, by_ocr = FUNCTIONS[suffix](file)
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters of text; at most {MOST_CHARACTERS:,} are read")
    return {"text": _clean(text), "title": _clean(title), "headings": list(_moved(headings, text)), "by_ocr": by_ocr}


def _moved(headings: Sequence[Heading], text: str) -> Iterator[Heading]:
    """The headings, cleaned like the text: each NUL character that is removed moves those after it."""
    removed = place = 0
    for start, level, title in headings:
        removed, place = removed + text.count("\0", place, start), start
        yield Heading(start - removed, level, _clean(title))


def _clean(text: str) -> str:
    """Replaces lone surrogates, which fonts of PDFs may produce, and removes NUL characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
