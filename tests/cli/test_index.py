"""Inputs of `maxsieve index`: every format, field names, ids, metadata."""

from __future__ import annotations

import json

import pytest

from cli.support import CommandLine

ROWS = [{"id": "a", "text": "red fox", "n": "1"}, {"id": "b", "text": "green tea,\nblue owl", "n": "2"}]


def texts(line: CommandLine, collection: str = "it.ms") -> dict[str, dict[str, object]]:
    exported = line("export", collection, "-", "--texts").stdout
    return {row.pop("id"): row for row in map(json.loads, exported.splitlines())}


def expected() -> dict[str, dict[str, str]]:
    return {row["id"]: {"text": row["text"], "n": row["n"]} for row in ROWS}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("it.jsonl", "\n".join(map(json.dumps, ROWS))),
        ("it.ndjson", "\ufeff\n" + "\r\n\r\n".join(map(json.dumps, ROWS)) + "\r\n"),
        ("it.csv", '\ufeffid,text,n\na,red fox,1\n\nb,"green tea,\nblue owl",2\n'),
    ],
)
def test_a_file_is_read_by_its_suffix(line: CommandLine, name: str, content: str) -> None:
    line("index", "it.ms", line.write(name, content))
    assert texts(line) == expected()


def test_parquet(line: CommandLine) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    when = pa.array([0, 1], pa.timestamp("s"))
    ids, bodies = pa.array([7, 8]), pa.array(["red fox", "owl"])
    pq.write_table(pa.table({"id": ids, "text": bodies, "when": when}), line.folder / "it.parquet")
    assert line.json("index", "it.ms", "it.parquet")[0]["added"] == 2
    assert texts(line)["8"] == {"text": "owl", "when": "1970-01-01 00:00:01"}


def test_a_tsv_knows_no_quotes(line: CommandLine) -> None:
    line("index", "it.ms", line.write("it.tsv", 'id\ttext\na\t"red fox\nb\towl"\n'))
    assert {one: row["text"] for one, row in texts(line).items()} == {"a": '"red fox', "b": 'owl"'}


def test_a_folder_of_files(line: CommandLine) -> None:
    for name in ("notes/a.md", "notes/deep/b.TXT", "notes/c.unknown", "notes/.hidden/d.md"):
        line.write(name, f"red fox in {name}")
    line.write("notes/e.txt", b"\xef\xbb\xbfwith a mark")
    line("index", "it.ms", "notes")
    found = texts(line)
    assert list(found) == ["a.md", "deep/b.TXT", "e.txt"]
    assert found["e.txt"]["text"] == "with a mark"


def test_standard_input_is_json_lines_or_lines(line: CommandLine) -> None:
    line("index", "a.ms", stdin='{"id": 3, "text": "red fox"}\n')
    line("index", "b.ms", "-", stdin="red fox\n\n  owl \n")
    line("index", "c.ms", "--format", "lines", stdin='{"id": 3, "text": "red fox"}\n')
    assert list(texts(line, "a.ms")) == ["3"]
    assert [row["text"] for row in texts(line, "b.ms").values()] == ["red fox", "owl"]
    assert [row["text"] for row in texts(line, "c.ms").values()] == ['{"id": 3, "text": "red fox"}']


def test_field_names_are_options(line: CommandLine) -> None:
    row = {"key": "k1", "name": "The fox", "body": "A red fox.", "more": [1], "other": True}
    fields = ("--id-field", "key", "--text-field", "body", "--title-field", "name", "--keep", "name", "--keep", "more")
    line("index", "it.ms", *fields, stdin=json.dumps(row))
    assert texts(line) == {"k1": {"text": "The fox\nA red fox.", "name": "The fox", "more": [1]}}


def test_exported_texts_can_be_indexed_again(docs: CommandLine) -> None:
    docs("export", "docs.ms", "again.jsonl", "--texts")
    assert docs.json("add", "docs.ms", "again.jsonl")[0]["skipped"] == 3
    docs("index", "again.ms", "again.jsonl", "--dim", "0")
    assert texts(docs, "again.ms") == texts(docs, "docs.ms")


def test_several_sources(line: CommandLine) -> None:
    line.write("a.jsonl", '{"id": "a", "text": "red"}')
    line.write("b.csv", "id,text\nb,owl\n")
    assert line.json("index", "it.ms", "a.jsonl", "b.csv")[0]["added"] == 2


