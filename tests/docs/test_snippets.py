"""Every snippet of the README and of docs/ is run, or at least parsed.

Those that begin with ``>>>`` are doctests of pytest, in a folder with the files of `prepared`. The others are here:
commands of the pages for newcomers are run. Commands of all pages must exist, with their options.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from prepared import prepare

from maxsieve.cli.app import run
from maxsieve.common.cache import cache_folder
from maxsieve.text import fetch_model

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLLOWED = [ROOT / "README.md", ROOT / "docs" / "index.md"]
FOLLOWED_LATER = sorted((ROOT / "docs" / "how-to").glob("*.md"))
"""Pages whose commands take a while: `make test-full` runs them."""
ELSEWHERE = {"cluster.md", "service.md", "rag.md"}
"""Pages whose Python needs other packages: tests/cluster/test_docs.py and tests/adapters/test_service_clients.py."""
FENCED = re.compile(r"^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}(?=maxsieve|pip|make|python).*", re.MULTILINE)
ENDLESS = {"serve"}
NEEDS_A_SERVICE = "--from-log"
"""An option that reads what a service was asked; none runs here."""
"""Commands that run until they are stopped; tests/service starts them."""


def commands_of(page: Path) -> list[str]:
    """The shell commands of a page, without comments."""
    text = page.read_text(encoding="utf-8")
    lines = [line.strip() for line in INDENTED.findall(text)]
    for block in FENCED.finditer(text):
        if block["kind"] == "console":
            assert all(line.startswith("$ ") for line in block["code"].splitlines()), block["code"]
            lines += [line[2:] for line in block["code"].splitlines()]
    return lines


def words_of(line: str) -> list[str]:
    """Splits a line like a shell, up to a comment or a pipe."""
    words = shlex.split(line, comments=True)
    return words[: words.index("|")] if "|" in words else words


ALL = [(page, line) for page in PAGES for line in commands_of(page)]


@pytest.mark.parametrize(("page", "line"), ALL, ids=[f"{page.stem}-{n}" for n, (page, _) in enumerate(ALL)])
def test_every_command_exists(page: Path, line: str) -> None:
    program, *words = words_of(line)
    match program:
        case "maxsieve":
            assert run([*words, "--help"]) == 0, line  # options are read before help is shown
        case "make":
            assert re.search(rf"^{re.escape(words[0])}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
        case "pip":
            check_extras(words)
        case "python" if words[0] == "-m":
            assert find_spec(words[1]), line
        case "python":
            assert (ROOT / words[0]).is_file(), line
        case _:
            pytest.fail(f"{page.name}: what is {program}?")


def check_extras(words: list[str]) -> None:
    """Only this package is installed, with extras that it has."""
    extras = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
    for asked in re.findall(r"\[([\w,-]+)\]", " ".join(words)):
        for extra in asked.split(","):
            assert re.search(rf"^{extra} = ", extras, re.MULTILINE), f"there is no extra {extra}"


@pytest.mark.parametrize(
    "page",
    [*FOLLOWED, *(pytest.param(page, marks=pytest.mark.full) for page in FOLLOWED_LATER)],
    ids=lambda page: page.stem,
)
def test_the_commands_that_a_newcomer_follows_run(page: Path, tmp_path: Path) -> None:
    prepare(tmp_path)
    fetch_model("minilm")
    shutil.copytree(cache_folder() / "models", tmp_path / "cache" / "models")
    env = {**os.environ, "MAXSIEVE_CACHE": str(tmp_path / "cache")}
    lines = [words_of(line)[1:] for line in commands_of(page) if line.startswith("maxsieve")]
    lines = [words for words in lines if not any(word.startswith("st:") for word in words)]  # only a hub has these
    if any("docs.ms" in words for words in lines):
        lines.insert(0, ["index", "docs.ms", "corpus.jsonl"])
    for words in lines:
        if words[0] not in ENDLESS and NEEDS_A_SERVICE not in words:
            command = [sys.executable, "-m", "maxsieve.cli", *words]
            done = subprocess.run(command, cwd=tmp_path, env=env, input=b"", capture_output=True, timeout=300)
            assert done.returncode == 0, (words, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_is_run(page: Path) -> None:
    """Runs it as a doctest. A blank line before the closing fence keeps the fence out of the expected output."""
    if page.name in ELSEWHERE:
        return
    for block in FENCED.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] in ("python", "py", "pycon"):
            assert block["code"].startswith(">>> "), f"{page.name}: not run: {block['code']}"
            assert block["code"].endswith("\n\n") or page.name == "adapters.md", f"{page.name}: {block['code']}"
