"""Reads PDF, HTML and Word files in a separate process, with limits on memory and time.

Such a file may be hostile: it may be made to use up memory or time. A file that reaches a limit is refused, and the
next file gets a new process. The process ends with the ``with`` block, or with the program, however that ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from maxsieve.common.files import open_regular
from maxsieve.common.processes import (
    how_ended,
    ignoring_closed_pipe,
    limit_memory,
    limit_time,
    own_group_options,
    running_python,
)
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.pdf import read_pdf
from maxsieve.text.inputs.webpage import read_webpage
from maxsieve.text.inputs.word import read_word

SECONDS = 300
"""Limit on the CPU time for a file: enough for thousands of pages of a PDF."""

MEMORY = 1 << 30
"""Limit on the memory for reading a file, in bytes."""

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
    FileText(text='# Foxes', title='')
    """

    def __init__(self, *, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._running = ExitStack()

    def __enter__(self) -> IsolatedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, path: Path, suffix: str) -> FileText:
        """The text of the file; a `ValueError` says why it can't be read."""
        try:
            answer = self._ask({"path": os.fspath(path.absolute()), "suffix": suffix})
        except BaseException:  # Ctrl-C: the next file must not get the answer for this one
            self._end()
            raise
        if "text" in answer:
            return FileText(answer["text"], answer["title"])
        if "ended" in answer:
            self._end()
            raise ValueError(ENDINGS[answer["ended"]].format(seconds=self._seconds, mib=self._memory >> 20))
        raise ValueError(answer["problem"])

    def _ask(self, question: dict[str, str]) -> dict[str, str]:
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
    for question in sys.stdin.buffer:
        limit_time(seconds)
        answers.write(json.dumps(_answer(**json.loads(question))).encode() + b"\n")
        answers.flush()


def _answer(path: str, suffix: str) -> dict[str, str]:
    reader, kind = READERS[suffix]
    try:
        with open_regular(path, follow_links=True) as file:
            text, title = reader(file)
        if len(text) > MOST_CHARACTERS:
            return {"problem": f"it has {len(text):,} characters of text; at most {MOST_CHARACTERS:,} are read"}
        return {"text": _clean(text), "title": _clean(title)}
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


def _clean(text: str) -> str:
    """Replaces lone surrogates, which fonts of PDFs may produce, and removes NUL characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
