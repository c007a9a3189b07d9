"""A command is run in a folder that has Python files of an attacker: none of them is imported, in any process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cli.support import CommandLine
from hostile.trap import CONSOLE_SCRIPT, Trap
from text.made_files import make_docx, make_pdf


@pytest.fixture
def trap(line: CommandLine) -> Trap:
    return Trap(line)


def test_the_trap_works(trap: Trap) -> None:
    """`python -m` looks in the current folder first: this is what a trap looks like that has caught somebody."""
    environment = {name: value for name, value in trap.line.env.items() if name != "PYTHONSAFEPATH"}
    subprocess.run([sys.executable, "-m", "pip", "--version"], cwd=trap.line.folder, env=environment)
    assert trap.ran


@pytest.mark.parametrize("command", [("model", "fetch", "minilm"), ("demo",)])
def test_pip(trap: Trap, command: tuple[str, ...]) -> None:
    trap.line.extra["HF_HUB_OFFLINE"] = "1"
    said = trap(*command, code=1)
    assert "pip could not download" in said
    assert "No matching distribution found" in said, "it was the real pip that failed"


def test_a_relative_cache_is_still_found_by_pip(trap: Trap) -> None:
    trap.line.extra.update(HF_HUB_OFFLINE="1", MAXSIEVE_CACHE="cache")
    assert "No matching distribution found" in trap("model", "fetch", "minilm", code=1)


def test_reading_and_searching(trap: Trap) -> None:
    trap.line.write("notes/page.html", "<p>a red fox")
    trap.line.write("notes/paper.pdf", make_pdf(["an owl"]))
    trap.line.write("notes/letter.docx", make_docx())
    assert "3 added" in trap("sync", "it.ms", "notes")
    assert "3 added" in trap("index", "other.ms", "notes")
    assert "page.html" in trap("search", "it.ms", "fox", "--hybrid", "rrf")


@pytest.mark.parametrize("command", [("doctor",), ("model", "list"), ("cache",), ("lab", "list")])
def test_other_commands(trap: Trap, command: tuple[str, ...]) -> None:
    trap(*command)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 always looks in the current folder")
def test_processes_of_other_libraries(trap: Trap) -> None:
    """Such as the one that `multiprocessing` starts for a lock of tqdm, by `python -c`."""
    script = "import multiprocessing\n" + CONSOLE_SCRIPT.replace(
        "main()", "try:\n    main()\nfinally:\n    multiprocessing.get_context('spawn').RLock()"
    )
    trap("cache", script=script)
