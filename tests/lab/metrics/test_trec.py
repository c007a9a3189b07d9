"""Run files and judgements, written and read back."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.lab.corpora.judgements import read_qrels, write_qrels
from maxsieve.text.trec import read_run, write_run

WHITE = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters=WHITE)
IDS = st.text(LETTERS, min_size=1, max_size=6).filter(lambda one: not one.startswith("\ufeff"))
SCORES = st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(-2, 2), st.just(1.0))
HITS = st.dictionaries(IDS, SCORES, min_size=1, max_size=5).map(
    lambda hits: sorted(hits.items(), key=lambda hit: -hit[1])
)
GRADES = st.dictionaries(IDS, st.integers(-2, 9), min_size=1, max_size=5)


@given(run=st.dictionaries(IDS, HITS, max_size=4))
def test_a_run_is_read_back(tmp_path: Path, run: dict[str, list[tuple[str, float]]]) -> None:
    write_run(run, tmp_path / "it.run")
    again = read_run(tmp_path / "it.run")
    assert list(again.items()) == list(run.items())


@given(judgements=st.dictionaries(IDS, GRADES, max_size=4))
def test_judgements_are_read_back(tmp_path: Path, judgements: dict[str, dict[str, int]]) -> None:
    write_qrels(judgements, tmp_path / "qrels")
    assert read_qrels(tmp_path / "qrels") == judgements


def test_lines_are_as_trec_eval_reads_them(tmp_path: Path) -> None:
    write_run({"q": [("b", 1.5), ("a", 1.5)], "none": []}, tmp_path / "it.run")
    assert (tmp_path / "it.run").read_text() == "q Q0 b 1 1.5 maxsieve\nq Q0 a 2 1.5 maxsieve\n"
    write_qrels({"q": {"b": 2, "a": 0}}, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "q 0 b 2\nq 0 a 0\n"


def test_a_run_of_other_programs(tmp_path: Path) -> None:
    """Sorted by score, even if the ranks differ. Queries may be mixed, and ties stay in the order of lines."""
    lines = ["q1\tQ0\td1\t0\t1e-1\tBM25", "q2 Q0 d1 1 7 x", "", "q1 Q0 d3 0 2 BM25", "q1 Q0 d2 0 0.1 BM25"]
    (tmp_path / "it.run").write_text("\n".join(lines))
    assert read_run(tmp_path / "it.run") == {"q1": [("d3", 2.0), ("d1", 0.1), ("d2", 0.1)], "q2": [("d1", 7.0)]}


def test_judgements_in_beir_form(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta b\t1\n")
    assert read_qrels(tmp_path / "qrels.tsv") == {"q": {"a b": 1}}


@pytest.mark.parametrize("one", ["a b", "a\u00a0b", "a\nb", "a\x1cb", "", "\ufeffa"])
def test_ids_that_can_not_stand_there(tmp_path: Path, one: str) -> None:
    problem = re.escape(f"id {one!r}")
    with pytest.raises(ValueError, match=problem):
        write_run({"q": [(one, 1.0)]}, tmp_path / "it")
    with pytest.raises(ValueError, match=problem):
        write_run({one: [("d", 1.0)]}, tmp_path / "it")
    with pytest.raises(ValueError, match=problem):
        write_qrels({"q": {one: 1}}, tmp_path / "it")
    with pytest.raises(ValueError, match=problem):
        write_qrels({one: {"d": 1}}, tmp_path / "it")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("scores", [(1.0, 2.0), (math.nan, 1.0), (math.inf, 1.0)])
def test_a_run_comes_best_first(tmp_path: Path, scores: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="query 'q'"):
        write_run({"q": list(zip("ab", scores, strict=True))}, tmp_path / "it")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (b"q Q0 d 1 1.0\n", r"it\.run, line 1: .*\b5\b.*\b6\b"),
        (b"q Q0 d 1 1.0 x\nq Q0 d 2 0.5 x\n", r"it\.run, line 2: .*'d'.*'q'"),
        (b"q Q0 d 1 high x\n", r"it\.run, line 1: .*'high'"),
        (b"q Q0 d 1 nan x\n", r"it\.run, line 1: .*'nan'"),
        (b"q Q0 d 1 1.0 x\nq Q0 \xff 1 1.0 x\n", r"it\.run, line 2: .*UTF-8"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, lines: bytes, problem: str) -> None:
    (tmp_path / "it.run").write_bytes(lines)
    with pytest.raises(ValueError, match=problem):
        read_run(tmp_path / "it.run")
