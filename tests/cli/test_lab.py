"""`maxsieve lab`: experiments, a report that can be continued, and the tuning of a parameter."""

from __future__ import annotations

import json
import os
import random
import shlex
from pathlib import Path

import numpy as np
import pytest

from benchmarks.figures.stores import pooled
from cli.support import CommandLine, write_jsonl
from cli.tiny_model import WORDS

DOCUMENTS, QUERIES = 40, 18
CORPUS = "path/to/scifact"


@pytest.fixture
def lab(line: CommandLine) -> CommandLine:
    """The command line in a folder with a tiny corpus."""
    words = random.Random(5)
    texts = {f"d{i}": " ".join(words.choices(WORDS, k=words.randint(4, 12))) for i in range(DOCUMENTS)}
    folder = line.folder / CORPUS
    folder.mkdir(parents=True)
    write_jsonl(folder / "corpus.jsonl", ({"_id": one, "title": "", "text": text} for one, text in texts.items()))
    queries = [{"_id": f"q{i}", "text": " ".join(texts[f"d{i}"].split()[:4])} for i in range(QUERIES)]
    write_jsonl(folder / "queries.jsonl", queries)
    judged = "".join(f"q{i}\td{i}\t1\n" for i in range(QUERIES))
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    line.extra["MAXSIEVE_CORPORA"] = str(folder.parent)
    return line


@pytest.fixture
def tiny(lab: CommandLine) -> list[str]:
    """Arguments that make a command run on the tiny corpus."""
    return ["--corpus", CORPUS, "--encoder", str(lab.model), "--dim", "8", "--quick"]


def test_an_experiment_shows_its_tables_and_files(lab: CommandLine, tiny: list[str]) -> None:
    done = lab("lab", "pareto", *tiny, "--out", "results")
    assert "pareto: scifact" in done.stdout
    assert "alpha = 0.2" in done.stdout
    written = {path.name for path in (lab.folder / "results").iterdir()}
    assert written == {"pareto-scifact.json", "pareto-scifact.md", "pareto-scifact-k5.svg", "pareto-scifact-k5.png"}
    assert all(f"results/{name}" in done.stdout for name in written)
    facts = json.loads((lab.folder / "results/pareto-scifact.json").read_text())["facts"]
    assert facts["command"].startswith("python -m maxsieve.cli lab pareto --corpus")
    assert facts["machine"]["kernel"]
    assert facts["settings"]["dim"] == 8


def test_a_promise_made_with_own_sentences(lab: CommandLine, tiny: list[str]) -> None:
    [found] = lab.json("lab", "stand-ins", *tiny)
    table, keywords = found["tables"]
    assert [row[0] for row in keywords["rows"]] == [1, 2, 3]
    assert all(0 <= share <= 1 for row in keywords["rows"] for share in row[2:])
    assert [row[:2] for row in table["rows"]] == [[k, target] for k in (1, 10) for target in (0.9, 0.95)]
    assert "takes 40 of 40 sentences" in table["note"], "one of each document"
    for _, target, by_queries, by_sentences, overlap, low, high, lowest in table["rows"]:
        assert low <= overlap <= high
        assert lowest <= overlap
        assert by_sentences <= 40
        assert (by_queries is None) == (target > 0.9), "20 queries are enough for 0.95, fewer are not"


