"""Bad input is reported with file and line. It is refused, or skipped and counted, and nothing is left half done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.support import CommandLine
from maxsieve.cli.failures import sentence
from maxsieve.text.inputs.document import BadInput, Fields
from maxsieve.text.inputs.reading import DocumentReader, Input

GOOD = b'{"id": "a", "text": "red fox"}\n'


@pytest.mark.parametrize(
    ("name", "content", "where", "why"),
    [
        ("it.jsonl", GOOD + b'{"id": "b", "text": ', "it.jsonl, line 2", "not JSON"),
        ("it.jsonl", GOOD + b'{"id": "b', "it.jsonl, line 2", "not JSON: Unterminated string starting at character 8"),
        (
            "it.jsonl",
            GOOD + b'{"id": "b\x01"}',
            "it.jsonl, line 2",
            "not JSON: Invalid control character at character 10",
        ),
        ("it.jsonl", GOOD + b'\n{"id": "b", "text": "\xff"}', "it.jsonl, line 3", "not UTF-8"),
        ("it.jsonl", GOOD + b'["red", "owl"]', "it.jsonl, line 2", "a list"),
        ("it.jsonl", GOOD + b'{"id": "b", "body": "owl"}', "it.jsonl, line 2", "--text-field"),
        ("it.jsonl", GOOD + b'{"id": "b", "text": null}', "it.jsonl, line 2", "null"),
        ("it.jsonl", GOOD + b'{"id": 1.5, "text": "owl"}', "it.jsonl, line 2", "1.5"),
        ("it.jsonl", GOOD + b'{"id": true, "text": "owl"}', "it.jsonl, line 2", "True"),
        ("it.jsonl", GOOD + b'{"id": "", "text": "owl"}', "it.jsonl, line 2", "empty"),
        ("it.jsonl", GOOD + b'{"text": "owl"}', "it.jsonl, line 2", "no id"),
        ("it.jsonl", GOOD + b'{"id": "a", "text": "owl"}', "it.jsonl, line 2", "it.jsonl, line 1"),
        ("it.jsonl", GOOD + b'{"id": "b", "text": "\\ud800"}', "it.jsonl, line 2", "surrogate"),
        ("it.jsonl", GOOD + b'{"id": "b", "text": "owl", "n": NaN}', "it.jsonl, line 2", "NaN"),
        ("it.jsonl", GOOD + b'{"id": "b", "text": "owl", "n": ' + b"[" * 100_000, "it.jsonl, line 2", "not JSON"),
        ("it.csv", b"id,text\na,red fox\nb,owl,more\n", "it.csv, line 3", "3 fields"),
        ("it.csv", b'id,text\na,red fox\nb,"owl\nc,tea\n', "it.csv, line 3", "unexpected end"),
        ("it.csv", b"id,text\na,red fox\nb,\xff\n", "it.csv, line 3", "not UTF-8"),
        ("it.tsv", b"id\ttext\na\tred fox\nb\n", "it.tsv, line 3", "1 fields"),
        ("folder/b.txt", b"\xff\0", "folder/b.txt", "binary"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, name: str, content: bytes, where: str, why: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    if name.startswith("folder"):
        (tmp_path / "folder/a.txt").write_text("red fox")
        path = tmp_path / "folder"
    source = Input(str(path))
    with pytest.raises(BadInput) as refused:
        list(DocumentReader([source], Fields(), strict=True))
    assert f"{tmp_path}/{where}: " in str(refused.value)
    assert why in sentence(refused.value)
    intake = DocumentReader([source], Fields(), skip_bad=True)
    assert [record.text for record in intake] == ["red fox"]
    assert (intake.bad, str(intake.problems[0])) == (1, str(refused.value))


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("it.jsonl", GOOD + b'{"id": "b", "text": ', "it.jsonl, line 2: "),
        ("it.csv", b"id,text\na,red fox\nb,\xff\n", "it.csv, line 3: "),
    ],
)
def test_a_bad_line_is_refused_or_skipped(line: CommandLine, name: str, content: bytes, where: str) -> None:
    source = line.write(name, content)
    said = line("index", "it.ms", source, code=1).stderr
    assert said.startswith("maxsieve: ")
    assert where in said
    assert said.count("\n") == 1
    done = line("index", "it.ms", source, "--skip-bad", "--json")
    assert '"added": 1' in done.stdout
    assert '"bad": 1' in done.stdout
    assert "skipped 1" in done.stderr
    assert where in done.stderr
    line("verify", "it.ms")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("it.csv", "id,id,text\n1,2,red\n", "'id' twice"),
        ("it.csv", "id/text\n1/red\n", "'id/text'"),
        ("it.csv", "id;body\n1;red\n", "'id;body'"),
        ("it.tsv", "id\tbody\n1\tred\n", "--text-field"),
        ("it.jsonl", b"\xff\xfe{\x00", "UTF-16"),
        ("it.xyz", "red", "--format"),
        ("it.jsonl", '[{"id": 1, "text": "red"}]', "--format json"),
        ("it.jsonl.gz", b'{"id": 1, "text": "red"}', "gzip"),
        ("it.parquet.gz", b"red", "gunzip"),
        ("it.pdf.gz", b"red", "gunzip"),
        ("it.parquet", "red", "Parquet"),
        ("folder/a.unknown", "red", "no file in"),
    ],
)
def test_a_bad_source_is_refused(tmp_path: Path, name: str, content: str | bytes, why: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))) as refused:
        list(DocumentReader([Input(str(path).removesuffix("/a.unknown"))], Fields(), skip_bad=False))
    assert why in sentence(refused.value)


def test_a_bad_source_makes_no_collection(line: CommandLine) -> None:
    line("index", "it.ms", line.write("it.jsonl", "oops\n"), code=1)
    assert not (line.folder / "it.ms").exists()


def test_what_came_before_a_bad_line_stays_and_the_mended_file_goes_on(line: CommandLine) -> None:
    lines = [f'{{"id": {i}, "text": "fox {i}"}}' for i in range(3000)]
    line.write("it.jsonl", "\n".join([*lines, "oops"]))
    assert "it.jsonl, line 3001" in line("index", "it.ms", "it.jsonl", "--dim", "0", code=1).stderr
    kept = line.json("verify", "it.ms")[0]["documents"]
    assert 0 < kept < 3000
    line.write("it.jsonl", "\n".join(lines))
    done = line.json("index", "it.ms", "it.jsonl", "--dim", "0")[0]
    assert (done["skipped"], done["added"], done["documents"]) == (kept, 3000 - kept, 3000)


def test_the_same_document_twice_is_taken_once(line: CommandLine) -> None:
    assert line.json("index", "it.ms", stdin=GOOD * 2)[0]["added"] == 1


def test_no_documents_at_all(line: CommandLine) -> None:
    assert line.json("index", "it.ms", stdin="\n")[0]["documents"] == 0
    assert line("search", "it.ms", "red").stdout.startswith("no hits")
