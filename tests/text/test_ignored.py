"""The rules of ``.gitignore``: what git says about these trees (``git ls-files --others --exclude-standard``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxsieve.text.inputs.ignored import IgnoreRules
from maxsieve.text.inputs.survey import survey

FOLDERS = ("", "x", "sub", "sub/x", "sub/x/deep")


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"": "*.py\n!a.py"}, ["a.py", "sub/a.py", "sub/x/a.py", "sub/x/deep/a.py", "x/a.py"]),
        ({"": "x/\n!sub/\n!*.py"}, ["a.py", "b.py", "sub/a.py", "sub/b.py"]),
        ({"": "x\n", "sub": "!*/\na.py"}, ["a.py", "b.py", "sub/b.py", "sub/x/b.py", "sub/x/deep/b.py"]),
        ({"": "sub", "sub/x": "!a.py"}, ["a.py", "b.py", "x/a.py", "x/b.py"]),  # an ignored folder is not entered
        ({"": "/x\n/sub/x/*\n!deep"}, ["a.py", "b.py", "sub/a.py", "sub/b.py", "sub/x/deep/a.py", "sub/x/deep/b.py"]),
        ({"": "sub/**/a.py\n**/deep/"}, ["a.py", "b.py", "sub/b.py", "sub/x/b.py", "x/a.py", "x/b.py"]),
        ({"": "sub/**\nx/**/b.py"}, ["a.py", "b.py", "x/a.py"]),
        ({"": "*\n!*/\n!/x/a.py"}, ["x/a.py"]),
        ({"": "sub/\r\nx/ \r\n[!a].py\r\n"}, ["a.py"]),
        ({"": "\ufeff/x\n/sub\n# b.py\n\\#\n[^b].p[xyz]\n"}, ["b.py"]),
        ({"": "x\nsub\n?.py/\n[ab\na.py\\\n\\a.py\n/\n!\n"}, ["b.py"]),
        ({"": "**\n!b.py"}, ["b.py"]),
        ({"": "[[:alpha:]]\n[]b].py"}, ["a.py", "sub/a.py"]),
        (
            {"": "a.py\t\n[*\n[*/]b.py\nsub\\/x"},
            ["a.py", "b.py", "sub/a.py", "sub/b.py", "x/a.py", "x/b.py"],
        ),
        ({"": "x/***/b.py\n***/deep\n[z-a].py\n[\\a].py"}, ["b.py", "sub/b.py", "sub/x/b.py"]),
        ({"": "sub/[/x]\n[[:digit:]b-z].py"}, ["a.py", "sub/a.py", "x/a.py"]),
        ({"": "[]\n[!]\n[[:no:]a].py\n[b-].py"}, ["a.py", "sub/a.py", "sub/x/a.py", "sub/x/deep/a.py", "x/a.py"]),
    ],
)
def test_what_is_left_of_a_tree(files: dict[str, str], left: list[str], tmp_path: Path) -> None:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in ("a.py", "b.py"):
            (tmp_path / folder / name).write_text("pass\n")
    for folder, rules in files.items():
        (tmp_path / folder / ".gitignore").write_bytes(rules.encode())
    assert [file.id for file in survey(tmp_path).files] == left


def test_hostile_patterns_take_no_time() -> None:
    rules = IgnoreRules(
        "\n".join(["*a" * 100 + "b", "**/" * 500 + "b", "/".join(["*a*a*a*b"] * 50), "a**" * 100 + "b"])
    )
    assert rules.verdict(["a" * 250] * 60) is None
    assert rules.verdict(["a" * 250] * 60 + ["b"]) is True
    assert IgnoreRules("[" * 100_000 + "\n" + "[:a" * 100_000).verdict(["a"]) is None
    assert IgnoreRules("*a*b*c\n*d*e*f").verdict(["xdyezf"]) is True  # two patterns with groups
