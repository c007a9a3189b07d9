"""Outputs of `maxsieve search`: hits for people, for programs, for trec_eval."""

from __future__ import annotations

import json
import struct
import subprocess

import pytest

from cli.support import CommandLine, write_jsonl


def test_hits_for_people(docs: CommandLine) -> None:
    shown = docs("search", "docs.ms", "red", "fox", "-k", "2").stdout.splitlines()
    assert shown[0].split(maxsplit=2)[::2] == ["1", "The fox (fox)"]
    assert shown[1].strip() == "A red fox by the river."
    assert shown[-1].startswith("exact among 3 documents · ")
    assert "\x1b" not in "".join(shown)
    assert max(map(len, shown)) <= 80


def test_hits_for_programs(docs: CommandLine) -> None:
    [answer] = docs.json("search", "docs.ms", "red fox", "-k", "1", "--explain")
    assert answer["query"] == "red fox"
    [hit] = answer["hits"]
    assert (hit["rank"], hit["id"], hit["metadata"]) == (1, "fox", {"title": "The fox", "year": 1999})
    assert [(m["query"], hit["text"][m["start"] : m["end"]]) for m in hit["matches"]] == [
        ("red", "red"),
        ("fox", "fox"),
    ]
    assert hit["score"] == pytest.approx(2, abs=0.01)
    assert {"guarantee", "scope", "documents", "rescored", "encode_seconds"} <= answer["report"].keys()


@pytest.mark.parametrize("policy", ["certified", "exhaustive", "bandit"])
def test_policies(docs: CommandLine, policy: str) -> None:
    [answer] = docs.json("search", "docs.ms", "green tea", "-k", "3", "--policy", policy, "--threads", "1")
    assert answer["hits"][0]["id"] == "tea"
    assert answer["report"]["guarantee"] in ("exact", "none")


def test_a_first_stage_narrows_the_guarantee(docs: CommandLine) -> None:
    pytest.importorskip("bm25s")
    arguments = ("search", "docs.ms", "a fox on a mountain", "--first-stage", "bm25", "--depth", "2")
    [answer] = docs.json(*arguments)
    assert (answer["report"]["scope"], answer["report"]["documents"]) == ("candidates", 2)
    assert "exact among 2 candidates of bm25 · " in docs(*arguments).stdout


def test_bm25_is_combined_with_late_interaction(docs: CommandLine) -> None:
    pytest.importorskip("bm25s")
    weighed, ranked = (("search", "docs.ms", "a fox on a mountain", "--hybrid", how) for how in ("0.25", "rrf"))
    [answer] = docs.json(*weighed)
    report = {key: answer["report"][key] for key in ("guarantee", "scope", "documents", "hybrid", "depth")}
    assert report == {"guarantee": "exact", "scope": "all", "documents": 3, "hybrid": 0.25, "depth": 100}
    late, words = ([hit[f"{one}_score"] for hit in answer["hits"]] for one in ("late", "bm25"))
    for hit, by_late, by_words in zip(answer["hits"], late, words, strict=True):
        fused = 0.75 * (by_late - min(late)) / (max(late) - min(late)) + 0.25 * by_words / max(words)
        assert hit["score"] == pytest.approx(fused, abs=1e-6)
    assert "exact among 3 documents · by BM25 (0.25) and late interaction (0.75) · " in docs(*weighed).stdout
    said = "exact among 3 documents · by rank among the 7 best of BM25 and of late interaction · "
    assert said in docs(*ranked, "--depth", "7", "-k", "2").stdout


@pytest.mark.parametrize("how", ["1", "0", "-0.5", "nan", "bm25", ""])
def test_bad_weights(docs: CommandLine, how: str) -> None:
    done = docs("search", "docs.ms", "fox", "--hybrid", how, code=2)
    assert "rrf, or a weight between 0 and 1" in " ".join(done.stderr.split())


def test_a_hybrid_search_has_no_first_stage(docs: CommandLine) -> None:
    done = docs("search", "docs.ms", "fox", "--hybrid", "rrf", "--first-stage", "bm25", code=2)
    assert "give --hybrid or --first-stage, not both" in " ".join(done.stderr.split())


