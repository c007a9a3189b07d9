"""Requests for pages to the isolated process: one page at a time, so that memory does not grow with a file."""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import ExitStack
from typing import Any, NamedTuple

from maxsieve.common.files import open_regular
from maxsieve.text.pages.ocr import read_words
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import Word, from_units, to_units
from maxsieve.text.pages.rendering import Source, opened, to_page


class PageRequest(NamedTuple):
    """A page of a file, numbered from 0; ``ocr`` says whether its words are read if it has no text."""

    path: str
    suffix: str
    number: int
    ocr: bool


class OpenPages:
    """Runs in the isolated process: answers requests, and keeps the last file open for its next page."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._path = ""
        self._source: Source | None = None

    def __enter__(self) -> OpenPages:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def answer(self, request: PageRequest) -> dict[str, Any]:
        """How many pages the file has, and the page or why it can't be read; an error if the file can't be read."""
        if request.path != self._path or not request.number or self._source is None:
            self._open.close()
            self._path = ""
            file = self._open.enter_context(open_regular(request.path, follow_links=True))
            self._source = self._open.enter_context(opened(file, request.suffix))
            self._path = request.path
        source = self._source
        count = {"pages": len(source)}
        try:
            return {**count, **_plain(_read(source, request))}
        except (MemoryError, ModuleNotFoundError):
            raise
        except Exception as problem:  # whatever a library raises for a page that it can't read
            said = " ".join(str(problem).split())[:200] or repr(problem)
            if len(source) == 1:
                raise ValueError(said) from None
            return {**count, "page_problem": f"page {request.number + 1}: {said}"}


def page_from(plain: dict[str, Any]) -> PageDocument:
    """The page in an answer."""
    words = (Word(start, end, from_units(sides)) for start, end, *sides in plain["words"])
    width, height = plain["size"]
    return PageDocument(b64decode(plain["picture"]), width, height, plain["text"], tuple(words), plain["by_ocr"])


def _read(source: Source, request: PageRequest) -> PageDocument:
    layer = source.text(request.number)
    image = source.render(request.number)
    by_ocr = request.ocr and not layer.text.strip()
    return to_page(image, read_words(image) if by_ocr else layer, by_ocr=by_ocr)


def _plain(page: PageDocument) -> dict[str, Any]:
    return {
        "picture": b64encode(page.picture).decode(),
        "size": [page.width, page.height],
        "text": page.text,
        "words": [[word.start, word.end, *to_units(word.box)] for word in page.words],
        "by_ocr": page.by_ocr,
    }
