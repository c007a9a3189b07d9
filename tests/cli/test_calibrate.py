"""`maxsieve calibrate`, and what `search`, `info` and `index --store` say about it."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path

import pytest

from cli.support import CommandLine
from cli.tiny_model import WORDS
from maxsieve.cli.calibrate import forecast
from maxsieve.text import Collection, OnnxEncoder
from maxsieve.text.collection.query_log import QueryLog


def texts(count: int, seed: int, words: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices([*WORDS, *"abcdefghij"], k=words)) for _ in range(count)]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A collection of 300 documents."""
    path = tmp_path_factory.mktemp("made") / "docs.ms"
    with Collection.create(path, OnnxEncoder(tiny_model), dim=None, store="int8") as collection:
        collection.add(texts(300, 1, 9))
    return path


@pytest.fixture
def many(line: CommandLine, made: Path) -> CommandLine:
    """A copy of it, docs.ms, and queries.txt with 120 queries."""
    shutil.copytree(made, line.folder / "docs.ms")
    line.write("queries.txt", "\n".join(texts(120, 2, 3)))
    return line


def test_queries_of_a_file(many: CommandLine) -> None:
    shown = many("calibrate", "docs.ms", "--queries", "queries.txt", "-k", "20").stdout.splitlines()
    assert re.fullmatch(
        r"docs\.ms: calibrated on 120 queries for k up to 20 in [\d.]+ s; codebook: [\d,]+ centroids", shown[0]
    )
    assert shown[-1].startswith("  searches stay exact")
    for row, overlap in zip(shown[1:-2], ("0.99", "0.95", "0.9"), strict=True):
        assert re.fullmatch(rf"  --overlap {overlap}: \d+ of \d+ documents are followed up for a top 10", row)
    [answer] = many.json("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated", "--overlap", "0.9")
    report = answer["report"]
    assert (report["guarantee"], report["calibrated_on"], report["calibration_queries"]) == (
        "calibrated",
        "queries",
        120,
    )
    assert (report["added"], report["deleted"]) == (0, 0)
    assert 5 <= report["survivors"] < report["documents"]
    said = many("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated", "--overlap", "0.9").stdout
    assert (
        "calibrated: at least 90 % of the true top 5 on average, over queries like the 120 it was calibrated on; "
        f"{report['survivors']} of {report['documents']} documents followed up · "
    ) in said
    for policy in ("certified", "bandit"):
        [answer] = many.json("search", "docs.ms", "red fox", "--policy", policy)
        assert "calibrated_on" not in answer["report"]


@pytest.mark.parametrize("written", ["tsv", "jsonl", "-"])
def test_queries_are_read_as_search_reads_them(many: CommandLine, written: str) -> None:
    rows = texts(20, 3, 3)
    content = {
        "tsv": "".join(f"q{i}\t{row}\n" for i, row in enumerate(rows)),
        "jsonl": "".join(json.dumps({"_id": i, "text": row}) + "\n" for i, row in enumerate(rows)),
        "-": "".join(f"{row}\n" for row in rows),
    }[written]
    many.write("some", content)
    name, stdin = ("-", content) if written == "-" else ("some", "")
    [said] = many.json("calibrate", "docs.ms", "--queries", name, "-k", "10", stdin=stdin)
    assert (said["queries"], said["k"], said["calibrated_on"]) == (20, 10, "queries")
    needs = said["survivors"]
    assert needs["0.99"] is None, "20 are too few"
    assert 10 <= needs["0.9"] <= needs["0.95"]


def test_too_few_queries_say_how_many_are_missing(many: CommandLine) -> None:
    many.write("few", "\n".join(texts(15, 4, 3)))
    shown = many("calibrate", "docs.ms", "--queries", "few").stdout
    assert "--overlap 0.99: needs 99 queries, 84 more than there are" in shown
    assert "--overlap 0.95: needs 19 queries, 4 more than there are" in shown
    assert "followed up for a top 10" in shown
    assert re.search(r"a search for 10 takes [\d.,]+ ms with --overlap 0.93, [\d.,]+ ms without", shown)
    done = many("search", "docs.ms", "red", "--policy", "calibrated")
    said = "was calibrated with 15 queries, which is enough for --overlap 0.93: searching with that; 0.99 needs 99"
    assert said in done.stderr
    assert "calibrated: at least 93 % of the true top 10 on average" in done.stdout or "exact among" in done.stdout


