"""`maxsieve recall`: the overlap of a run with the exact answer."""

from __future__ import annotations

import pytest

from cli.support import CommandLine

QUERIES = "a\tred fox\nb\tgreen tea\nc\tan owl\n"


@pytest.fixture
def asked(docs: CommandLine) -> CommandLine:
    docs.write("queries.tsv", QUERIES)
    docs("search", "docs.ms", "--queries", "queries.tsv", "-k", "2", "--run", "exact.run")
    return docs


def test_a_run_of_our_own_is_whole(asked: CommandLine) -> None:
    [found] = asked.json("recall", "docs.ms", "exact.run", "--queries", "queries.tsv", "-k", "2")
    assert (found["overlap"], found["low"], found["high"], found["queries"], found["all_found"]) == (1, 1, 1, 3, 3)
    shown = asked("recall", "docs.ms", "exact.run", "--queries", "queries.tsv", "-k", "2").stdout
    assert shown.startswith(
        "exact.run: 1.0000 of the exact top 2 on average (95 % interval 1.0000 to 1.0000, 3 queries)"
    )


def test_what_is_missing_is_counted(asked: CommandLine) -> None:
    rows = [row.split() for row in (asked.folder / "exact.run").read_text().splitlines()]
    kept = [row for row in rows if row[0] != "c" and not (row[0] == "b" and row[3] == "2")]
    kept.append(["b", "Q0", "unheard-of", "2", "-5", "x"])
    asked.write("other.run", "".join(" ".join(row) + "\n" for row in reversed(kept)))  # in any order
    done = asked("recall", "docs.ms", "other.run", "--queries", "queries.tsv", "-k", "2", "--json")
    assert '"overlaps": {"a": 1.0, "b": 0.5, "c": 0.0}' in done.stdout
    assert "no answer for 1 of 3 queries" in done.stderr


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("q9 Q0 fox 1 2.5 x\n", "the query 'q9', which queries.tsv does not have"),
        ("a Q0 fox first 2.5 x\n", "line 1"),
        ("a fox\n", "a line of a run is expected"),
        ("a Q0 fox 1 nan x\n", "a line of a run is expected"),
        ("a Q0 fox 1 2 x\na Q0 fox 2 1 x\n", "twice"),
    ],
)
def test_bad_runs(asked: CommandLine, run: str, said: str) -> None:
    asked.write("bad.run", run)
    done = asked("recall", "docs.ms", "bad.run", "--queries", "queries.tsv", code=1)
    assert said in " ".join(done.stderr.split())
