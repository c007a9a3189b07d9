"""Reads PDF, HTML and Word files, parses source code and renders pages, in a process with limits on memory and time.

Such a file may be hostile: it may be made to use up memory or time. A file that reaches a limit is refused, and the
next file gets a new process. The process ends with the ``with`` block, or with the program, however that ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

from maxsieve.common.files import open_regular
from maxsieve.common.processes import (
    how_ended,
    ignoring_closed_pipe,
    limit_memory,
    limit_time,
    own_group_options,
    running_python,
)
from maxsieve.text.inputs.definitions import LONGEST_SOURCE, definitions, is_installed
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.grammars import GRAMMARS
from maxsieve.text.inputs.messages import read_message, read_notebook
from maxsieve.text.inputs.office import read_book, read_opendocument, read_sheets, read_slides
from maxsieve.text.inputs.outline import Heading
from maxsieve.text.inputs.pdf import read_pdf
from maxsieve.text.inputs.webpage import read_webpage
from maxsieve.text.inputs.word import read_word
from maxsieve.text.pages.ocr import read_words
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.rendering import Source, opened
from maxsieve.text.pages.requests import OpenPages, PageRequest, page_from

SECONDS = 300
"""Limit on the CPU time for a file: enough for thousands of pages of a PDF."""

PARSING_SECONDS = 3
"""Limit on the CPU time for parsing a source file, of at most 1 MiB: usually it takes milliseconds."""

MEMORY = 1 << 30
"""Limit on the memory for reading a file, in bytes."""

OCR_MEMORY = 3 << 30
"""Limit on the memory for OCR, whose models take as much for a page of 2,000 x 2,000 pixels, in bytes."""

MOST_CHARACTERS = 1 << 26
ENDINGS = {
    "slow": "reading it takes more than {seconds} seconds",
    "full": "reading it takes more than {mib} MiB of memory",
    "crashed": "the library that reads it crashed",
}
"""Why the process can end while it reads a file."""

READERS: dict[str, tuple[Callable[[BinaryIO], FileText], str]] = {
    ".pdf": (read_pdf, "a PDF"),
    ".html": (read_webpage, "HTML"),
    ".htm": (read_webpage, "HTML"),
    ".docx": (read_word, "a Word document"),
    ".odt": (read_opendocument, "an OpenDocument text"),
    ".pptx": (read_slides, "a presentation"),
    ".xlsx": (read_sheets, "sheets"),
    ".epub": (read_book, "a book"),
    ".eml": (read_message, "a message"),
    ".ipynb": (read_notebook, "a notebook"),
}
"""For each suffix, the function that reads a file, and the name of the format."""

_CHILD = (
    "import sys; sys.path[:] = {path!r}; from maxsieve.text.inputs.isolated import serve; serve({seconds}, {memory})"
)


class IsolatedReader:
    """The separate process. It starts on first use. To be used by one thread, in a ``with`` block.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, IsolatedReader() as reader:
    ...     _ = Path(folder, "foxes.html").write_text("<h1>Foxes</h1>")
    ...     reader.read(Path(folder, "foxes.html"), ".html")
    FileText(text='# Foxes', title='', headings=[Heading(start=0, level=1, title='Foxes')], by_ocr=0)
    """

    def __init__(self, *, seconds: int = SECONDS, memory: int | None = None, ocr: bool = False) -> None:
        self.ocr = ocr
        """Whether pages without text are read by OCR."""
        self._seconds, self._memory = seconds, memory or (OCR_MEMORY if ocr else MEMORY)
        self._process: subprocess.Popen[bytes] | None = None
        self._running = ExitStack()

    def __enter__(self) -> IsolatedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, path: Path, suffix: str) -> FileText:
        """The text of the file; a `ValueError` says why it can't be read."""
        answer = self._ask({"path": os.fspath(path.absolute()), "suffix": suffix, "ocr": self.ocr})
        headings = [Heading(*heading) for heading in answer["headings"]]
        return FileText(answer["text"], answer["title"], headings, answer["by_ocr"])

    def definitions(self, text: str, suffix: str) -> list[Heading]:
        """The definitions in a source file; none if it can't be parsed, is too large, or no parser is installed."""
        if len(text) > LONGEST_SOURCE or not is_installed(GRAMMARS[suffix]):
            return []
        try:
            answer = self._ask({"source": text, "suffix": suffix})
        except ValueError:  # made to use up time or memory, or to crash: its text can be read without a parser
            return []
        return [Heading(*heading) for heading in answer["headings"]]

    def pages(self, path: Path, suffix: str) -> Iterator[PageDocument | ValueError]:
        """The pages of a PDF or of a picture, one by one, or why one can't be read.

        A `ValueError` is raised if no page can be read.
        """
        number = count = 0
        while number == 0 or number < count:
            request = PageRequest(os.fspath(path.absolute()), suffix, number, self.ocr)
            try:
                answer = self._ask(request._asdict())
                count = answer["pages"]
                yield page_from(answer) if "picture" in answer else ValueError(answer["page_problem"])
            except ValueError as problem:
                if not count:
                    raise
                yield ValueError(f"page {number + 1}: {problem}")
            number += 1

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question; a `ValueError` says why there is none."""
        try:
            answer = self._exchange(question)
        except BaseException:  # Ctrl-C: the next file must not get the answer for this one
            self._end()
            raise
        if "ended" in answer:
            self._end()
            raise ValueError(ENDINGS[answer["ended"]].format(seconds=self._seconds, mib=self._memory >> 20))
        if "problem" in answer:
            raise ValueError(answer["problem"])
        return answer

    def _exchange(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        with ignoring_closed_pipe():
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        return json.loads(answer) if answer.endswith(b"\n") else {"ended": _ending(process)}

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            code = _CHILD.format(path=sys.path, seconds=self._seconds, memory=self._memory)
            options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            env = {"OPENBLAS_NUM_THREADS": "1"}  # its threads would reserve memory
            child = running_python("-c", code, env=env, **options, **own_group_options())
            self._process = self._running.enter_context(child)
        return self._process

    def _end(self) -> None:
        self._process = None
        self._running.close()


def _ending(process: subprocess.Popen[bytes]) -> str:
    """Why the process ended without an answer."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    return how_ended(process.poll())


def serve(seconds: int, memory: int) -> None:
    """Runs in the separate process: reads requests, one line of JSON each, and answers them, until the input ends."""
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
    path, kind = question.get("path", ""), READERS.get(question["suffix"], (None, "a picture"))[1]
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
            text, title, headings, by_ocr = READERS[suffix][0](file)
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
