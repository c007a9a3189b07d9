"""Files that need a library to be read are read in a process apart, which may use so much memory and time and no more.

A PDF, a page or a Word document may come from anybody, and may be made to use up whoever reads it. A file that does is
refused, and the next one gets a new process. The process ends with the block, or with the program however that ends.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from maxsieve.common.files import open_regular
from maxsieve.text.inputs.document import FileText
from maxsieve.text.inputs.pdf import read_pdf
from maxsieve.text.inputs.webpage import read_webpage
from maxsieve.text.inputs.word import read_word

SECONDS = 300
"""Of processor time for a file: thousands of pages of a PDF."""

MEMORY = 1 << 30
"""Bytes that reading may take."""

MOST_CHARACTERS = 1 << 26
FATES = {
    "slow": "reading it takes more than {seconds} seconds",
    "full": "reading it takes more than {mib} MiB of memory",
    "crashed": "the library that reads it crashed",
}
"""How a file can end the process that reads it."""

READERS: dict[str, tuple[Callable[[BinaryIO], FileText], str]] = {
    ".pdf": (read_pdf, "a PDF"),
    ".html": (read_webpage, "HTML"),
    ".htm": (read_webpage, "HTML"),
    ".docx": (read_word, "a Word document"),
}
"""By suffix: what reads a file, and what it then is."""

_CHILD = "import sys; sys.path[:] = {path!r}; from maxsieve.text.inputs.apart import serve; serve({seconds}, {memory})"


class Apart:
    """The process, started when it is first needed; for one thread, in a ``with`` block.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Apart() as apart:
    ...     _ = Path(folder, "foxes.html").write_text("<h1>Foxes</h1>")
    ...     apart.read(Path(folder, "foxes.html"), ".html")
    FileText(text='# Foxes', title='')
    """

    def __init__(self, *, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, path: Path, suffix: str) -> FileText:
        """What the file says; a `ValueError` says why it can't be told."""
        try:
            answer = self._ask({"path": os.fspath(path), "suffix": suffix})
        except BaseException:  # Ctrl-C: the answer to this question must not be taken for that to the next
            self._end()
            raise
        if "text" in answer:
            return FileText(answer["text"], answer["title"])
        if "fate" in answer:
            self._end()
            raise ValueError(FATES[answer["fate"]].format(seconds=self._seconds, mib=self._memory >> 20))
        raise ValueError(answer["problem"])

    def _ask(self, question: dict[str, str]) -> dict[str, str]:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        return json.loads(answer) if answer.endswith(b"\n") else {"fate": _fate(process)}

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            code = _CHILD.format(path=sys.path, seconds=self._seconds, memory=self._memory)
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # whose threads would reserve memory
                start_new_session=True,  # Ctrl-C is for us
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:  # closes the pipes and waits
                pass


def _fate(process: subprocess.Popen[bytes]) -> str:
    """Why there was no answer."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    if process.poll() == -signal.SIGXCPU:
        return "slow"
    return "full" if process.poll() in (-signal.SIGKILL, -signal.SIGABRT) else "crashed"


def serve(seconds: int, memory: int) -> None:
    """The process itself: answers questions, a line of JSON each, until there are none."""
    answers = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)  # what libraries print is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory(memory)
    for question in sys.stdin.buffer:
        _limit_time(seconds)
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
        return {"fate": "full"}
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
    """Halves of surrogate pairs, which fonts of PDFs may yield, are no text."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _limit_memory(more: int) -> None:
    """So many bytes beyond those that the process has now."""
    with suppress(OSError, ValueError):  # a system that can't tell or does not limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more)


def _limit_time(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)


def _lower(what: int, limit: int) -> None:
    _, highest = resource.getrlimit(what)
    resource.setrlimit(what, (limit if highest == resource.RLIM_INFINITY else min(limit, highest), highest))
