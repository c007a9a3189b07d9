"""With PyLate itself: ours must agree with its retriever, its reranker and its scores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from pylate import indexes, models, rank, retrieve, scores
from torch_models import ANSWERS, QUESTIONS, TEXTS, documents, minilm, queries

import maxsieve as ms
from maxsieve.adapters.pylate import Maxsieve, colbert_scores, rerank

IDS = ["a", "b", "c", "d"]
LENGTHS = (3, 1, 4, 2)


@pytest.fixture
def index(tmp_path: Path) -> Maxsieve:
    return Maxsieve(tmp_path, "colbert").add_documents(IDS, documents(*LENGTHS))


@pytest.fixture(scope="module")
def model() -> models.ColBERT:
    torch.manual_seed(3)
    return models.ColBERT(model_name_or_path=str(minilm()), device="cpu")


def truth(asked: torch.Tensor, docs: list[torch.Tensor]) -> list[float]:
    return [float((asked @ doc.T).max(dim=1).values.sum()) for doc in docs]


def test_a_retriever_of_pylate_runs_on_it(model: models.ColBERT, tmp_path: Path) -> None:
    index = Maxsieve(index_folder=str(tmp_path), index_name="fables", override=True)
    encoded = model.encode(list(TEXTS.values()), is_query=False, show_progress_bar=False)
    index = index.add_documents(documents_ids=list(TEXTS), documents_embeddings=encoded)
    asked = model.encode(list(QUESTIONS.values()), is_query=True, show_progress_bar=False)
    found = retrieve.ColBERT(index=index).retrieve(queries_embeddings=asked, k=3)
    theirs = rank.rerank([list(TEXTS)] * 3, asked, [encoded] * 3)
    for ours, others in zip(found, theirs, strict=True):
        assert [one["id"] for one in ours] == [one["id"] for one in others[:3]]
        np.testing.assert_allclose([one["score"] for one in ours], [one["score"] for one in others[:3]], atol=1e-5)
    assert [one[0]["id"] for one in found] == list(ANSWERS.values())
    assert isinstance(index, indexes.base.Base)


def test_an_index_is_there_again(index: Maxsieve, tmp_path: Path) -> None:
    asked = queries(5)
    again = Maxsieve(tmp_path, "colbert")
    assert again(asked, k=10) == index(asked, k=10)
    assert {one["id"] for one in again(asked, k=10)[0]} == set(IDS)
    assert Maxsieve(str(tmp_path), "other")._index is None


def test_override_starts_again_and_removes_nothing_else(index: Maxsieve, tmp_path: Path) -> None:
    anew = Maxsieve(tmp_path, "colbert", override=True)
    with pytest.raises(ValueError, match="index is empty"):
        anew(queries(2))
    anew.add_documents("z", [np.ones((2, 5), np.float32)])  # of another dimension
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("Dear")
    with pytest.raises(FileExistsError, match="not an index"):
        Maxsieve(tmp_path, "letters", override=True)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "Dear"


@pytest.mark.parametrize("name", ["../out", "/absolute", "", "a/../../b", "nul\0"])
def test_a_name_that_leads_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="index_name"):
        Maxsieve(tmp_path, name)


@pytest.mark.parametrize("name", ["ünï cödé", "\x1b[31mred", "-rf", "nested/name", "new\nline"])
def test_odd_names(name: str, tmp_path: Path) -> None:
    Maxsieve(tmp_path, name).add_documents(["a"], documents(2))
    assert Maxsieve(tmp_path, name)(queries(2))[0][0]["id"] == "a"


FORMS = {
    "a list of tensors": lambda docs: docs,
    "a list of arrays": lambda docs: [one.numpy() for one in docs],
    "bfloat16": lambda docs: [one.bfloat16() for one in docs],
    "one tensor": lambda docs: torch.stack([one[:1] for one in docs]),
    "one array": lambda docs: torch.stack([one[:1] for one in docs]).numpy(),
    "lists": lambda docs: [one.tolist() for one in docs],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_documents(form: str, tmp_path: Path) -> None:
    given = FORMS[form](documents(*LENGTHS))
    index = Maxsieve(tmp_path).add_documents(documents_ids=IDS, documents_embeddings=given, batch_size=2)
    (kept,) = index.get_documents_embeddings([IDS])
    for one, rows in zip(given, kept, strict=True):
        assert np.asarray(torch.as_tensor(one).float()).tolist() == rows.tolist()


def test_one_query_or_many(index: Maxsieve) -> None:
    asked = queries(4, 4)
    many = index(asked, k=2)
    assert index(torch.stack(asked), k=2) == many
    assert index(asked[0], k=2) == index(asked[0].numpy(), k=2) == many[:1]


def test_ids_that_are_added_again_and_removed(index: Maxsieve) -> None:
    index.add_documents(["b"], documents(6))
    assert index.get_documents_embeddings([["b"]])[0][0].tolist() == documents(6)[0].tolist()
    assert sorted(one["id"] for one in index(queries(3), k=99)[0]) == IDS
    index.remove_documents(["a", "unknown", "a"]).remove_documents("c")
    assert sorted(one["id"] for one in index(queries(3), k=99)[0]) == ["b", "d"]
    index.update_documents(["a"], documents(1)).remove_documents(["a", "b", "d"])
    assert index(queries(3, 2)) == [[], []]


def test_what_fails_changes_nothing(index: Maxsieve, tmp_path: Path) -> None:
    before = index(queries(3), k=9)
    bad = documents(2, 2)
    bad[1][0, 0] = float("inf")
    with pytest.raises(ValueError, match="document 'y', row 0, dimension 0"):
        index.add_documents(["x", "y"], bad)
    with pytest.raises(ValueError, match="x"):
        index.add_documents(["x", "x"], documents(2, 2))
    with pytest.raises(ValueError, match=r"\b1 documents_ids\b.*\b2\b"):
        index.add_documents(["x"], documents(2, 2))
    with pytest.raises(ValueError, match=r"\b5\b.*\b16\b"):
        index.add_documents(["x"], [torch.ones(2, 5)])
    with pytest.raises(KeyError, match="unknown"):
        index.get_documents_embeddings([["a", "unknown"]])
    assert index(queries(3), k=9) == before
    first = Maxsieve(tmp_path, "first")
    with pytest.raises(ValueError, match="inf"):
        first.add_documents(["x", "y"], bad)
    first.add_documents(["x"], [torch.ones(2, 5)])  # nothing of the first attempt is left


def test_subsets(index: Maxsieve) -> None:
    asked = queries(3, 2)
    everything = [{one["id"]: one["score"] for one in found} for found in index(asked, k=9)]

    def found(subset: object) -> list[dict[str, float]]:
        return [{one["id"]: one["score"] for one in found} for found in index(asked, k=9, subset=subset)]

    assert found(["c", "unknown", "a"]) == [{one: each[one] for one in each if one in "ac"} for each in everything]
    assert found([["a"], ["d", "unknown"]]) == [{"a": everything[0]["a"]}, {"d": everything[1]["d"]}]
    assert found([]) == found([[], []]) == found(["unknown"]) == [{}, {}]
    with pytest.raises(ValueError, match=r"\b3\b.*\b2\b"):
        index(asked, subset=[["a"], ["b"], ["c"]])


def test_documents_without_tokens_are_kept_and_not_found(tmp_path: Path) -> None:
    index = Maxsieve(tmp_path).add_documents(["full", "empty"], documents(2, 0))
    assert [one["id"] for one in index(queries(3), k=9)[0]] == ["full"]
    assert index.get_documents_embeddings([["empty"]])[0][0].shape == (0, 16)
    assert Maxsieve(tmp_path, "x").add_documents([], [])._index is None


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    index = Maxsieve(tmp_path).add_documents(range(3), documents(2, 2, 2))
    assert {one["id"] for one in index(queries(3))[0]} == {0, 1, 2}


def test_a_process_that_is_killed_while_it_adds(tmp_path: Path) -> None:
    Maxsieve(tmp_path).add_documents(IDS, documents(*LENGTHS))
    program = f"""