def test_own_sentences_changes_and_again(many: CommandLine) -> None:
    many("calibrate", "docs.ms", "-k", "10")
    said = many("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated").stdout
    assert "calibrated on sentences: at least 99 % of the true top 5 on average, " in said
    assert "over sentences like the 200 of its own it was calibrated on" in said
    shown = many("info", "docs.ms").stdout
    assert re.search(r"codebook +[\d,]+ centroids\n", shown)
    assert re.search(
        r"calibration +on 200 sentences of its documents, k up to 10, 0 minutes old; no documents changed since\n",
        shown,
    )
    many("add", "docs.ms", stdin="\n".join(texts(2, 5, 9)))
    said = many("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated").stdout
    assert "it was calibrated on; 2 documents added since; " in said
    many("add", "docs.ms", stdin="\n".join(texts(40, 6, 9)))
    said = many("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated").stdout
    assert "it was calibrated on; 42 documents added since; " in said
    assert "0 minutes old; 42 documents added since\n" in many("info", "docs.ms").stdout
    facts = many.json("info", "docs.ms")[0]["calibration"]
    assert (facts["added"], facts["holds"], facts["calibrated_on"]) == (42, True, "own sentences")
    [again] = many.json("calibrate", "docs.ms", "--again")
    assert (again["queries"], again["k"], again["calibrated_on"]) == (200, 10, "own sentences")
    [answer] = many.json("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated")
    assert (answer["report"]["guarantee"], answer["report"]["added"]) == ("calibrated on sentences", 0)


def test_queries_that_a_service_has_kept(many: CommandLine) -> None:
    said = many("calibrate", "docs.ms", "--from-log", code=1).stderr
    assert "docs.ms has no log of queries: maxsieve serve --log-queries keeps one" in said
    log = QueryLog(many.folder / "docs.ms")
    for text in texts(30, 8, 3):
        log.take(text)
    log.close()
    [said] = many.json("calibrate", "docs.ms", "--from-log", "-k", "10")
    assert (said["queries"], said["calibrated_on"]) == (30, "queries")
    many("verify", "docs.ms")


def test_a_filter(many: CommandLine) -> None:
    rows = [{"_id": f"f{i}", "text": text, "n": i % 2} for i, text in enumerate(texts(300, 7, 9))]
    many("add", "docs.ms", "-", stdin="".join(json.dumps(row) + "\n" for row in rows))
    odd = '{"n": 1}'
    shown = many("calibrate", "docs.ms", "--queries", "queries.txt", "-k", "10", "--where", odd).stdout
    assert 'docs.ms: calibrated on 120 queries with the filter {"n": 1} for k up to 10' in shown
    assert re.search(r"--overlap 0\.9: \d+ of 150 documents are followed up for a top 10", shown)
    arguments = ("search", "docs.ms", "red fox", "-k", "5", "--policy", "calibrated", "--overlap", "0.9")
    assert "at least 90 % of the true top 5 with this filter on average" in many(*arguments, "--where", odd).stdout
    assert "exact among 150 documents that match the filter" in many(*arguments, "--where", '{"n": 0}').stdout
    assert "docs.ms is not calibrated: run maxsieve calibrate" in many(*arguments, code=1).stderr
    shown = many("info", "docs.ms").stdout
    assert re.search(r'calibration +none\n  for filters +\{"n": 1\}\n', shown)
    [said] = many.json("calibrate", "docs.ms", "-k", "10", "--where", '{"n": 0}')
    assert (said["where"], said["calibrated_on"], said["queries"]) == ({"n": 0}, "own sentences", 150)
    many("calibrate", "docs.ms", "-k", "10")
    again = many.json("calibrate", "docs.ms", "--again")
    assert [(one.get("where"), one["queries"]) for one in again] == [(None, 200), ({"n": 0}, 150), ({"n": 1}, 120)]
    assert "no documents match the filter" in many("calibrate", "docs.ms", "--where", '{"n": 7}', code=1).stderr