def test_stores_beside_each_other(lab: CommandLine, tiny: list[str]) -> None:
    [found] = lab.json("lab", "stores", *tiny)
    [table] = found["tables"]
    stores = ["residual1", "residual2", "residual4", "int8", "float16"]
    assert sorted(row[:3] for row in table["rows"]) == sorted(
        [dim, store, pool] for dim in (8, 16) for store in stores for pool in (1, 2)
    )
    sizes = {tuple(row[:3]): row[3] for row in table["rows"]}
    assert all(sizes[8, "float16", pool] > sizes[8, "int8", pool] for pool in (1, 2))
    assert sizes[16, "int8", 1] > 1.8 * sizes[16, "int8", 2]
    assert next(row for row in table["rows"] if row[:3] == [16, "int8", 1])[8:] == [0.0, 0.0, 0.0]
    assert "loses at most" in found["remarks"][0]
    assert all(sizes[16, "residual1", pool] < sizes[16, "residual4", pool] for pool in (1, 2))
    values = found["facts"]["values"]
    twice = pooled([{"name": "first", **values}, {"name": "second", **values}])
    alone = {tuple(row[:3]): row for row in table["rows"]}
    for row in twice.rows:
        own = alone[tuple(row[:3])]
        assert row[3:7] == pytest.approx([own[3], own[4], own[5], own[5]])
        assert row[7] == pytest.approx(own[8]), "the mean over twice the queries is the same"


def test_an_experiment_in_json_by_bare_name(lab: CommandLine, tiny: list[str]) -> None:
    [found] = lab.json("lab", "block", "--corpus", "scifact", *tiny[2:], "--queries", "3")
    assert (found["experiment"], found["corpus"]) == ("block", "scifact")
    assert "3 queries" in found["summary"]
    assert all((lab.folder / path).is_file() for path in found["files"])
    assert found["files"][0] == "lab-results/block-scifact.json"


def test_a_report_is_continued(lab: CommandLine, tiny: list[str]) -> None:
    some = ["lab", "report", *tiny, "--only", "block", "--only", "margin", "--only", "pareto", "--skip", "pareto"]
    first = lab.json(*some)
    assert [(one["experiment"], one["reused"]) for one in first[:-1]] == [("margin", False), ("block", False)]
    pages = [lab.folder / path for path in first[-1]["pages"]]
    assert [path.name for path in pages] == ["index.html", "results.md"]
    assert all("block: scifact" in path.read_text() for path in pages)
    (lab.folder / "lab-results/block-scifact.json").unlink()
    second = lab(*some).stdout
    assert "margin on scifact: reused" in second
    assert "block on scifact: reused" not in second
    other = lab.json(*some, "--queries", "5")
    assert [one["reused"] for one in other[:-1]] == [False, False]
    again = lab.json(*some, "--queries", "5", "--skip", "margin", "--again")
    assert [(one["experiment"], one["reused"]) for one in again[:-1]] == [("block", False)]
    pages[0].unlink()
    assert lab.json("lab", "page", "lab-results") == [{"pages": first[-1]["pages"], "results": 2}]
    assert "margin: scifact" in pages[0].read_text()


@pytest.mark.parametrize(
    "fact", [("build",), ("machine", "CPU"), ("machine", "kernel"), ("versions", "numpy"), ("encoder", "model.onnx")]
)
def test_a_result_that_something_else_computed_is_not_kept(
    lab: CommandLine, tiny: list[str], fact: tuple[str, ...]
) -> None:
    command = ["lab", "report", *tiny, "--only", "margin"]
    lab(*command)
    assert "reused" in lab(*command).stdout
    path = lab.folder / "lab-results/margin-scifact.json"
    saved = json.loads(path.read_text())
    place = saved["facts"]
    for name in fact[:-1]:
        place = place[name]
    assert place[fact[-1]]
    place[fact[-1]] = "another"
    path.write_text(json.dumps(saved))
    assert "reused" not in lab(*command).stdout
    assert "reused" in lab(*command).stdout


def test_a_result_of_another_kernel_is_not_kept(lab: CommandLine, tiny: list[str]) -> None:
    command = ["lab", "report", *tiny, "--only", "margin"]
    lab(*command)
    lab.extra["MAXSIEVE_ISA"] = "scalar"
    assert "reused" not in lab(*command).stdout