import os, torch
from maxsieve.adapters.pylate import Maxsieve
def some():
    for i in range(10**6):
        if i == 2000:
            os.kill(os.getpid(), 9)
        yield torch.ones(50, 16)
index = Maxsieve({str(tmp_path)!r})
index.index.add((rows.numpy() for rows in some()), [f"new-{{i}}" for i in range(10**6)])
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=300).returncode == -9
    again = Maxsieve(tmp_path)
    assert sorted(one["id"] for one in again(queries(3), k=9)[0]) == IDS
    again.index.verify()
    again.add_documents(["more"], documents(2))


def test_rerank_is_that_of_pylate() -> None:
    docs, asked = documents(4, 4, 4, 4, 4), queries(3, 6)
    ids = [["v", "w", "x", "y", "z"], [1, 2, 3, 4, 5]]
    ours, theirs = (each(ids, asked, [docs, docs]) for each in (rerank, rank.rerank))
    for one, other in zip(ours, theirs, strict=True):
        assert [hit["id"] for hit in one] == [hit["id"] for hit in other]
        np.testing.assert_allclose([hit["score"] for hit in one], [hit["score"] for hit in other], atol=1e-5)
    padded = torch.stack(docs)
    assert rerank(ids[:1], asked[0], padded[None]) == rerank(ids[:1], asked[0].numpy(), [docs]) == ours[:1]


