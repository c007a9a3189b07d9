"""The command line, in this process: what is said to people is checked for many commands."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings

import pytest

from cli.conftest import DOCUMENTS, docs, line, tiny_model
from cli.support import CommandLine, write_jsonl
from text.conftest import minilm


class QuickCommandLine(CommandLine):
    """Runs the command without a new process."""

    capture: pytest.CaptureFixture[str]

    def _run(self, command: list[str], stdin: str | bytes, code: int) -> subprocess.CompletedProcess[str]:
        from maxsieve.cli.app import run

        given = stdin.encode() if isinstance(stdin, str) else stdin
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            patch.setattr(os, "environ", {**os.environ, **self.env})
            patch.chdir(self.folder)
            self.capture.readouterr()
            found = run(command[3:])
        out, err = self.capture.readouterr()
        assert found == code, f"exit code {found}\n{out}\n{err}"
        assert "Traceback" not in err
        return subprocess.CompletedProcess(command, found, out, err)


@pytest.fixture
def quick(line: CommandLine, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line, in an empty folder."""
    made = QuickCommandLine(line.folder, line.model, line.cache)
    made.capture = capsys
    return made


@pytest.fixture
def quick_docs(quick: CommandLine) -> CommandLine:
    """The same, with a collection docs.ms of three documents."""
    write_jsonl(quick.folder / "corpus.jsonl", DOCUMENTS)
    quick("index", "docs.ms", "corpus.jsonl", "--dim", "0")
    return quick


__all__ = ["docs", "line", "minilm", "quick", "quick_docs", "tiny_model"]