def test_a_report_does_what_it_can(lab: CommandLine) -> None:
    np.savez(
        lab.folder / "ready.npz",
        **{f"{kind}_tokens": np.eye(8, dtype=np.float32).repeat(3, 0) for kind in ("doc", "query")},
        **{f"{kind}_lengths": [3] * 8 for kind in ("doc", "query")},
        **{f"{kind}_ids": [f"{kind}{i}" for i in range(8)] for kind in ("doc", "query")},
    )
    done = lab("lab", "report", "--corpus", "ready.npz", "--only", "retrieval", "--only", "margin", "--quick", code=1)
    assert "retrieval on ready: " in done.stderr
    assert "1 of 2 failed: retrieval on ready" in done.stderr
    assert "margin: ready" in (lab.folder / "lab-results/index.html").read_text()


@pytest.fixture
def collection(lab: CommandLine) -> list[str]:
    """Arguments that make a command run on an existing collection."""
    lab("index", "my docs.ms", f"{CORPUS}/corpus.jsonl")
    asked = ["--queries", f"{CORPUS}/queries.jsonl", "--qrels", f"{CORPUS}/qrels.tsv"]
    return ["--collection", "my docs.ms", *asked, "--encoder", str(lab.model), "--quick"]


def test_an_experiment_on_a_collection(lab: CommandLine, collection: list[str]) -> None:
    [found] = lab.json("lab", "margin", *collection, "--queries", "5")
    assert (found["experiment"], found["corpus"]) == ("margin", "my docs")
    assert "5 queries" in found["summary"]
    assert "d = 16, residual4" in found["summary"]
    [table] = lab.json("lab", "stores", *collection)[0]["tables"]
    assert {row[0] for row in table["rows"]} == {16}


def test_an_experiment_on_exported_vectors(lab: CommandLine, collection: list[str]) -> None:
    lab("export", "my docs.ms", "docs.npz")
    [found] = lab.json("lab", "margin", "--vectors", "docs.npz", *collection[2:])
    assert found["corpus"] == "docs"
    [same] = lab.json("lab", "margin", *collection)
    # the number of rescored documents differs: a document may be a passage, and then more are scored
    assert [row[1:3] for row in found["tables"][0]["rows"]] == [row[1:3] for row in same["tables"][0]["rows"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--corpus, --collection or --vectors"),
        (["--collection", "my docs.ms"], "need queries: give --queries FILE"),
        (["--vectors", "docs.npz", "--queries", "5"], "need queries: give --queries FILE"),
        (["--corpus", "scifact", "--queries", "it.jsonl"], "--queries FILE works only with --collection or --vectors"),
        (["--corpus", "scifact", "--qrels", "it.tsv"], "--qrels works only with --collection or --vectors"),
        (["--collection", "c", "--queries", "it.jsonl", "--dim", "8"], "--dim works only with --corpus"),
        (["--corpus", "scifact", "--queries", "0"], "--queries 0"),
        (["--corpus", "scifact", "--queries", "5", "--queries", "6"], "--queries N is given 2 times"),
    ],
)
def test_options_that_do_not_go_together(lab: CommandLine, arguments: list[str], sentence: str) -> None:
    assert sentence in lab("lab", "margin", *arguments, code=2).stderr


def test_what_does_not_fit_is_a_sentence(lab: CommandLine, collection: list[str]) -> None:
    assert (
        "there is no collection none.ms"
        in lab("lab", "margin", "--collection", "none.ms", *collection[2:], code=1).stderr
    )
    lab.write("none.tsv", "q1\tunknown\t1\n")
    failed = lab("lab", "margin", *collection[:4], "--qrels", "none.tsv", *collection[6:], code=1).stderr
    assert "none of its 1 judgements has a known query and a known document" in failed
    lab.write("broken.jsonl", '{"text": ')
    failed = lab("lab", "margin", *collection[:2], "--queries", "broken.jsonl", *collection[6:], code=1).stderr
    assert "broken.jsonl" in failed


