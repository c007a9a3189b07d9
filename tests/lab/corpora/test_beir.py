"""Corpora in BEIR form: what is read, what is refused, what is skipped and counted."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.corpora.support import DOCUMENTS, QRELS, QUERIES, write_corpus
from maxsieve.lab.corpora import CorpusWarning, read_corpus


def test_a_corpus_is_read(tmp_path: Path) -> None:
    corpus = read_corpus(write_corpus(tmp_path / "small"))
    assert corpus.name == "small"
    assert list(corpus.documents.items()) == [("fox", "The fox A red fox by the river."), ("tea", "Green tea.")]
    assert list(corpus.queries.items()) == [("q1", "red fox"), ("q2", "green tea")]
    assert corpus.judgements == {"q1": {"fox": 2}, "q2": {"tea": 1, "fox": 0}}
    assert corpus.exclusions == {}


def test_a_path_may_be_text(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    assert read_corpus(str(tmp_path)) == read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("name", "qrels"),
    [
        ("qrels/test.tsv", QRELS),
        ("qrels.tsv", QRELS.partition("\n")[2]),
        ("qrels.tsv", QRELS.replace("\n", "\r\n")),
        ("qrels.tsv", "\ufeff" + QRELS.replace("-id", "_ID")),
        ("qrels.tsv", "q1 0 fox 2\nq2 0 tea 1\n\nq2 0 fox 0"),
        ("qrels.tsv", "q1\t0\tfox\t2\nq2\tQ0\ttea\t+1\nq2\t0\tfox\t0\nq1\t0\tfox\t2\n"),
    ],
)
def test_judgements_are_written_in_several_ways(tmp_path: Path, name: str, qrels: str) -> None:
    corpus = read_corpus(write_corpus(tmp_path, qrels=qrels, qrels_name=name))
    assert corpus.judgements == {"q1": {"fox": 2}, "q2": {"tea": 1, "fox": 0}}


def test_ids_are_text_wherever_they_stand(tmp_path: Path) -> None:
    """Numbers in one file and text in another are the same id. Ids that differ as text are different."""
    documents = [{"_id": 7, "text": "a"}, {"_id": "007", "text": "b"}, {"_id": 12345678901234567890, "text": "c"}]
    queries = [{"_id": 1, "text": "x"}, {"_id": "01", "text": "y"}]
    qrels = "1\t7\t1\n1\t007\t2\n01\t12345678901234567890\t3\n"
    corpus = read_corpus(write_corpus(tmp_path, documents, queries, qrels))
    assert corpus.documents == {"7": "a", "007": "b", "12345678901234567890": "c"}
    assert corpus.judgements == {"1": {"7": 1, "007": 2}, "01": {"12345678901234567890": 3}}
    everything = [*corpus.documents, *corpus.queries, *corpus.judgements, *corpus.judgements["1"]]
    assert {type(one) for one in everything} == {str}


IDS = st.one_of(
    st.integers(0, 30), st.integers(0, 30).map("{:03}".format), st.text("aé7 ", min_size=1).map("x{}y".format)
)


@given(
    documents=st.lists(IDS, min_size=1, max_size=8, unique_by=str),
    queries=st.lists(IDS, min_size=1, max_size=5, unique_by=str),
)
def test_no_judgement_is_lost(tmp_path: Path, documents: list[Any], queries: list[Any]) -> None:
    judged = {str(query): {str(one): rank for rank, one in enumerate(documents)} for query in queries}
    qrels = "".join(f"{query}\t{one}\t{grade}\n" for query, row in judged.items() for one, grade in row.items())
    write_corpus(
        tmp_path,
        [{"_id": one, "text": f"document {one}"} for one in documents],
        [{"_id": one, "text": f"query {one}"} for one in queries],
        qrels,
    )
    corpus = read_corpus(tmp_path)
    assert corpus.judgements == judged
    assert list(corpus.documents) == [str(one) for one in documents]


def bad(**parts: Any) -> Any:
    return parts


DOCUMENT = json.dumps(DOCUMENTS[0]) + "\n"


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (bad(documents=DOCUMENT + '{"_id": '), r"corpus\.jsonl, line 2: .*JSON"),
        (bad(documents=DOCUMENT + "\n[1]\n"), r"corpus\.jsonl, line 3: .*list"),
        (bad(documents=[{"text": "a"}]), r"corpus\.jsonl, line 1: .*'_id'"),
        (bad(documents=[{"_id": "a"}]), r"corpus\.jsonl, line 1: .*'text'"),
        (bad(documents=[{"_id": "a", "text": 3}]), r"corpus\.jsonl, line 1: .*'text'.*\b3\b"),
        (bad(documents=[{"_id": "a", "title": 3, "text": ""}]), r"corpus\.jsonl, line 1: .*'title'.*\b3\b"),
        (bad(documents=[{"_id": True, "text": ""}]), r"corpus\.jsonl, line 1: .*'_id'.*\bTrue\b"),
        (bad(documents=[{"_id": 1.0, "text": ""}]), r"corpus\.jsonl, line 1: .*'_id'.*\b1\.0\b"),
        (bad(documents=[{"_id": None, "text": ""}]), r"corpus\.jsonl, line 1: .*'_id'.*\bnull\b"),
        (bad(documents=[{"_id": "", "text": ""}]), r"corpus\.jsonl, line 1: .*'_id'.*empty"),
        (bad(documents='{"_id": "a", "text": "\\ud800"}'), r"corpus\.jsonl, line 1: .*'text'.*valid"),
        (
            bad(documents=[{"_id": 7, "text": ""}, {"_id": "7", "text": ""}]),
            r"corpus\.jsonl, line 2: .*'7'.*\(line 1\)",
        ),
        (bad(documents=DOCUMENT.encode() + b"\xff\n"), r"corpus\.jsonl, line 2: .*UTF-8.*0xff.*\b0\b"),
        (bad(documents=DOCUMENT.encode("utf-16")), r"corpus\.jsonl\b.*UTF-16"),
        (bad(documents="\n"), r"corpus\.jsonl\b.*empty"),
        (bad(queries=""), r"queries\.jsonl\b.*empty"),
        (bad(queries=[{"_id": "q1", "text": " "}]), r"queries\.jsonl, line 1: .*empty"),
        (bad(queries=[QUERIES[0], QUERIES[0]]), r"queries\.jsonl, line 2: .*'q1'.*\(line 1\)"),
        (bad(qrels="q1\tfox\t1\nq2\ttea\tyes\n"), r"qrels\.tsv, line 2: .*'yes'"),
        (bad(qrels="q1\tfox\t1.0\n"), r"qrels\.tsv, line 1: .*'1\.0'"),
        (bad(qrels="q1\tfox\t1_0\n"), r"qrels\.tsv, line 1: .*'1_0'"),
        (bad(qrels="q1\tfox\n"), r"qrels\.tsv, line 1: .*\b2\b.*\b3\b"),
        (bad(qrels=QRELS + "q1\tQ0\tfox\t1\t0.5\n"), r"qrels\.tsv, line 5: .*\b5\b.*\b3\b"),
        (bad(qrels=b"q1\t\xe9\t1\n"), r"qrels\.tsv, line 1: .*UTF-8"),
        (
            bad(qrels=QRELS + "q1\tfox\t1\n"),
            r"qrels\.tsv, line 5: .*'fox'.*\b1\b.*'q1'.*\b2\b",
        ),
        (bad(qrels="query-id\tcorpus-id\tscore\n"), r"qrels\.tsv: .*judgement"),
        (
            bad(qrels="x\ty\t1\n"),
            r"qrels\.tsv: .*\b1 judgements\b.*'x' \(line 1\)",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, parts: dict[str, Any], problem: str) -> None:
    write_corpus(tmp_path, **parts)
    with pytest.raises(ValueError, match=problem):
        read_corpus(tmp_path)


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named_and_what_a_corpus_needs(tmp_path: Path, missing: str) -> None:
    (write_corpus(tmp_path) / missing).unlink()
    with pytest.raises(FileNotFoundError) as failure:
        read_corpus(tmp_path)
    said = str(failure.value)
    assert said.startswith(f"{tmp_path} has no {missing}")
    assert said.endswith("a corpus needs corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv")


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    queries = [*QUERIES, {"_id": "q3", "text": "nobody judged"}, {"_id": "q4", "text": "nor this"}]
    qrels = QRELS + "q1\tgone\t1\nq9\tfox\t1\nq1\tlost\t1\nq9\tgone\t1\n"
    write_corpus(tmp_path, queries=queries, qrels=qrels)
    with pytest.warns(CorpusWarning) as caught:
        corpus = read_corpus(tmp_path)
    assert sorted(str(one.message) for one in caught) == [
        f"{tmp_path}/qrels.tsv: 2 of 7 judgements have an unknown document and are left out; "
        "the first: 'gone' (line 5)",
        f"{tmp_path}/qrels.tsv: 2 of 7 judgements have an unknown query and are left out; the first: 'q9' (line 6)",
        f"{tmp_path}/queries.jsonl: 2 of 4 queries have no judgement; the first: 'q3' (line 3)",
    ]
    assert {one.filename for one in caught} == {__file__}
    assert corpus.judgements == {"q1": {"fox": 2}, "q2": {"tea": 1, "fox": 0}}
    assert list(corpus.queries) == ["q1", "q2", "q3", "q4"]


def test_nothing_is_said_of_a_good_corpus(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_corpus(write_corpus(tmp_path))


def test_the_digest_is_that_of_the_files(tmp_path: Path) -> None:
    before = read_corpus(write_corpus(tmp_path)).digest
    whole = hashlib.sha256()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        content = (tmp_path / name).read_bytes()
        whole.update(f"{name} {len(content)}\n".encode() + content)
    assert before == whole.hexdigest()
    (tmp_path / "elsewhere").write_text("not a part of it")
    assert read_corpus(tmp_path).digest == before
    write_corpus(tmp_path, qrels=QRELS + "q1\ttea\t0\n")
    assert read_corpus(tmp_path).digest != before


def test_queries_that_are_documents_are_excluded(tmp_path: Path) -> None:
    """The same id is not enough: if both are numbered from 1 on, queries and documents are not related."""
    documents = [
        {"_id": "a", "title": "Zoos", "text": "Animals belong outside, in the wild, among their own.[1]"},
        {"_id": "1", "text": "Green tea grows on hills."},
    ]
    queries = [
        {"_id": "a", "text": "Animals belong  outside, in the wild, among their own."},
        {"_id": "1", "text": "Where does it rain?"},
        {"_id": "b", "text": "Green tea grows on hills."},
    ]
    corpus = read_corpus(write_corpus(tmp_path, documents, queries, "a\t1\t1\n1\ta\t1\nb\t1\t1\n"))
    assert corpus.exclusions == {"a": ["a"]}


def test_the_first_queries_that_are_judged(tmp_path: Path) -> None:
    documents = [{"_id": "b", "text": "same text"}, {"_id": "c", "text": "same text"}, {"_id": "d", "text": "other"}]
    queries = [{"_id": one, "text": "same text"} for one in "abc"]
    write_corpus(tmp_path, documents, queries, "c\td\t1\nb\td\t1\n")
    with pytest.warns(CorpusWarning, match="1 of 3 queries"):
        corpus = read_corpus(tmp_path)
    one, judged = corpus.first(1), corpus.first(None)
    assert (list(one.queries), one.judgements, one.exclusions) == (["b"], {"b": {"d": 1}}, {"b": ["b"]})
    assert (list(judged.queries), list(judged.judgements), list(judged.exclusions)) == (["b", "c"],) * 3
    assert corpus.first(9) == judged
    assert (one.documents, one.digest) == (corpus.documents, corpus.digest)
    with pytest.raises(ValueError, match=r"^queries"):
        corpus.first(0)


def test_a_part_has_the_relevant_documents_first(tmp_path: Path) -> None:
    documents = [{"_id": one, "text": f"text {one}"} for one in "abcdef"]
    queries = [{"_id": "f", "text": "text f"}, {"_id": "q", "text": "what?"}, {"_id": "r", "text": "who?"}]
    corpus = read_corpus(write_corpus(tmp_path, documents, queries, "f\te\t1\nf\td\t0\nq\tc\t2\nr\tb\t1\n"))
    some = corpus.part(documents=3, queries=2)
    assert list(some.documents) == ["a", "c", "e"]
    assert (list(some.queries), some.judgements) == (["f", "q"], {"f": {"e": 1}, "q": {"c": 2}})
    assert (some.exclusions, corpus.exclusions) == ({"f": []}, {"f": ["f"]})
    assert corpus.part(queries=1).documents == corpus.documents
    assert corpus.part(documents=6) == corpus.part() == corpus
    with pytest.raises(ValueError, match=r"^3 queries\b.*\b3\b.*\b2\b"):
        corpus.part(documents=2)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "documents", "queries", "excluded"), [("scifact", 5183, 300, 0), ("arguana", 8784, 1401, 1401)]
)
def test_real_corpora(name: str, documents: int, queries: int, excluded: int) -> None:
    if not (folder := os.environ.get("MAXSIEVE_CORPORA")):
        pytest.skip("MAXSIEVE_CORPORA is not set: no real corpora to read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpusWarning)
        corpus = read_corpus(Path(folder, name))
    judged = corpus.first(None)
    assert (len(corpus.documents), len(judged.queries), len(judged.exclusions)) == (documents, queries, excluded)