def test_no_padding_wins_in_a_rerank() -> None:
    asked = torch.ones(2, 4)
    docs = [-torch.ones(1, 4), -2 * torch.ones(3, 4)]  # all similarities are negative
    (theirs,) = rank.rerank([["short", "long"]], [asked], [docs])
    (ours,) = rerank([["short", "long"]], [asked], [docs])
    assert [hit["score"] for hit in theirs] == [0.0, -16.0]  # zeros after the short one
    assert ours == [{"id": "short", "score": -8.0}, {"id": "long", "score": -16.0}]


def test_rerank_of_a_document_without_tokens_and_of_equal_ones() -> None:
    docs = documents(0, 2)
    (found,) = rerank([["empty", "first", "second"]], queries(2), [[docs[0], docs[1], docs[1]]])
    assert [hit["id"] for hit in found] == ["first", "second", "empty"]
    assert found[2]["score"] == -np.inf
    with pytest.raises(ValueError, match=r"\b1 documents_ids\b.*\b2\b"):
        rerank([["a"]], queries(2), [documents(1, 2)])


def test_colbert_scores_are_those_of_pylate() -> None:
    docs, asked = torch.stack(documents(4, 4, 4)), torch.stack(queries(5, 5))
    mask = torch.tensor([[1.0, 1, 0, 1, 1], [0, 0, 0, 0, 0]])
    for masks in ({}, {"queries_mask": mask}):
        ours, theirs = colbert_scores(asked, docs, **masks), scores.colbert_scores(asked, docs, **masks)
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_a_documents_mask_leaves_tokens_out() -> None:
    asked, docs = torch.ones(1, 2, 4), torch.stack([-torch.ones(3, 4), torch.ones(3, 4)])
    mask = torch.tensor([[1.0, 1, 0], [1, 1, 1]])
    assert scores.colbert_scores(asked, docs, documents_mask=mask).tolist() == [[0.0, 8.0]]
    assert colbert_scores(asked, docs, documents_mask=mask).tolist() == [[-8.0, 8.0]]
    assert truth(asked[0], [docs[0][:2]]) == [-8.0]


def test_the_policy_is_asked(tmp_path: Path) -> None:
    index = Maxsieve(tmp_path, policy=ms.Calibrated()).add_documents(IDS, documents(*LENGTHS))
    with pytest.raises(ValueError, match="calibrate"):
        index(queries(2))