def test_the_advice_is_a_command_that_runs(lab: CommandLine, tiny: list[str], collection: list[str]) -> None:
    for where in (collection, tiny):
        [found] = lab.json("lab", "tune", *where, "--target", "0.5", "-k", "3")
        program, *words = shlex.split(found["command"])
        assert program == "maxsieve"
        knobs = ["--policy", "bandit", "--alpha", "0.2", "--margin", "20"]  # as if it were worth it
        for arguments in (words, [*words[: words.index("3") + 1], *knobs]):
            [answer] = map(json.loads, lab.unaided(*arguments, "--json", stdin="red fox").stdout.splitlines())
            assert len(answer["hits"]) == 3
        assert found["saving"] is None or found["saving"]["needed"] >= 1


def test_tune(lab: CommandLine, tiny: list[str]) -> None:
    [found] = lab.json("lab", "tune", *tiny, "--target", "0.5", "-k", "3")
    assert (found["k"], found["choosing"] + found["held_out"]) == (3, QUERIES)
    assert found["line"].startswith("index.search(query, k=3")
    assert found["bandit"] is None or found["bandit"]["overlap"] >= found["bandit"]["at_least"] >= 0.5
    assert found["certified"]["milliseconds"] > 0
    said = lab("lab", "tune", *tiny, "--target", "0.99").stdout
    assert "index.search(query, k=10)" in said
    assert "314" in said


@pytest.mark.parametrize(
    ("file", "line_number", "content"),
    [
        ("corpus.jsonl", 2, '{"_id": "a", "text": "red"}\n{"_id": \n'),
        ("qrels.tsv", 2, "query-id\tcorpus-id\tscore\nq0\td0\tmany\n"),
    ],
)
def test_a_bad_corpus_is_named_by_file_and_line(
    lab: CommandLine, tiny: list[str], file: str, line_number: int, content: str
) -> None:
    (lab.folder / CORPUS / file).write_text(content)
    said = lab("lab", "pareto", *tiny, code=1).stderr
    assert f"{CORPUS}/{file}, line {line_number}: " in said
    assert not (lab.folder / "lab-results").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["parsley"],
        ["pareto"],
        ["report", "--corpus", CORPUS, "--only", "parsley"],
        ["tune", "--corpus", CORPUS, "--target", "1.5"],
    ],
)
def test_wrong_usage(lab: CommandLine, arguments: list[str]) -> None:
    done = lab("lab", *arguments, code=2)
    assert done.stdout == ""
    assert done.stderr.rstrip().endswith("--help")


def test_corpora_that_are_not_there_or_have_the_same_name(lab: CommandLine) -> None:
    assert "no-such-corpus" in lab("lab", "margin", "--corpus", "no-such-corpus", code=1).stderr
    (lab.folder / "scifact").symlink_to(CORPUS)
    assert (
        "two corpora called 'scifact'" in lab("lab", "margin", "--corpus", CORPUS, "--corpus", "scifact", code=1).stderr
    )
    assert "maxsieve lab report" in lab("lab", "page", "path", code=1).stderr


@pytest.mark.parametrize("command", ["report", "tune"])
def test_help_ends_with_an_example_that_works(lab: CommandLine, tiny: list[str], command: str) -> None:
    example = lab("lab", command, "--help").stdout.rstrip().splitlines()[-1].removeprefix("  Example:  ")
    assert example.startswith(f"maxsieve lab {command}")
    lab.typed(example, *tiny[2:])


def test_list_and_overview_name_every_experiment(line: CommandLine) -> None:
    from maxsieve.lab.experiments import SUMMARIES

    assert {one["name"]: one["summary"] for one in line.json("lab", "list")} == SUMMARIES
    overview = line("lab").stdout
    assert all(f"  {name} " in overview for name in SUMMARIES)


def test_without_the_extra_it_says_which(line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('none', name='matplotlib')")
    line.extra["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    for arguments in (["lab"], ["lab", "pareto", "--corpus", "none"]):
        assert line(*arguments, code=1).stderr == "maxsieve: this needs matplotlib: pip install 'maxsieve[lab]'\n"