def test_queries_come_through_a_pipe(docs: CommandLine) -> None:
    answers = docs.json("search", "docs.ms", "-k", "1", stdin="red fox\n\ngreen tea\n")
    assert [(one["id"], one["hits"][0]["id"]) for one in answers] == [("1", "fox"), ("2", "tea")]
    shown = docs("search", "docs.ms", "-k", "1", stdin="red fox\ngreen tea\n").stdout
    assert [line for line in shown.splitlines() if line.startswith(">")] == ["> red fox", "> green tea"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.tsv", "q1\tred fox\nq2\tgreen tea\n"),
        ("q.jsonl", '{"_id": "q1", "text": "red fox"}\n{"id": "q2", "query": "green tea"}\n'),
    ],
)
def test_a_run_file_is_read_back(docs: CommandLine, name: str, content: str) -> None:
    docs.write(name, content)
    answers = docs.json("search", "docs.ms", "--queries", name, "--run", "out.run")
    rows = [line.split() for line in (docs.folder / "out.run").read_text().splitlines()]
    assert all((row[1], row[5]) == ("Q0", "maxsieve") for row in rows)
    assert [(row[0], row[2], int(row[3])) for row in rows] == [
        (answer["id"], hit["id"], hit["rank"]) for answer in answers for hit in answer["hits"]
    ]
    assert [_float32(float(row[4])) for row in rows] == [
        _float32(hit["score"]) for answer in answers for hit in answer["hits"]
    ]


def test_a_run_file_needs_ids_without_spaces(line: CommandLine) -> None:
    line("index", "it.ms", "--dim", "0", stdin='{"id": "a b", "text": "red fox"}')
    assert "'a b'" in line("search", "it.ms", "red", "--run", "out.run", code=1).stderr
    assert not (line.folder / "out.run").exists()


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("q1\tred\nno tab\n", "q.txt, line 2: "),
        ('{"id": 1, "text": "red"}\n{"id": 1, "text": "tea"}\n', "q.txt, line 2: "),
        (b"red\n\xff\n", "q.txt, line 2: "),
        ('{"id": 1}\n', "q.txt, line 1: "),
    ],
)
def test_a_bad_query_is_named_before_any_is_answered(docs: CommandLine, content: str | bytes, where: str) -> None:
    docs.write("q.txt", content)
    done = docs("search", "docs.ms", "--queries", "q.txt", "--json", code=1)
    assert where in done.stderr
    assert done.stdout == ""


def test_a_reader_that_goes_away(line: CommandLine) -> None:
    write_jsonl(line.folder / "many.jsonl", [{"id": i, "text": f"red fox {i} " + "river " * 40} for i in range(1000)])
    line("index", "many.ms", "many.jsonl", "--dim", "0")
    arguments = ("search", "many.ms", "red fox", "-k", "1000")
    with line.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_queries_that_come_one_by_one_see_the_newest_documents(docs: CommandLine) -> None:
    with docs.start("search", "docs.ms", "--json", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for number in range(2):
            process.stdin.write(b"coffee\n")
            process.stdin.flush()
            seen.append(json.loads(process.stdout.readline())["report"]["documents"])
            docs("add", "docs.ms", stdin=json.dumps({"id": f"cup{number}", "text": "Coffee."}))
        process.stdin.close()
        assert process.wait() == 0
    assert seen == [3, 4]


def test_colours_are_for_terminals_and_can_be_refused(docs: CommandLine) -> None:
    docs.extra["FORCE_COLOR"] = "1"
    assert "\x1b[" in docs("search", "docs.ms", "red fox").stdout
    docs.extra["NO_COLOR"] = "1"
    shown = docs("search", "docs.ms", "red fox").stdout
    assert "\x1b[3" not in shown  # foreground
    assert "\x1b[1m" in shown  # bold is not a colour


def test_rerank_lines_and_json_lines(line: CommandLine) -> None:
    [answer] = line.json("rerank", "a red fox", "-k", "1", stdin="green tea\nthe red fox\n")
    assert [(hit["id"], hit["text"]) for hit in answer["hits"]] == [("2", "the red fox")]
    rows = [{"id": "x", "text": "owl", "n": 1}, {"id": "y", "text": "fox", "n": 2}]
    [answer] = line.json("rerank", "a red fox", stdin="\n".join(map(json.dumps, rows)))
    assert [(hit["id"], hit["metadata"]) for hit in answer["hits"]] == [("y", {"n": 2}), ("x", {"n": 1})]
    assert "exact among 2 candidates" in line("rerank", "a red fox", stdin="green tea\nthe red fox\n").stdout


def test_control_characters_of_documents_do_not_reach_the_terminal(line: CommandLine) -> None:
    line("index", "it.ms", "--dim", "0", stdin=json.dumps({"id": "\x1b[31mid", "text": "red \x1b]0;x\x07 fox"}))
    assert "\x1b" not in line("search", "it.ms", "red fox").stdout


def _float32(value: float) -> bytes:
    return struct.pack("<f", value)


def test_a_filter_narrows_the_guarantee(docs: CommandLine) -> None:
    arguments = ("search", "docs.ms", "a fox on a mountain", "--where", '{"year": {"lt": 2000}}')
    [answer] = docs.json(*arguments)
    assert [hit["id"] for hit in answer["hits"]] == ["fox"]
    report = {key: answer["report"][key] for key in ("guarantee", "scope", "documents", "where")}
    assert report == {"guarantee": "exact", "scope": "matching", "documents": 1, "where": {"year": {"lt": 2000}}}
    assert "exact among 1 document that matches the filter · " in docs(*arguments).stdout
    others = ("search", "docs.ms", "tea", "--where", '{"year": {"ne": 1999}}')
    assert "exact among 2 documents that match the filter · " in docs(*others).stdout
    pytest.importorskip("bm25s")
    staged = docs(*others, "--first-stage", "bm25").stdout
    assert "exact among 1 candidate of bm25 that matches the filter · " in staged


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("year>=2020", "--where is not valid JSON"),
        ('{"year": {"above": 3}}', "where.year.above is not an operator"),
        ("[1]", "where must be an object such as"),
        ("null", "--where is null"),
        ("[" * 100_000, "--where is not valid JSON"),
        ('{"year": NaN}', "where.year is nan"),
    ],
)
def test_a_bad_filter(docs: CommandLine, where: str, words: str) -> None:
    said = " ".join(docs("search", "docs.ms", "tea", "--where", where, code=2).stderr.replace("│", " ").split())
    assert words in said


