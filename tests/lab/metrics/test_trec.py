"""Run files that are written, and judgements that are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.lab.corpora.judgements import by_query, read_judgements
from maxsieve.text.trec import run_file

WHITE = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters=WHITE)
IDS = st.text(LETTERS, min_size=1, max_size=6).filter(lambda id: not id.startswith("\ufeff"))
SCORES = st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(-2, 2), st.just(1.0))
HITS = st.dictionaries(IDS, SCORES, min_size=1, max_size=5).map(
    lambda hits: sorted(hits.items(), key=lambda hit: -hit[1])
)


@given(run=st.dictionaries(IDS, HITS, max_size=4))
def test_a_run_has_a_line_for_each_hit(tmp_path: Path, run: dict[str, list[tuple[str, float]]]) -> None:
    with run_file(tmp_path / "it.run") as write:
        for query, hits in run.items():
            write(query, [id for id, _ in hits], [score for _, score in hits])
    lines = [line.split() for line in (tmp_path / "it.run").read_text(encoding="utf-8").split("\n")[:-1]]
    found = [(query, id, int(rank), float(score)) for query, _, id, rank, score, _ in lines]
    assert found == [(query, *hit[:1], rank, hit[1]) for query, hits in run.items() for rank, hit in enumerate(hits, 1)]


def test_lines_are_as_trec_eval_reads_them(tmp_path: Path) -> None:
    with run_file(tmp_path / "it.run") as write:
        write("q", ["b", "a"], [1.5, 1.5])
        write("none", [], [])
    assert (tmp_path / "it.run").read_text() == "q Q0 b 1 1.5 maxsieve\nq Q0 a 2 1.5 maxsieve\n"


def test_judgements_in_beir_form() -> None:
    lines = [b"query-id\tcorpus-id\tscore\n", b"q\ta b\t1\n"]
    assert by_query(read_judgements(lines, "qrels.tsv")) == {"q": {"a b": 1}}


@pytest.mark.parametrize("id", ["a b", "a\u00a0b", "a\nb", "a\x1cb", "", "\ufeffa"])
def test_ids_that_can_not_stand_there(tmp_path: Path, id: str) -> None:
    for query, document in (("q", id), (id, "d")):
        with pytest.raises(ValueError, match=re.escape(f"id {id!r}")), run_file(tmp_path / "it") as write:
            write(query, [document], [1.0])
    assert not any(tmp_path.iterdir())
