"""Interactive search in a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import termios
import time

from cli.support import TIMEOUT, CommandLine


def _take_terminal() -> None:
    """In the child process: Ctrl-C in its terminal goes to it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A terminal in which the command runs."""

    def __init__(self, line: CommandLine, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        self.process = line.start(*arguments, **streams, start_new_session=True, preexec_fn=_take_terminal)
        os.close(theirs)
        self._read = ""

    def expect(self, pattern: str, within: float = TIMEOUT) -> str:
        """The output up to a pattern."""
        deadline = time.monotonic() + within
        while (found := re.search(pattern, self._read)) is None:
            assert time.monotonic() < deadline, self._read
            if select.select([self._ours], [], [], 0.1)[0]:
                try:
                    self._read += os.read(self._ours, 65536).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"it ended: {self._read}") from None
        before, self._read = self._read[: found.end()], self._read[found.end() :]
        return before

    def type(self, text: str) -> None:
        """Types these keys."""
        os.write(self._ours, text.encode())

    def interrupt_until(self, pattern: str) -> None:
        """Sends Ctrl-C until it works: Python's readline misses one that comes just before it waits for a key."""
        for _ in range(TIMEOUT):
            self.type("\x03")
            with contextlib.suppress(AssertionError):
                self.expect(pattern, within=1.0)
                return
        raise AssertionError(self._read)

    def wait(self) -> int:
        """Waits for the end, and returns the exit code."""
        return self.process.wait(TIMEOUT)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_a_conversation(docs: CommandLine) -> None:
    docs.extra["TERM"] = "dumb"  # without styles between the words
    with Terminal(docs, "search", "docs.ms", "-k", "1") as terminal:
        terminal.expect(r":quit ends\.")  # not Ctrl-D: a Windows console reads that as a letter
        terminal.expect("> ")
        terminal.type("red fox\n")
        assert "1  2.00  The fox (fox)" in terminal.expect("exact among 3 documents")
        terminal.expect("> ")
        terminal.type(":show 1\n")
        terminal.expect("A red fox by the river")
        terminal.expect("> ")
        terminal.type(":k 2\n")
        terminal.expect("> ")
        terminal.type(":k none\n")
        terminal.expect("a whole number of at least 1 is expected")
        terminal.expect("> ")
        terminal.type("half a line")
        terminal.expect("half a line")
        terminal.interrupt_until("> ")  # Ctrl-C gives up the line only
        terminal.type("green tea\n")
        terminal.expect("\n2  ")
        terminal.expect("exact among 3 documents")
        terminal.expect("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert (docs.cache / "history").read_text().splitlines()[-1] == "green tea"


def test_a_conversation_sees_what_others_write(docs: CommandLine) -> None:
    docs.extra["TERM"] = "dumb"
    with Terminal(docs, "search", "docs.ms", "-k", "1") as terminal:
        terminal.expect("> ")
        terminal.type("coffee\n")
        terminal.expect("exact among 3 documents")
        terminal.expect("> ")
        docs("add", "docs.ms", stdin='{"id": "cup", "text": "Coffee in the mountain."}')
        terminal.type("coffee\n")
        assert "Coffee in the mountain." in terminal.expect("exact among 4 documents")
        terminal.expect("> ")
        terminal.type(":q\n")
        assert terminal.wait() == 0


def test_progress_is_drawn_on_a_terminal_only(line: CommandLine) -> None:
    line.write("it.txt", "red fox")
    assert line("index", "a.ms", "it.txt", "--dim", "0").stderr == ""
    said = line("index", "b.ms", "it.txt", "--dim", "0", "--progress").stderr
    assert re.fullmatch(r"maxsieve: adding: 1/1 documents in 0 s, [\d,.]+ tokens a second\n", said)
    with Terminal(line, "index", "c.ms", "it.txt", "--dim", "0") as terminal:
        terminal.expect("1/1")
        terminal.expect("c.ms: 1 added")
        assert terminal.wait() == 0


def test_a_filter_in_a_conversation(docs: CommandLine) -> None:
    docs.extra["TERM"] = "dumb"
    with Terminal(docs, "search", "docs.ms", "--where", '{"year": 1999}') as terminal:
        terminal.expect("> ")
        terminal.type("tea\n")
        terminal.expect("exact among 1 document that matches the filter")
        terminal.expect("> ")
        terminal.type(':where {"year": {"ne": 1999}}\n')
        terminal.expect("> ")
        terminal.type("tea\n")
        terminal.expect("exact among 2 documents that match the filter")
        terminal.expect("> ")
        terminal.type(":where year\n")
        terminal.expect("--where is not valid JSON")
        terminal.expect("> ")
        terminal.type(":where\n")
        terminal.expect("> ")
        terminal.type("tea\n")
        terminal.expect("exact among 3 documents ")
        terminal.expect("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
