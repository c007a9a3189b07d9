r"""No control characters are printed: not from texts, ids, names of files, descriptions or errors.

Escape sequences begin with ESC or with a C1 control (U+0080 to U+009F). Bidirectional controls show text in a wrong
order. Line separators make two lines of one.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from cli.support import CommandLine
from hostile.fables import rewrite_description
from maxsieve.cli.lab import report
from maxsieve.common.printable import printable, printable_json
from maxsieve.common.progress import progress_bar

EVIL = "\x1b]0;owned\x07\x9b31m\u202egnp\u2066\u2069\u200e\u200f\u061c\u2028\u2029\x7f\x00\x08"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def check(*shown: str) -> None:
    for one in shown:
        assert not UNSAFE.search(one.replace("\r\n", "\n")), ascii(one)


def test_every_unsafe_character_is_replaced() -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        shown = printable(f"a{letter}b")
        assert len(shown) == 3
        assert not UNSAFE.search(shown) or letter == "\n", hex(code)
        if letter == "\n" or not letter.isprintable():
            assert "\n" not in shown


def test_json_keeps_its_content() -> None:
    everything = "".join(map(chr, range(0x3000))) + "\U0001f600\ud800 \udfff"
    for plain in (True, False):
        written = printable_json({EVIL: everything}, ascii_only=not plain)
        check(written)
        assert json.loads(written) == {EVIL: everything}
        assert ("é" in written) == plain


def test_names_of_files_in_messages(line: CommandLine) -> None:
    name = f"evil{EVIL}.jsonl".replace("\0", "")
    (line.folder / name).write_text("{broken\n")
    (line.folder / "texts").mkdir()
    (line.folder / "texts" / name.replace("jsonl", "txt")).write_bytes(b"a caf\xe9")
    (line.folder / "texts" / name.replace("jsonl", "pdf")).write_bytes(b"no PDF")
    for source, code in ((name, 1), ("texts", 6), (f"no{name}", 1)):
        done = line("index", "it.ms", source, code=code)
        check(done.stdout, done.stderr)
    done = line("search", f"no{name}", "fox", code=1)
    check(done.stdout, done.stderr)
    done = line("index", f"made{name}", "--dim", "0", stdin="a red fox")
    check(done.stdout, done.stderr)
    for command in (("info",), ("verify",), ("compact",), ("search", "fox"), ("delete", f"x{EVIL[1:-2]}")):
        done = line(command[0], f"made{name}", *command[1:], code=1 if command[0] == "delete" else 0)
        check(done.stdout, done.stderr)


def test_wrong_usage(line: CommandLine) -> None:
    evil = EVIL.replace("\0", "")
    for command in ((evil,), ("search", "it.ms", f"--{evil}"), ("index", "it.ms", "--format", evil)):
        check(line(*command, code=2).stderr)


def test_what_a_collection_says_of_itself(docs: CommandLine) -> None:
    def change(content: dict) -> None:
        content.update(encoder=f"e{EVIL}", fingerprint={f"k{EVIL}": f"v{EVIL}"})

    rewrite_description(docs.folder / "docs.ms", change)
    for command in (("info",), ("info", "--json"), ("verify",)):
        done = docs(command[0], "docs.ms", *command[1:])
        check(done.stdout, done.stderr)
    [facts] = docs.json("info", "docs.ms")
    assert facts["encoder"]["name"] == f"e{EVIL}", "JSON has it as it is"
    for command in (("search", "docs.ms", "fox"), ("add", "docs.ms")):
        done = docs(*command, stdin="text", code=1)
        check(done.stdout, done.stderr)


def test_texts_ids_and_queries(line: CommandLine) -> None:
    row = {"id": f"i{EVIL}", "text": f"red fox {EVIL}", "title": f"t{EVIL}", f"field{EVIL}": EVIL}
    line("index", "it.ms", "--dim", "0", stdin=json.dumps(row))
    for command in (("search", "red fox"), ("export", "-", "--texts"), ("search", "red fox", "--json", "--explain")):
        done = line(command[0], "it.ms", *command[1:])
        check(done.stdout, done.stderr)
    exported = json.loads(line("export", "it.ms", "-", "--texts").stdout)
    assert exported == {**row, "text": f"t{EVIL}".strip() + "\n" + row["text"]}
    done = line("search", "it.ms", stdin=f"red {EVIL}\n")
    check(done.stdout, done.stderr)
    done = line("search", "it.ms", "--json", stdin=f"red {EVIL}\n")
    check(done.stdout, done.stderr)
    done = line("rerank", "red fox", stdin=f"red {EVIL} fox\n")
    check(done.stdout, done.stderr)


def test_warnings(line: CommandLine) -> None:
    code = "import warnings, sys; from maxsieve.cli.console import showing_warnings\n"
    code += f"with showing_warnings(): warnings.warn({'w' + EVIL!r})\n"
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=line.env, timeout=60, check=True)
    check(done.stderr.decode())
    assert b"maxsieve: w" in done.stderr


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with progress_bar(f"made{EVIL} [bold]not markup[/bold]", 3, shown=True) as advance:
        advance(3)
    shown = capsys.readouterr().err
    check(shown)
    assert "[bold]not markup[/bold]" in shown


def test_a_traceback_is_printable_too(line: CommandLine) -> None:
    name = f"no{EVIL}.ms".replace("\0", "")
    env = {**line.env, "MAXSIEVE_DEBUG": "1"}
    import subprocess

    command = [sys.executable, "-m", "maxsieve.cli", "info", name]
    done = subprocess.run(command, capture_output=True, env=env, cwd=line.folder, timeout=60, check=False)
    assert b"Traceback" in done.stderr
    check(done.stderr.decode())


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_file_names_that_are_no_text(line: CommandLine) -> None:
    name = os.fsdecode(b"\xff\x9b31m.jsonl")
    Path(line.folder, name).write_text("{broken\n")
    check(line("index", "it.ms", name, code=1).stderr)


def test_the_lab_prints_names_of_corpora_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    folder = tmp_path / EVIL.replace("\0", "")
    for as_json in (False, True):
        report.tell(report.ReportEntry("margin", EVIL, None, True, 0.0), as_json=as_json)
        report.tell(report.ReportEntry("margin", EVIL, None, False, 0.0, f"failed: {EVIL}"), as_json=as_json)
        report.write_pages([], folder, as_json=as_json)
    check(*capsys.readouterr())
    assert (folder / "index.html").exists()
