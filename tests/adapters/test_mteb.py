"""MTEB itself runs a small task made here, with its own search model and with ours."""

from __future__ import annotations

from typing import Any

import mteb
import pytest
import torch
from mteb.models import ModelMeta, MultiVectorWrapper, SearchProtocol
from sentence_transformers import MultiVectorEncoder
from small_task import Fables
from torch_models import QUESTIONS, TEXTS
from torch_models import encoder as make_encoder

import maxsieve as ms
from maxsieve.adapters.mteb import MaxsieveSearch

PROMPTS = {"query": "question: ", "document": "fable: "}


@pytest.fixture(scope="module")
def encoder() -> MultiVectorEncoder:
    return make_encoder(prompts=PROMPTS)


def searched(model: Any, top_ranked: dict[str, list[str]] | None = None) -> dict[str, dict[str, float]]:
    """What MTEB's evaluator does with a model: index, then search."""
    task = Fables()
    task.top_ranked = top_ranked
    task.load_data()
    split = task.dataset["default"]["test"]
    about = {"task_metadata": task.metadata, "hf_split": "test", "hf_subset": "default", "num_proc": None}
    model.index(split["corpus"], encode_kwargs={"batch_size": 2}, **about)
    return model.search(split["queries"], top_k=4, encode_kwargs={"batch_size": 2}, top_ranked=top_ranked, **about)


def test_a_task_gives_the_same_scores(encoder: MultiVectorEncoder) -> None:
    model = MaxsieveSearch(encoder)
    assert isinstance(model, SearchProtocol)
    results = [mteb.evaluate(each, Fables(), cache=None) for each in (encoder, model)]
    expected, found = (one.task_results[0].scores["test"][0] for one in results)
    assert found["ndcg_at_10"] > 0
    measures = {name for name, value in expected.items() if isinstance(value, float)}
    assert {name: found[name] for name in measures} == pytest.approx(
        {name: expected[name] for name in measures}, nan_ok=True
    )
    assert model.guarantee == "exact"


@pytest.mark.parametrize("top_ranked", [None, {"sour": ["wolf", "fox"], "race": [], "rope": ["lion", "ant", "hare"]}])
def test_scores_ids_prompts_and_titles_are_theirs(
    top_ranked: dict[str, list[str]] | None, encoder: MultiVectorEncoder
) -> None:
    expected, found = (searched(each, top_ranked) for each in (MultiVectorWrapper(encoder), MaxsieveSearch(encoder)))
    assert found.keys() == expected.keys()
    for one in found:
        assert found[one].keys() == expected[one].keys()
        assert found[one] == pytest.approx(expected[one], abs=1e-5)
    bare = MaxsieveSearch(MultiVectorEncoder(modules=list(encoder), device="cpu"))  # without prompts: other scores
    assert searched(bare, top_ranked) != found


def test_what_is_encoded_is_title_and_text_and_the_models_prompts(encoder: MultiVectorEncoder) -> None:
    found = searched(MaxsieveSearch(encoder))
    asked = encoder.encode_query(list(QUESTIONS.values()))  # with its own prompts
    docs = encoder.encode_document([text.replace(". ", " ", 1) for text in TEXTS.values()])
    scores = encoder.similarity(asked, docs)
    for row, one in zip(scores.tolist(), QUESTIONS, strict=True):
        expected = dict(zip(TEXTS, row, strict=True))
        assert found[one] == pytest.approx({name: expected[name] for name in found[one]}, abs=1e-5)
        assert found[one].keys() == set(sorted(expected, key=expected.__getitem__, reverse=True)[:4])


class Padded:
    """Another model of MTEB whose `encode` returns token vectors: here padded ones, in half precision."""

    mteb_model_meta = ModelMeta.create_empty()

    def encode(self, inputs: Any, *, prompt_type: Any, **kwargs: Any) -> torch.Tensor:
        texts = [text for batch in inputs for text in batch["text"]]
        rows = [torch.eye(128)[[ord(letter) % 128 for letter in text.lower()]] for text in texts]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).bfloat16()


def test_any_model_with_token_vectors() -> None:
    found = searched(MaxsieveSearch(Padded()))
    letters = {name: set(text.lower().replace(". ", " ", 1)) for name, text in TEXTS.items()}
    for one, text in QUESTIONS.items():
        for name, value in found[one].items():
            assert value == sum(letter in letters[name] for letter in text)


def test_what_is_not_exact_says_so(encoder: MultiVectorEncoder) -> None:
    model = MaxsieveSearch(encoder, policy=ms.Bandit(alpha=0.01, margin=0, block=1))
    searched(model)
    assert model.guarantee == "none"


def test_what_is_no_model() -> None:
    with pytest.raises(ValueError, match="indexed"):
        MaxsieveSearch(Padded()).search(None, task_metadata=None, hf_split="", hf_subset="", top_k=1, encode_kwargs={})
    with pytest.raises(KeyError, match="nobody"):
        searched(MaxsieveSearch(Padded()), {"sour": ["nobody"]})

    class Silent:
        mteb_model_meta = None

    with pytest.raises(TypeError, match=r"Silent.*encode"):
        MaxsieveSearch(Silent())
