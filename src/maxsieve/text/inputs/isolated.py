"""Reads PDF, HTML and Word files, parses source code and renders pages, in a process with limits on memory and time.

Such a file may be hostile: it may be made to use up memory or time. A file that reaches a limit is refused, and the
next file gets a new process. The process ends with the ``with`` block, or with the program, however that ends. What
runs in it is in `isolated_child`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from maxsieve.common.processes import how_ended, ignoring_closed_pipe, own_group_options, running_python
from maxsieve.text.inputs.definitions import LONGEST_SOURCE, is_installed
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.grammars import GRAMMARS
from maxsieve.text.inputs.outline import Heading
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.requests import PageRequest, page_from

SECONDS = 300
"""Limit on the CPU time for a file: enough for thousands of pages of a PDF."""

MEMORY = 1 << 30
"""Limit on the memory for reading a file, in bytes."""

OCR_MEMORY = 3 << 30
"""Limit on the memory for OCR, whose models take as much for a page of 2,000 x 2,000 pixels, in bytes."""

ENDINGS = {
    "slow": "reading it takes more than {seconds} seconds",
    "full": "reading it takes more than {mib} MiB of memory",
    "crashed": "the library that reads it crashed",
}
"""Why the process can end while it reads a file."""

READERS = {
    ".pdf": "a PDF",
    ".html": "HTML",
    ".htm": "HTML",
    ".docx": "a Word document",
    ".odt": "an OpenDocument text",
    ".pptx": "a presentation",
    ".xlsx": "sheets",
    ".epub": "a book",
    ".eml": "a message",
    ".ipynb": "a notebook",
}
"""The suffixes of files that are read in the other process, and the names of their formats."""

_CHILD = "import sys; sys.path[:] = {path!r}; from maxsieve.text.inputs import isolated_child as it; it.serve({limits})"


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
            code = _CHILD.format(path=sys.path, limits=f"{self._seconds}, {self._memory}")
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
