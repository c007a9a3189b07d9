"""PyTerrier's own pipelines and experiments around our transformers."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pyterrier as pt
import pytest
from fables import GUIDE, Words, make

import maxsieve as ms
from maxsieve.adapters.pyterrier import MaxsieveIndexer, MaxsieveReranker, MaxsieveRetriever
from maxsieve.text import rerank

QUERIES = pd.DataFrame(
    [["q2", "sour grapes", "x"], ["q1", "number n3", "y"]], columns=["qid", "query", "qkind"], index=[7, 7]
)
QRELS = pd.DataFrame([["q1", "guide", 1], ["q2", "fox", 1], ["q2", "crow", 0]], columns=["qid", "docno", "label"])


@pytest.fixture
def fables(tmp_path: Path) -> ms.Collection:
    return make(tmp_path / "fables")


@pytest.fixture(autouse=True)
def no_java() -> Any:
    yield
    assert not pt.java.started()


def candidates() -> pd.DataFrame:
    """As a first stage returns them. The last document has no token."""
    rows = [
        ["q2", "sour grapes", "hare", 9.0, 0, "the hare"],
        ["q2", "sour grapes", "fox", 8.0, 1, "a fox and sour grapes"],
        ["q1", "number n3", "crow", 7.0, 0, "the crow"],
        ["q1", "number n3", "guide", 6.0, 1, "number n3"],
        ["q1", "number n3", "blank", 5.0, 2, ""],
    ]
    return pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank", "text"])


def test_retrieval(fables: ms.Collection) -> None:
    found = MaxsieveRetriever(fables, 3)(QUERIES)
    assert list(found.columns) == ["qid", "query", "qkind", "docno", "score", "rank"]
    assert found["qid"].tolist() == ["q2"] * 3 + ["q1"] * 3
    assert found["rank"].tolist() == [0, 1, 2] * 2
    assert found["qkind"].tolist() == ["x"] * 3 + ["y"] * 3
    for qid, query in (("q2", "sour grapes"), ("q1", "number n3")):
        rows, hits = found[found["qid"] == qid], fables.search(query, k=3)
        assert rows["docno"].tolist() == hits.ids
        assert rows["score"].tolist() == hits.scores.tolist()
    assert found.attrs["maxsieve"] == {"exact": 2}
    again = pt.model.add_ranks(found.copy())
    assert again["rank"].tolist() == found["rank"].tolist()
    assert MaxsieveRetriever(fables, 1).search("grapes")["docno"].tolist() == ["fox"]


def test_a_frame_is_searched_together(tmp_path: Path) -> None:
    encoder = Words()
    retriever = MaxsieveRetriever(make(tmp_path / "fables", encoder))
    retriever(QUERIES)
    assert encoder.asked == [2]


def test_texts(fables: ms.Collection) -> None:
    query = QUERIES[1:]
    [passage] = MaxsieveRetriever(fables, 1, text="passage")(query)["text"]
    assert "n3" in passage
    assert GUIDE != passage in GUIDE
    assert MaxsieveRetriever(fables, 1, text="document")(query)["text"].tolist() == [GUIDE]


def test_stored_vectors_of_named_documents(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(fables, search_kwargs={"policy": ms.Exhaustive()})
    found = retriever(candidates())
    assert found[["qid", "docno", "rank"]].values.tolist() == [
        ["q2", "fox", 0],
        ["q2", "hare", 1],
        ["q1", "guide", 0],
        ["q1", "crow", 1],
    ], "the one without a token is no hit"
    assert found["text"].tolist() == ["a fox and sour grapes", "the hare", "number n3", "the crow"]
    assert found["score"][0] == fables.search("sour grapes", k=1).scores[0]
    twice = retriever(pd.concat([candidates(), candidates().assign(text="again")]))
    pd.testing.assert_frame_equal(twice, found)


def test_numbers_as_ids(tmp_path: Path) -> None:
    numbered = ms.Collection.create(tmp_path / "numbered", Words())
    numbered.add(["the fox", "the owl", "the crow"], ids=[10, 20, 30])
    found = MaxsieveRetriever(numbered)(
        pd.DataFrame([["q", "owl", "20"], ["q", "owl", "10"]], columns=["qid", "query", "docno"])
    )
    assert found["docno"].tolist() == ["20", "10"]


def test_reranking_of_texts() -> None:
    given = candidates()
    found = MaxsieveReranker(Words())(given)
    assert found["docno"].tolist() == ["fox", "hare", "guide", "crow"]
    assert found["rank"].tolist() == [0, 1, 0, 1]
    hits = rerank("sour grapes", ["the hare", "a fox and sour grapes"], encoder=Words())
    assert found["score"].tolist()[:2] == hits.scores.tolist()
    assert list(found.columns) == list(given.columns)
    pd.testing.assert_frame_equal(given, candidates())
    renamed = given.rename(columns={"text": "body"})
    assert MaxsieveReranker(Words(), text_field="body")(renamed)["docno"].tolist() == found["docno"].tolist()


def test_a_cutoff_goes_into_the_search(fables: ms.Collection) -> None:
    retriever, reranker = MaxsieveRetriever(fables, 3, text="passage"), MaxsieveReranker(Words())
    for pipeline, frame in ((retriever % 2, QUERIES), (retriever % 2, candidates()), (reranker % 1, candidates())):
        compiled = pipeline.compile()
        assert isinstance(compiled, (MaxsieveRetriever, MaxsieveReranker))
        pd.testing.assert_frame_equal(compiled(frame), pipeline(frame))
    assert (retriever % 5).compile() is retriever
    assert retriever.fuse_rank_cutoff(0) is None
    assert len((retriever % 0)(QUERIES)) == 0
    both = (retriever >> reranker % 1).compile()
    assert both(QUERIES)["docno"].tolist() == ["fox", "guide"]


def test_an_experiment(fables: ms.Collection) -> None:
    retriever = MaxsieveRetriever(fables, text="passage")
    pipelines = [retriever, retriever >> MaxsieveReranker(Words()) % 2]
    table = pt.Experiment(pipelines, QUERIES, QRELS, ["map", "ndcg_cut_10", "P_1"], names=["one", "two"], plan="tree")
    assert table[["map", "ndcg_cut_10", "P_1"]].values.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert pt.Evaluate(retriever(QUERIES), QRELS, ["map"]) == {"map": 1}


@pytest.mark.parametrize("kind", ["retriever", "reranker"])
def test_what_pyterrier_asks_of_transformers(fables: ms.Collection, kind: str) -> None:
    made = MaxsieveRetriever(fables) if kind == "retriever" else MaxsieveReranker(Words())
    suite = pt.testing.transformer_test_class(lambda: made)
    suite.setUpClass()
    suite("test_inspect_io").debug()
    for columns in pt.inspect.transformer_inputs(made):
        empty = made(pd.DataFrame(columns=columns))
        assert len(empty) == 0
        assert {"qid", "query", "docno", "score", "rank"} <= set(empty.columns)


def test_indexing(tmp_path: Path) -> None:
    encoder = Words()
    indexer = MaxsieveIndexer(tmp_path / "new", encoder, text_attrs=["title", "text"], meta=["year"])
    records = [
        {"docno": "a", "title": "The fox", "text": "sour grapes", "year": 1668, "other": object()},
        {"docno": "b", "title": "The hare", "text": "a tortoise"},
    ]
    lowered = pt.apply.generic(lambda frame: frame.assign(text=frame["text"].str.lower()))
    collection = (lowered >> indexer).index(iter(records))
    assert (collection.ids, collection.text("a")) == (["a", "b"], "The fox\nsour grapes")
    assert (collection.metadata("a")["year"], collection.metadata("b")) == (1668, None)
    assert MaxsieveRetriever(collection, 1)(QUERIES[:1])["docno"].tolist() == ["a"]
    more = MaxsieveIndexer(tmp_path / "new", encoder, text_attrs=["title", "text"]).index(
        [{"docno": "c", "title": "The crow", "text": "a pitcher", "year": 1700, "place": "x"}]
    )
    assert (len(more), more.metadata("c")) == (3, {"year": 1700, "place": "x"})
    assert pt.inspect.indexer_inputs(indexer) == [["docno", "title", "text"]]
    with pytest.raises(NotImplementedError, match=r"Did you mean to call `index\(\)`"):
        indexer.transform(QUERIES)


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([{"text": "x"}], "document 0: docno .*None"),
        ([{"docno": "a", "text": "x"}, {"docno": 7, "text": "x"}], "document 1: docno .*7"),
        ([{"docno": "a", "text": float("nan")}], "document 0: text .*nan"),
        ([{"docno": "a", "text": "x"}, {"docno": "a", "text": "y"}], "ids: 'a'"),
        (["a text"], "document 0 is str"),
        ({"docno": "a", "text": "x"}, "documents .*not dict"),
        ([{"docno": "a", "text": "x", "blob": b"y"}], "document 'a': "),
    ],
)
def test_bad_documents(tmp_path: Path, records: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        MaxsieveIndexer(tmp_path / "new", Words()).index(records)


def test_bad_arguments(fables: ms.Collection, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"num_results\b.*\b0\b"):
        MaxsieveRetriever(fables, 0)
    with pytest.raises(ValueError, match=r"num_results\b.*-1\b"):
        MaxsieveReranker(Words(), -1)
    with pytest.raises(ValueError, match=r"text\b.*'all'"):
        MaxsieveRetriever(fables, text="all")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        MaxsieveRetriever(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="field"):
        MaxsieveIndexer(tmp_path / "new", text_attrs="text")
    with pytest.raises(KeyError, match="'owl'"):
        MaxsieveRetriever(fables)(candidates().replace("fox", "owl"))
    with pytest.raises(pt.validate.InputValidationError, match="match required columns"):
        MaxsieveReranker(Words())(QUERIES)
    with pytest.raises(TypeError, match=r"query 0\b.*\bfloat"):
        MaxsieveRetriever(fables)(QUERIES.assign(query=float("nan")))
    assert len(MaxsieveRetriever(fables, 10**15)(QUERIES)) == 8


def test_copies(fables: ms.Collection) -> None:
    for made, frame in ((MaxsieveRetriever(fables, 2), QUERIES), (MaxsieveReranker(Words()), candidates())):
        for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            pd.testing.assert_frame_equal(again(frame), made(frame))