@pytest.fixture
def guide(line: CommandLine) -> CommandLine:
    """A collection of a long text and a short one."""
    parts = [f"## Part {part}\n\n" + f"What {part} is good for. " * 40 for part in ("tea", "bread", "river")]
    write_jsonl(
        line.folder / "long.jsonl",
        [{"_id": "guide", "text": "# Guide\n\n" + "\n\n".join(parts)}, {"_id": "note", "text": "A note on bread."}],
    )
    line("index", "guide.ms", "long.jsonl", "--dim", "0")
    return line


def test_passages_are_found_by_themselves(guide: CommandLine) -> None:
    [documents] = guide.json("search", "guide.ms", "bread", "-k", "5")
    assert sorted(hit["id"] for hit in documents["hits"]) == ["guide", "note"]
    [passages] = guide.json("search", "guide.ms", "bread", "-k", "5", "--by", "passage")
    assert len(passages["hits"]) == 5
    places = [hit.get("passage", {}).get("number") for hit in passages["hits"] if hit["id"] == "guide"]
    assert len(set(places)) == len(places) >= 4
    report = passages["report"]
    assert (report["documents"], report["passages"] > 5) == (2, True)
    shown = guide("search", "guide.ms", "bread", "--by", "passage").stdout
    assert f"exact among {report['passages']} passages of 2 documents" in shown


def test_a_document_is_shown_with_further_passages(guide: CommandLine) -> None:
    [answer] = guide.json("search", "guide.ms", "bread", "--per-document", "3", "--explain")
    hits = {hit["id"]: hit for hit in answer["hits"]}
    found = hits["guide"]["passages"]
    assert [len(hits[one]["passages"]) for one in ("guide", "note")] == [3, 1]
    assert found[0]["text"] == hits["guide"]["text"]
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert all(one["matches"] for one in found)
    shown = guide("search", "guide.ms", "bread", "--per-document", "3").stdout
    assert shown.count("Guide > Part") >= 3
    assert f"({found[1]['score']:.2f})" in shown
    done = guide("search", "guide.ms", "bread", "--per-document", "3", "--by", "passage", code=2)
    assert "give --per-document or --by passage, not both" in " ".join(done.stderr.split())


def test_a_run_by_passage_names_passages(guide: CommandLine) -> None:
    guide("search", "guide.ms", "bread", "-k", "4", "--by", "passage", "--run", "run.txt")
    names = [row.split()[2] for row in (guide.folder / "run.txt").read_text().splitlines()]
    assert len(set(names)) == len(names) == 4
