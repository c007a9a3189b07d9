"""`maxsieve grep`: its lines, its options, and the exit codes of grep."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from cli.support import COMMAND, CommandLine

CODE = "import os\n\n\ndef red_fox(path):\n    return path\n"


@pytest.fixture
def tree(line: CommandLine) -> CommandLine:
    """A folder src with two files."""
    (line.folder / "src").mkdir()
    (line.folder / "src" / "fox.py").write_text(CODE)
    (line.folder / "src" / "tea.md").write_text("Green tea and blue bread.\n")
    return line


def test_a_hit_has_its_lines(tree: CommandLine) -> None:
    done = tree("grep", "the red fox", "src")
    assert done.stdout.startswith("src/fox.py:1-5:")
    assert "4: def red_fox(path):" in done.stdout
    assert "BM25 selected from 2 files" in done.stderr
    assert "maxsieve grep --index" in done.stderr


def test_only_files(tree: CommandLine) -> None:
    assert tree("grep", "the red fox", "src", "-l").stdout == "src/fox.py\n"
    assert tree("grep", "red fox, green tea", "src", "-l", "--type", "md").stdout == "src/tea.md\n"


def test_json(tree: CommandLine) -> None:
    [answer] = tree.json("grep", "the red fox", "src", "-k", "1")
    [hit] = answer["hits"]
    assert (hit["path"], hit["first"], hit["last"], hit["text"]) == ("src/fox.py", 1, 5, CODE.strip())
    assert answer["indexed"] is False


def test_a_pattern_is_required(tree: CommandLine) -> None:
    assert "5:     return path" in tree("grep", "the red fox", "src", "-e", "return +path").stdout
    assert tree("grep", "the red fox", "src", "-e", "return nothing", code=1).stdout == ""
    assert "-e" in tree("grep", "the red fox", "src", "-e", "(", code=2).stderr


def test_an_index_is_made_and_used(tree: CommandLine) -> None:
    done = tree("grep", "the red fox", "src", "--index")
    assert "2 files added" in done.stderr
    assert "exact among 2 passages" in done.stderr
    [answer] = tree.json("grep", "the red fox", "src")
    assert answer["indexed"] is True
    assert json.dumps(answer).count("fox.py") == 1


def test_exit_codes_are_those_of_grep(tree: CommandLine) -> None:
    assert "no passage shares a word" in tree("grep", "zebra", "src", code=1).stderr
    tree("grep", "zebra", "nowhere", code=2)
    tree("grep", "", "src", code=2)
    tree("grep", "the red fox", "src/fox.py", code=2)
    tree("grep", "the red fox", "src", "-k", "0", code=2)


def test_escape_sequences_do_not_reach_the_terminal(tree: CommandLine) -> None:
    (tree.folder / "src" / "evil\x1b[31m.md").write_text("a coffee\x1b]0;title\x07 river\n")
    assert "\x1b" not in tree("grep", "coffee river", "src").stdout
    (tree.folder / "src" / "new\nline.md").write_text("a coffee river\n")
    assert "new\nline" not in tree("grep", "coffee river", "src", "-l").stdout


def test_the_cache_shows_and_removes_the_index(tree: CommandLine) -> None:
    tree("grep", "the red fox", "src", "--index")
    assert "folders" in tree("cache").stdout
    tree("cache", "clear", "folders", "--yes")
    [answer] = tree.json("grep", "the red fox", "src")
    assert answer["indexed"] is False


def test_a_folder_without_text_is_named(tree: CommandLine) -> None:
    for name in ("empty", "data"):
        (tree.folder / name).mkdir()
    (tree.folder / "data" / "a.bin").write_bytes(b"\0\1")
    (tree.folder / "data" / "b.txt").write_bytes(b"\0\1" * 999)
    said = tree.unaided("grep", "the red fox", "empty", code=1).stderr
    assert said == "maxsieve: nothing was searched: empty has no file with text or source code\n", (
        "a model is not needed"
    )
    said = tree("grep", "the red fox", "src", "--type", "go", code=1).stderr
    assert "nothing was searched: src has no file of these types with text" in said
    said = tree("grep", "the red fox", "data", code=1).stderr
    assert "left out: b.txt (it is binary, not text)" in said
    assert "--index" not in said
    (tree.folder / "data" / "b.txt").unlink()
    said = tree("grep", "the red fox", "data", code=1).stderr
    assert "1 file is of other kinds: 1 .bin" in said
    assert "nothing was searched: data has no file with text" in said


def test_without_a_model_the_command_that_fetches_it_is_named(tree: CommandLine) -> None:
    said = tree.unaided("grep", "the red fox", "src", code=5).stderr
    assert "the model minilm is not in the cache" in said
    assert "maxsieve model fetch minilm downloads it" in said


def test_a_pattern_may_begin_with_a_dash(tree: CommandLine) -> None:
    (tree.folder / "src" / "flags.md").write_text("The red fox takes --quick and -q.\n")
    assert tree("grep", "the red fox", "src", "-l", "-e", "--quick").stdout == "src/flags.md\n"
    model = ["--encoder", str(tree.model)]
    assert tree("grep", *model, "-l", "-e", "-q", "--", "the red fox", "src").stdout == "src/flags.md\n"
    assert "expected one argument" in tree("grep", *model, "the red fox", "src", "-e", code=2).stderr


def test_wrong_options_are_named(tree: CommandLine) -> None:
    for words in (["-k", "many"], ["-k", "9" * 5000], ["--ind"], ["src", "more"]):
        said = tree("grep", "the red fox", "src", *words, code=2).stderr
        assert said.endswith("; see maxsieve grep --help\n")
        assert len(said.splitlines()) == 1
    assert "QUESTION" in tree("grep", code=2).stderr
    assert tree("grep", "--help").stdout == tree("--traceback", "grep", "--help").stdout
    words = ["the red fox", "src", "-l", "-k", "1", "--encoder", str(tree.model)]
    assert tree("--traceback", "grep", *words).stdout == "src/fox.py\n"


def test_styles_are_for_terminals(tree: CommandLine) -> None:
    plain = tree("grep", "the red fox", "src").stdout
    tree.extra["FORCE_COLOR"] = "1"
    styled = tree("grep", "the red fox", "src").stdout
    assert "\x1b[1m" in styled
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", styled) == plain


REPORT = """
import sys
from maxsieve.cli import main
sys.argv = ["maxsieve", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""


def test_a_call_loads_little(tree: CommandLine) -> None:
    """Counts, not times: what a call imports is most of what it takes."""
    never = {"typer", "click", "pydantic", "rich", "torch", "pyarrow", "bm25s", "huggingface_hub", "tree_sitter"}

    def loaded(*words: str) -> set[str]:
        command = [sys.executable, "-c", REPORT, *tree.command(*words)[len(COMMAND) :]]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tree.folder, env=tree.env)
        return set(done.stdout.splitlines()[-1].split())

    for path in (tree.folder / "src").iterdir():
        os.utime(path, (1, 1))  # files that were written just now are read again
    tree("grep", "the red fox", "src", "--index")
    answer, start = loaded("grep", "the red fox", "src", "-k", "1"), loaded("grep", "--help")
    for found in (answer, start):
        assert not {name.partition(".")[0] for name in found} & never
    assert not {"onnxruntime", "tokenizers", "maxsieve.text.collection.collection"} & start
    assert {"onnxruntime", "tokenizers"} <= answer
    assert len(start) < 330
    assert len(answer) < 440, " ".join(sorted(answer - start))