def test_encoder_dimension_and_store_are_kept_and_can_not_be_changed(docs: CommandLine) -> None:
    facts = docs.json("info", "docs.ms")[0]
    assert (facts["dim"], facts["store"], facts["encoder"]["name"]) == (16, "residual4", str(docs.model))
    for option, value in (("--dim", "8"), ("--store", "float32"), ("--pool", "2"), ("--encoder", "minilm")):
        assert "can't be changed" in docs("index", "docs.ms", "corpus.jsonl", option, value, code=1).stderr
    assert docs.json("index", "docs.ms", "corpus.jsonl", "--dim", "0", "--store", "residual4")[0]["skipped"] == 3


def test_pooled_vectors(docs: CommandLine) -> None:
    docs("index", "pooled.ms", "corpus.jsonl", "--pool", "2")
    whole, pooled = (docs.json("info", name)[0] for name in ("docs.ms", "pooled.ms"))
    assert (whole["pool"], pooled["pool"]) == (1, 2)
    assert pooled["tokens"] < 0.6 * whole["tokens"]
    assert pooled["room"]["parts"]["codes"] == 32 * pooled["tokens"]
    shown = docs("info", "pooled.ms").stdout
    assert "16 dimensions, residual4, one for every 2 tokens (pooled); byte codes until" in shown
    assert "times the texts" in shown
    assert "  codes of the vectors" in shown
    docs("add", "pooled.ms", stdin="another red fox\n", code=0)
    assert "deleted documents" not in shown
    docs("delete", "pooled.ms", "fox")
    assert "belong to deleted documents (maxsieve compact frees them)" in docs("info", "pooled.ms").stdout
    for knobs in ([], ["--policy", "bandit", "--margin", "0"]):
        assert "owl" in docs("search", "pooled.ms", "mountain", "owl", "-k", "1", *knobs).stdout


def test_add_replaces_only_when_asked(docs: CommandLine) -> None:
    changed = '{"_id": "fox", "text": "A blue fox."}'
    assert "--replace" in docs("add", "docs.ms", stdin=changed, code=1).stderr
    assert docs.json("add", "docs.ms", "--replace", stdin=changed)[0]["replaced"] == 1
    assert texts(docs, "docs.ms")["fox"] == {"text": "A blue fox."}


def test_add_needs_a_collection(line: CommandLine) -> None:
    assert "maxsieve index" in line("add", "none.ms", stdin="red", code=1).stderr
    assert not (line.folder / "none.ms").exists()


def test_cut_texts_are_reported_in_one_sentence(line: CommandLine) -> None:
    rows = [{"id": "reds", "text": "red " * 600}, {"id": "owl", "text": "owl"}]
    said = line(
        "index", "it.ms", "--dim", "0", "--no-split", stdin="".join(json.dumps(row) + "\n" for row in rows)
    ).stderr
    assert said.strip() == "maxsieve: 1 of 2 texts were cut at 512 tokens: 'reds'; the longest has 602"


def test_cut_texts_of_several_batches_are_added_up(line: CommandLine) -> None:
    long = [json.dumps({"id": f"long{i}", "text": f"{i} {'red ' * 600}"}) for i in range(120)]
    short = [json.dumps({"id": f"short{i}", "text": f"owl {i}"}) for i in range(1100)]
    said = line("index", "it.ms", "--dim", "0", "--no-split", stdin="\n".join(long + short)).stderr.splitlines()
    assert len(said) == 2
    assert said[-1] == (
        "maxsieve: in total, 120 of 1220 texts were cut at 512 tokens: 'long0', 'long1', 'long2' and 117 more; "
        "the longest has 605"
    )


def test_cut_queries_are_named_by_their_ids(docs: CommandLine) -> None:
    queries = [f"q{i}\t{i % 10} {'red ' * (600 + i // 40 if i % 40 == 3 else 1)}" for i in range(130)]
    docs.write("queries.tsv", "\n".join(queries))
    said = docs("search", "docs.ms", "--queries", "queries.tsv", "--run", "run", "-k", "1").stderr.splitlines()
    assert said[0] == "maxsieve: 2 of 64 texts were cut at 512 tokens: 'q3', 'q43'; the longest has 604"
    assert said[-1] == (
        "maxsieve: in total, 4 of 130 texts were cut at 512 tokens: 'q3', 'q43', 'q83' and 1 more; the longest has 606"
    )
