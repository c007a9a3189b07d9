"""Checkpoints for Sentence Transformers, made here, compared with what their authors' settings say, by hand."""

from __future__ import annotations

import copy
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentence_transformers
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

import maxsieve as ms
import maxsieve.text
from maxsieve.errors import ModelFetchError, ModelMissingError
from maxsieve.text import (
    Encoder,
    SentenceTransformersEncoder,
    Traceable,
    TruncationWarning,
    fetch_model,
    load_encoder,
    model_path,
)
from maxsieve.text.encoders.encoder import to_encoder

from .tiny_checkpoints import DIM, HIDDEN, save_native, save_plain, save_stanford

pytestmark = pytest.mark.full

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_plain(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory, plain: Path) -> Path:
    return save_native(tmp_path_factory.mktemp("native") / "it", plain)


@pytest.fixture(scope="module")
def stanford(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_stanford(tmp_path_factory.mktemp("stanford") / "it")


def by_hand(plain: Path, tokens: list[str], attended: int, kept: list[int], projection: Any) -> Any:
    """Projects the states of these tokens, of which only the first are attended to, and keeps some."""
    model, words = AutoModel.from_pretrained(plain), AutoTokenizer.from_pretrained(plain)
    ids = torch.tensor([words.convert_tokens_to_ids(tokens)])
    with torch.inference_mode():
        states = model(ids, attention_mask=(torch.arange(len(tokens)) < attended)[None].long()).last_hidden_state[0]
        rows = states[kept] if projection is None else states[kept] @ projection.T
        return torch.nn.functional.normalize(rows, dim=1).numpy()


@pytest.mark.parametrize(("form", "length"), [("native", 12), ("stanford", 9)])
def test_queries_and_documents_as_the_checkpoint_says(
    plain: Path, request: pytest.FixtureRequest, form: str, length: int
) -> None:
    folder = request.getfixturevalue(form)
    encoder = SentenceTransformersEncoder(folder)
    assert encoder.dim == DIM
    weights = folder / ("1_Dense/model.safetensors" if form == "native" else "model.safetensors")
    projection = load_file(weights)["linear.weight"]

    query = ["[CLS]", "[unused0]", "where", "is", "the", "cat", "?", "[SEP]"]
    expanded = query + ["[MASK]"] * (length - len(query))
    (rows,) = encoder.encode_queries(["Where is the cat?"])
    expected = by_hand(plain, expanded, len(query), list(range(length)), projection)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-5)

    document = ["[CLS]", "[unused1]", "the", "cat", "##s", ",", "on", "mat", ".", "[SEP]"]
    without_punctuation = [0, 1, 2, 3, 4, 6, 7, 9]
    rows, short = encoder.encode_documents(["The cats, on mat.", "dog"])
    expected = by_hand(plain, document, len(document), without_punctuation, projection)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-5)
    assert short.shape == (4, DIM)
    assert rows.dtype == short.dtype == np.float32


def test_a_plain_model_gives_its_states_without_special_tokens(plain: Path) -> None:
    encoder = SentenceTransformersEncoder(plain)
    assert encoder.dim == HIDDEN
    tokens = ["[CLS]", "the", "cat", "[UNK]", "[SEP]"]
    expected = by_hand(plain, tokens, 5, [1, 2, 3], None)
    for encode in (encoder.encode_queries, encoder.encode_documents):
        rows, nothing = encode(["The cat \U0001f600", ""])
        np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-5)
        assert nothing.shape == (0, HIDDEN)


def test_long_documents_are_cut_and_that_is_said(native: Path) -> None:
    encoder = SentenceTransformersEncoder(native)
    with pytest.warns(TruncationWarning, match=r"\b1 of 2\b.*\b10\b.*\b53\b") as said:
        rows, _ = encoder.encode_documents(["cat " * 50, "cat"])
    assert len(rows) == 10
    assert [warning.filename for warning in said] == [__file__]


def test_most_of_a_long_document_is_not_tokenised(native: Path) -> None:
    encoder = SentenceTransformersEncoder(native)
    given: list[int] = []
    encode = encoder._model.encode_document

    def counting(texts: list[str], **options: Any) -> Any:
        given.extend(map(len, texts))
        return encode(texts, **options)

    encoder._model.encode_document = counting
    with pytest.warns(TruncationWarning, match=r"\b10\b.* at least \d+"):
        [cut] = encoder.encode_documents(["cat the " * 50_000])
    assert given[0] < 2000
    with pytest.warns(TruncationWarning):
        [expected] = encoder.encode_documents(["cat the " * 50])
    np.testing.assert_array_equal(cut, expected)


