"""With Sentence Transformers itself: ours must agree with its `maxsim`, its evaluators and its encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder, util
from sentence_transformers.multi_vector_encoder.evaluation import (
    MultiVectorInformationRetrievalEvaluator,
    MultiVectorRerankingEvaluator,
)
from torch_models import ANSWERS, QUESTIONS, TEXTS, documents, encoder_modules, queries

import maxsieve as ms
from maxsieve.adapters.sentence_transformers import FEW, MaxsieveEncoder, maxsim, semantic_search


@pytest.fixture(scope="module")
def theirs() -> MultiVectorEncoder:
    return MultiVectorEncoder(modules=encoder_modules(), device="cpu")


@pytest.fixture(scope="module")
def ours() -> MaxsieveEncoder:
    return MaxsieveEncoder(modules=encoder_modules(), device="cpu")


def pad(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def mask_of(rows: list[torch.Tensor]) -> torch.Tensor:
    whole = pad(rows)
    return torch.arange(whole.shape[1]) < torch.tensor([len(one) for one in rows])[:, None]


QUERIES, DOCUMENTS = queries(3, 6, 1), documents(4, 0, 7, 1)
CALLS = {
    "lists": (QUERIES, DOCUMENTS, {}),
    "padded queries, lists of documents": (pad(QUERIES), DOCUMENTS, {}),
    "padded": (pad(QUERIES), pad(DOCUMENTS), {}),
    "NumPy": ([one.numpy() for one in QUERIES], pad(DOCUMENTS).numpy(), {}),
    "one of each": (QUERIES[0], DOCUMENTS[0], {}),
    "one of each, masked": (QUERIES[0], DOCUMENTS[0], {"a_mask": torch.tensor([1, 0, 1]), "b_mask": torch.ones(4)}),
    "masks": (pad(QUERIES), pad(DOCUMENTS), {"a_mask": mask_of(QUERIES), "b_mask": mask_of(DOCUMENTS).float()}),
    "masks as lists": (QUERIES, DOCUMENTS, {"b_mask": [torch.ones(len(one)) for one in DOCUMENTS]}),
    "mean": (pad(QUERIES), DOCUMENTS, {"length_normalize": True}),
    "mean, masked": (pad(QUERIES), DOCUMENTS, {"length_normalize": True, "a_mask": torch.ones(3, 6)}),
    "in chunks": (QUERIES, DOCUMENTS, {"chunk_elements": 50, "device": "cpu"}),
    "no queries": ([], DOCUMENTS, {}),
    "no documents": (QUERIES, [], {}),
    "only empty documents": (QUERIES, [torch.zeros(0, 16)], {}),
    "float64": ([one.double() for one in QUERIES], [one.double() for one in DOCUMENTS], {}),
    "integers": ([(9 * one).char() for one in QUERIES], [(9 * one).char() for one in DOCUMENTS], {}),
}


@pytest.mark.parametrize("call", CALLS)
def test_maxsim_is_theirs(call: str) -> None:
    a, b, options = CALLS[call]
    expected, found = util.maxsim(a, b, **options), maxsim(a, b, **options)
    assert found.dtype == torch.float32
    assert found.device == expected.device
    torch.testing.assert_close(found, expected.float(), atol=1e-5, rtol=1e-6)


def test_half_precision_is_scored_in_float32() -> None:
    asked, docs = queries(8, dtype=torch.bfloat16), documents(9, 5, dtype=torch.bfloat16)
    expected = util.maxsim([one.float() for one in asked], [one.float() for one in docs])
    torch.testing.assert_close(maxsim(asked, docs), expected, atol=1e-5, rtol=0)


def test_what_is_not_taken() -> None:
    with pytest.raises(ValueError, match="weights"):
        maxsim(pad(QUERIES), DOCUMENTS, a_mask=torch.full((3, 6), 0.5))
    with pytest.raises(ValueError, match="document 0, row 1, dimension 2"):
        maxsim(QUERIES, [torch.where(torch.arange(32).reshape(2, 16) == 18, torch.nan, 1.0)])
    with pytest.raises(ValueError, match=r"document 1\b.*\b8\b.*\b16\b"):
        maxsim(QUERIES, [torch.ones(1, 16), torch.ones(1, 8)])


def judged() -> dict[str, object]:
    return {"queries": QUESTIONS, "corpus": TEXTS, "relevant_docs": {one: {ANSWERS[one]} for one in QUESTIONS}}


def test_the_retrieval_evaluator_gives_the_same_figures(theirs: MultiVectorEncoder) -> None:
    options = {"corpus_chunk_size": 4, "write_csv": False}
    expected = MultiVectorInformationRetrievalEvaluator(**judged(), **options)(theirs)
    found = MultiVectorInformationRetrievalEvaluator(**judged(), **options, score_functions={"maxsim": maxsim})(theirs)
    assert found == pytest.approx(expected)
    assert any("ndcg" in name for name in found)


@pytest.mark.parametrize("batched", [True, False])
def test_the_reranking_evaluator_gives_the_same_figures(
    batched: bool, theirs: MultiVectorEncoder, ours: MaxsieveEncoder
) -> None:
    samples = [
        {
            "query": QUESTIONS[one],
            "positive": [TEXTS[ANSWERS[one]]],
            "negative": [text for name, text in TEXTS.items() if name != ANSWERS[one]],
        }
        for one in QUESTIONS
    ]
    options = {"samples": samples, "write_csv": False, "use_batched_encoding": batched}
    expected = MultiVectorRerankingEvaluator(**options)(theirs)
    assert MultiVectorRerankingEvaluator(**options, similarity_fct=maxsim)(theirs) == pytest.approx(expected)
    assert MultiVectorRerankingEvaluator(**options)(ours) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["maxsim", "meanmaxsim"])
def test_the_encoder_is_theirs_but_for_its_similarity(
    name: str, theirs: MultiVectorEncoder, ours: MaxsieveEncoder
) -> None:
    theirs.similarity_fn_name = ours.similarity_fn_name = name
    asked, docs = theirs.encode_query(list(QUESTIONS.values())), theirs.encode_document(list(TEXTS.values()))
    for one, other in zip(ours.encode_document(list(TEXTS.values())), docs, strict=True):
        assert torch.equal(one, other)
    expected = theirs.similarity(asked, docs)
    torch.testing.assert_close(ours.similarity(asked, docs), expected, atol=1e-5, rtol=0)
    assert torch.equal(ours.similarity(asked, docs), maxsim(asked, docs, length_normalize=name == "meanmaxsim"))
    torch.testing.assert_close(ours.similarity_pairwise(asked, docs[:3]), theirs.similarity_pairwise(asked, docs[:3]))
    theirs.similarity_fn_name = ours.similarity_fn_name = "maxsim"


def test_the_encoder_can_be_saved_and_loaded(tmp_path, ours: MaxsieveEncoder) -> None:
    ours.save(str(tmp_path))
    asked = ours.encode_query(["who won"])
    for kind in (MaxsieveEncoder, MultiVectorEncoder):
        torch.testing.assert_close(kind(str(tmp_path), device="cpu").encode_query(["who won"]), asked)


@pytest.mark.parametrize("copies", [1, FEW])  # few queries are scored directly; for many, an index is built
def test_semantic_search_lists_what_theirs_lists(copies: int) -> None:
    asked, docs = queries(3, 6) * copies, documents(4, 4, 7, 1, 3)
    expected = torch.topk(util.maxsim(asked, docs), 3)
    found = semantic_search(asked, docs, top_k=3)
    assert [[hit["corpus_id"] for hit in one] for one in found] == expected.indices.tolist()
    np.testing.assert_allclose([[hit["score"] for hit in one] for one in found], expected.values, atol=1e-5)
    index = ms.Index.build([one.numpy() for one in docs])
    assert semantic_search(pad(asked), index, top_k=3) == semantic_search(asked, pad(docs), top_k=3) == found


@pytest.mark.parametrize("copies", [1, FEW])
def test_semantic_search_of_what_is_empty_or_equal(copies: int) -> None:
    (doc,) = documents(3)
    found = semantic_search([*queries(2), torch.zeros(0, 16)] * copies, [torch.zeros(0, 16), doc, doc], top_k=9)
    assert [[hit["corpus_id"] for hit in one] for one in found] == [[1, 2], []] * copies
    assert semantic_search(queries(2) * copies, []) == [[]] * copies
    assert semantic_search([], [doc]) == []
    with pytest.raises(ValueError, match="top_k"):
        semantic_search(queries(2), [doc], top_k=0)