def test_candidates_of_a_first_stage(many: CommandLine) -> None:
    pytest.importorskip("bm25s")
    many("calibrate", "docs.ms", "--queries", "queries.txt")
    arguments = ("search", "docs.ms", "red fox", "-k", "2", "--policy", "calibrated", "--first-stage", "bm25")
    assert "exact among 3 candidates of bm25 · " in many(*arguments, "--depth", "3").stdout
    arguments = ("search", "docs.ms", " ".join(WORDS), *arguments[3:], "--overlap", "0.5", "--depth", "250")
    assert re.search(r"exact among 2\d\d candidates of bm25 · ", many(*arguments).stdout)


def test_a_hybrid_search_is_not_what_was_calibrated(many: CommandLine) -> None:
    pytest.importorskip("bm25s")
    many("calibrate", "docs.ms", "--queries", "queries.txt")
    arguments = ("search", "docs.ms", "red fox", "-k", "2", "--policy", "calibrated", "--overlap", "0.5")
    expected = (
        r"no guarantee \(the calibration covers only late interaction\); \d+ of 300 documents followed up"
        r" · by rank among the 5 best of BM25 and of late interaction · "
    )
    assert re.search(expected, many(*arguments, "--hybrid", "rrf", "--depth", "5").stdout)


def test_a_collection_that_is_not_calibrated(many: CommandLine) -> None:
    for arguments in (["search", "docs.ms", "red", "--policy", "calibrated"], ["calibrate", "docs.ms", "--again"]):
        said = many(*arguments, code=1).stderr
        assert "docs.ms is not calibrated: run maxsieve calibrate" in said
    shown = many("info", "docs.ms").stdout
    assert re.search(r"codebook +none\n", shown)
    assert re.search(r"calibration +none\n", shown)
    assert many.json("info", "docs.ms")[0]["calibration"] is None


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("", "there is no query in q.txt"),
        ("q1\tred\nno tab\n", "q.txt, line 2: "),
        ('{"text": "red"}\n{"text": " "}\n', "q.txt, line 2: the query is empty"),
        (b"red\n\xff\n", "q.txt, line 2: "),
    ],
)
def test_bad_queries_change_nothing(many: CommandLine, content: str | bytes, where: str) -> None:
    many.write("q.txt", content)
    assert where in many("calibrate", "docs.ms", "--queries", "q.txt", code=1).stderr
    assert many.json("info", "docs.ms")[0]["codebook"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "docs.ms", "red", "--overlap", "0.9"],
        ["search", "docs.ms", "red", "--policy", "calibrated", "--overlap", "1"],
        ["search", "docs.ms", "red", "--policy", "calibrated", "--alpha", "0.2"],
        ["search", "docs.ms", "red", "--policy", "bandit", "--overlap", "0.9"],
        ["rerank", "red", "--policy", "calibrated"],
        ["calibrate", "docs.ms", "-k", "0"],
        ["calibrate", "docs.ms", "--again", "-k", "5"],
        ["calibrate", "docs.ms", "--again", "--where", '{"n": 1}'],
        ["calibrate", "docs.ms", "--where", "{"],
        ["calibrate", "docs.ms", "--where", '{"n": {"about": 1}}'],
        ["calibrate", "docs.ms", "--again", "--queries", "q.txt"],
        ["calibrate", "docs.ms", "--again", "--from-log"],
        ["calibrate", "docs.ms", "--from-log", "--queries", "q.txt"],
    ],
)
def test_wrong_usage(docs: CommandLine, arguments: list[str]) -> None:
    done = docs(*arguments, code=2)
    assert done.stdout == ""
    assert re.fullmatch(r"maxsieve: .* --help\n", done.stderr)


@pytest.mark.parametrize("store", ["float32", "float16", "int8"])
def test_stores(line: CommandLine, store: str) -> None:
    line("index", "it.ms", "--dim", "0", "--store", store, stdin="red fox\nblue owl\ngreen tea\n")
    assert line.json("info", "it.ms")[0]["store"] == store
    [answer] = line.json("search", "it.ms", "red fox", "-k", "1")
    assert answer["hits"][0]["text"] == "red fox"
    line("export", "it.ms", "it.npz")
    line("verify", "it.ms")


def test_how_long_it_takes_is_said_before(many: CommandLine) -> None:
    with Collection.open(many.folder / "docs.ms", str(many.model)) as collection:
        expected = forecast(collection, 300, 10)
        assert expected.seconds > 0
        assert expected.work == f"300 exact searches and a codebook for {collection.index.tokens:,} tokens"
        collection.calibrate(k=10)
        assert forecast(collection, 300, 10).work == "300 exact searches"