def test_names_and_fingerprints(native: Path, tmp_path: Path) -> None:
    encoder = load_encoder(f"st:{native}")
    assert isinstance(encoder, Encoder)
    assert not isinstance(encoder, Traceable)
    assert encoder.name == f"st:{native}"
    assert {"modules.json", "model.safetensors", "1_Dense/model.safetensors", "tokenizer.json"} <= set(
        encoder.fingerprint
    )
    copy = shutil.copytree(native, tmp_path / "copy")
    (copy / "README.md").write_text("changed")
    assert SentenceTransformersEncoder(copy).fingerprint == encoder.fingerprint
    config = copy / "config_sentence_transformers.json"
    config.write_text(config.read_text().replace("[unused1]", "[unused0]"))
    assert SentenceTransformersEncoder(copy).fingerprint != encoder.fingerprint


def test_a_name_on_the_hub_is_found_in_its_cache(native: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelMissingError, match=r"fetch_model\('st:who/tiny'\)"):
        load_encoder("st:who/tiny")
    repository = tmp_path / "models--who--tiny"
    shutil.copytree(native, repository / "snapshots" / REVISION)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(REVISION)
    encoder = load_encoder("st:who/tiny")
    assert encoder.name == f"st:who/tiny@{REVISION}"
    assert encoder.fingerprint == {"revision": REVISION}
    assert model_path("st:who/tiny") == repository / "snapshots" / REVISION
    again = load_encoder(encoder.name)
    np.testing.assert_array_equal(again.encode_queries(["cat"])[0], encoder.encode_queries(["cat"])[0])
    with pytest.raises(ModelMissingError):
        load_encoder("st:who/tiny@" + "f" * 40)


def test_pickled_it_goes_by_its_name(native: Path) -> None:
    encoder = SentenceTransformersEncoder(native, threads=1)
    sent = pickle.dumps(encoder)
    assert len(sent) < 2000
    other = pickle.loads(sent)
    assert (other.name, other.fingerprint) == (encoder.name, encoder.fingerprint)
    assert other.encode_queries(["a b"])[0].tobytes() == encoder.encode_queries(["a b"])[0].tobytes()
    assert copy.deepcopy(encoder) is encoder


def test_names_that_nothing_can_have() -> None:
    with pytest.raises(ValueError, match="hub"):
        load_encoder("st:no such thing")


def test_threads_are_torchs_for_the_call_only(native: Path) -> None:
    before = torch.get_num_threads()
    encoder = SentenceTransformersEncoder(native, threads=before + 1)
    seen: list[int] = []
    encode = encoder._model.encode_query
    encoder._model.encode_query = lambda *a, **k: seen.append(torch.get_num_threads()) or encode(*a, **k)
    encoder.encode_queries(["cat"])
    assert seen == [before + 1]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("bad", ["one text", ["one", None]])
def test_what_is_no_list_of_texts(native: Path, bad: Any) -> None:
    encoder = SentenceTransformersEncoder(native)
    for encode in (encoder.encode_queries, encoder.encode_documents):
        with pytest.raises(TypeError, match="texts"):
            encode(bad)
    assert len(encoder.encode_queries(["\ud800 \0 cat"])[0]) == 12
    assert encoder.encode_documents([]) == encoder.encode_queries([]) == []


def test_progress_is_ours(native: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SentenceTransformersEncoder(native).encode_documents(["cat"] * 5, progress=True)
    shown = capsys.readouterr()
    assert not shown.out
    assert "5/5" in shown.err


def test_a_hub_that_is_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelFetchError, match="who/tiny"):
        fetch_model("st:who/tiny")


def test_a_model_object_is_taken_as_it_is(native: Path, plain: Path, tmp_path: Path) -> None:
    model = sentence_transformers.MultiVectorEncoder(str(native), device="cpu")
    texts = ["a red fox", "green tea and bread"]
    named = SentenceTransformersEncoder(native)
    with ms.Collection.create(tmp_path / "c", model) as collection:
        collection.add(texts, ["fox", "tea"])
        assert collection.search("tea", k=1).ids == ["tea"]
        for own, other in zip(collection.encoder.encode_queries(texts), named.encode_queries(texts), strict=True):
            assert np.array_equal(own, other)
    with ms.Collection.open(tmp_path / "c", sentence_transformers.MultiVectorEncoder(str(native))) as again:
        assert again.search("tea", k=1).ids == ["tea"]  # other objects with the same weights are the same encoder
    with ms.Collection.open_or_create(tmp_path / "c", model) as again:
        assert len(again) == 2
    hits = ms.text.rerank("tea", texts, encoder=model)
    assert len(hits) == 2
    taken = to_encoder(model)
    assert isinstance(taken, Encoder)
    assert pickle.loads(pickle.dumps(taken)).fingerprint == taken.fingerprint
    with torch.no_grad():
        next(model[0].parameters()).add_(0.01)
    with pytest.raises(ValueError, match="its weights is"):
        ms.Collection.open(tmp_path / "c", model)
    with pytest.raises(TypeError, match="vector per text"):
        ms.Collection.create(tmp_path / "d", sentence_transformers.SentenceTransformer(str(plain), device="cpu"))
