"""`tools/prose.py` finds riddles, doubled words and long lines in every kind of file, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import prose  # noqa: E402

LONG = "word of a line " * 8
PLAIN = {
    "a.md": f"A line.\n\n```\nthe the\n```\n\n- [a]({'x' * 120})\n\n| a | b | c | d | e |\n| {'1 | ' * 60}\n",
    "a.py": '"""Adds.\n\nids\n    ids of all documents.\n\n>>> add\nadd\n"""\n\nlets_go = "again" "again"  # adds\n',
    "tests/test_a.py": 'def test_words() -> None:\n    """Samples are not prose."""\n    assert "anew" and "the the"\n',
    "a.cpp": "// Of equal ones, the first.\nint of_equals = 1'000;  // not a riddle\n",
    "a.sh": "# Continues.\necho $# anew\n",
    "a.txt": "whoever",
}
RIDDLES = [
    ("a.md", "A text that\nmakes do\nwith little.", 2, "makes do with"),
    ("a.py", '"""One.\n\nThat may go\nalong.\n"""', 3, "may go along"),
    ("a.py", "x = 1\n# be it\n\n# in\n# vain\n", 2, "be it"),
    ("a.py", "x = 1\n\n# in\n# vain\n", 3, "in vain"),
    ("a.py", 'raise ValueError(f"{1} is made anew")', 1, "anew"),
    ("tests/test_a.py", 'def test_a() -> None:\n    """Lets go."""', 2, "Lets go"),
    ("tests/test_a.py", "def test_it_is_made_anew() -> None: ...", 1, "anew"),
    ("tests/test_a.py", "x = 1  # under way", 1, "under way"),
    ("a.hpp", "#pragma once\n\n// A maximum does\n    // not mind.\n", 3, "maximum does not mind"),
    ("a.cpp", 'throw Error("a // riddle of one name");', 1, "of one name"),
    ("a.js", "let a = 1; // whoever", 1, "whoever"),
    ("a.css", "p {}\n/* Red for\n * its sake. */", 3, "sake"),
    ("Makefile", "all:\n\techo # unasked", 2, "unasked"),
]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", PLAIN)
def test_plain_text_has_no_problems(name: str, tmp_path: Path) -> None:
    assert prose.problems_of(write(tmp_path, name, PLAIN[name])) == []


@pytest.mark.parametrize(("name", "text", "line", "riddle"), RIDDLES)
def test_a_riddle_is_found_in_its_line(name: str, text: str, line: int, riddle: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, text)
    found = [problem.partition(": write ")[0] for problem in prose.problems_of(path)]
    assert f"{path}:{line}: {riddle!r}" in found


def test_the_advice_is_plain(tmp_path: Path) -> None:
    assert prose.problems_of(write(tmp_path, "a.md", "\n".join(prose.RIDDLES.values()))) == []


def test_a_doubled_word_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", '"""Adds.\n\nids\n    all ids, and the\n    the end.\n"""\n\n# at at character 7\n')
    assert prose.problems_of(path) == [
        f"{path}:4: 'the the': a word is written twice",
        f"{path}:8: 'at at': a word is written twice",
    ]


def test_a_long_line_of_markdown_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", f"short\n{LONG}\n| a | {LONG}|\n\n    {LONG[:100]}\n{LONG[:100]}\n")
    assert [problem.removeprefix(f"{path}:") for problem in prose.problems_of(path)] == [
        f"{line}: more than 100 columns" for line in (2, 3, 5)
    ]


def test_the_exit_status_tells_of_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = write(tmp_path, "good.md", "again"), write(tmp_path, "bad.md", "anew")
    assert prose.main([str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert prose.main([str(good), str(bad)]) == 1
    assert capsys.readouterr().out == f"{bad}:1: 'anew': write 'again, or new'\n"
