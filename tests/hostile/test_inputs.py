"""Inputs from others: pipes, devices and endless files are not documents, and nothing waits for them."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from cli.support import CommandLine
from maxsieve.text.inputs import reading
from maxsieve.text.inputs.lines import LONGEST_LINE, bounded_lines


def make(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "huge":
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    elif kind == "nowhere":
        path.symlink_to("/no/such/file")


@pytest.mark.parametrize("kind", ["pipe", "device", "huge", "nowhere"])
def test_what_is_no_file_in_a_folder_is_a_bad_document(line: CommandLine, kind: str) -> None:
    (line.folder / "texts").mkdir()
    (line.folder / "texts" / "good.txt").write_text("a red fox")
    make(line.folder / "texts" / "evil.txt", kind)
    assert "evil.txt" in line("index", "it.ms", "texts", "--dim", "0", "--strict", code=1).stderr
    done = line("index", "it.ms", "texts", "--dim", "0", code=6)
    assert "1 documents" in done.stdout
    assert "skipped 1 document that can't be read" in done.stderr
    assert "evil.txt" in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_a_text_file_that_is_none(line: CommandLine, kind: str) -> None:
    make(line.folder / "evil.md", kind)
    assert "evil.md" in line("index", "it.ms", "evil.md", code=1).stderr


@pytest.mark.parametrize("name", ["evil.jsonl", "evil.csv", "evil.tsv"])
def test_a_line_without_end(line: CommandLine, name: str) -> None:
    (line.folder / name).symlink_to("/dev/zero")
    done = line("index", "it.ms", name, code=1)
    assert name in done.stderr
    assert "Memory" not in done.stderr


def test_lines_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LONGEST_LINE >= 1 << 26
    (tmp_path / "it").write_bytes(b"short\n" + b"x" * 100 + b"\nlast")
    with open(tmp_path / "it", "rb") as file:
        assert list(bounded_lines(file, "it", 101)) == [b"short\n", b"x" * 100 + b"\n", b"last"]
    with open(tmp_path / "it", "rb") as file, pytest.raises(ValueError, match=r"^it, line 2: .*\b99\b"):
        list(bounded_lines(file, "it", 99))


def test_a_pipe_that_the_user_names_is_read_once(line: CommandLine) -> None:
    """Like the shell's ``<(...)``: counting its lines first would consume them."""
    os.mkfifo(line.folder / "pipe")
    writer = threading.Thread(target=lambda: (line.folder / "pipe").write_text("a red fox\ngreen tea\n"), daemon=True)
    writer.start()
    done = line("index", "it.ms", "pipe", "--format", "lines", "--dim", "0", "--progress")
    assert "2 added" in done.stdout
    writer.join(10)


def test_queries_from_a_file_without_end(docs: CommandLine) -> None:
    (docs.folder / "queries.txt").symlink_to("/dev/zero")
    assert "queries.txt" in docs("search", "docs.ms", "--queries", "queries.txt", code=1).stderr


def test_a_count_never_opens_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert reading.Input(str(tmp_path / "pipe.jsonl")).count() is None


def test_a_hostile_csv_field(line: CommandLine) -> None:
    with open(line.folder / "it.csv", "wb") as file:
        file.write(b'id,text\na,"')
        for _ in range(70):
            file.write(b"x" * ((1 << 20) - 1) + b"\n")
    done = subprocess.run(
        line.command("index", "it.ms", "it.csv"), capture_output=True, env=line.env, cwd=line.folder, timeout=120
    )
    assert done.returncode == 1
    assert b"it.csv, line" in done.stderr
