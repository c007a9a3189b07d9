"""The lab on a collection or on vectors that exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maxsieve import exchange
from maxsieve.lab import dataset as module
from maxsieve.lab import dataset_sources as existing
from maxsieve.lab.corpora import CorpusWarning
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.dataset_sources import of_collection, of_vectors
from maxsieve.lab.experiments import Options, find
from maxsieve.lab.runs import settings
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder, sentences

TEXTS = sentences(60)
QUERIES = {f"q{i}": " ".join(TEXTS[i].split()[:3]) for i in range(20)}


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> WordEncoder:
    """What ``"words"`` loads."""
    made = WordEncoder()
    monkeypatch.setattr("maxsieve.text.encoders.encoder.load_encoder", lambda name: made)
    monkeypatch.setattr(existing, "load_encoder", lambda name: made)
    monkeypatch.setattr(module, "load_encoder", lambda name: made)
    return made


@pytest.fixture
def folder(tmp_path: Path, encoder: WordEncoder) -> Path:
    with Collection.create(tmp_path / "docs.ms", encoder, 8) as made:
        made.add(TEXTS, [f"d{i}" for i in range(60)])
    encoder.encoded.clear()
    return tmp_path / "docs.ms"


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i}\t1\n" for i in range(20)))
    return path


def test_a_collection_is_taken_as_it_is(folder: Path, qrels: Path, encoder: WordEncoder) -> None:
    dataset = of_collection(folder, QUERIES, qrels, encoder="words")
    data = dataset.as_indexed()
    assert encoder.encoded == [], "no document is encoded again"
    with Collection.open(folder, WordEncoder()) as collection:
        for one in ("d0", "d59"):
            np.testing.assert_array_equal(data.vectors(one), collection.index.vectors(one))
        hits = collection.search_many(list(QUERIES.values()), k=5)
    assert list(data.truth(5).values()) == [found.ids for found in hits]
    assert (dataset.name, data.encoder) == ("docs", "words, d = 8, residual4")
    assert dataset.embedded() is data
    assert dataset.texts("it").documents["d3"] == TEXTS[3]
    assert dataset.indexed_collection().path == folder
    assert data.judgements["q7"] == {"d7": 1}


@pytest.mark.parametrize("name", ["margin", "tiers", "guarantee", "stores", "matryoshka", "encoders"])
def test_experiments_run_on_it(folder: Path, qrels: Path, encoder: WordEncoder, name: str) -> None:
    result = find(name)(of_collection(folder, QUERIES, qrels, encoder="words"), Options(quick=True))
    assert result.corpus == "docs"
    assert result.tables[0].rows


def test_numbers_as_ids(tmp_path: Path, encoder: WordEncoder) -> None:
    with Collection.create(tmp_path / "c", encoder) as made:
        made.add(TEXTS, range(60))
    queries = {"1": TEXTS[1], **QUERIES}
    dataset = of_collection(tmp_path / "c", queries, encoder="words")
    data = dataset.as_indexed()
    assert data.exclusions == {"1": ["1#i0"]}, "a query that is a document"
    assert "1#i0" not in data.truth(5)["1"]
    np.testing.assert_array_equal(data.vectors("7#i0"), dataset.indexed_collection().index.vectors("7#i0"))
    assert find("margin")(dataset, Options(quick=True)).tables[0].rows


def test_without_judgements_all_queries_are_asked(folder: Path, encoder: WordEncoder) -> None:
    data = of_collection(folder, QUERIES, encoder="words").as_indexed()
    assert list(data.queries) == list(QUERIES)
    with pytest.raises(ValueError, match=r"^stores\b.*judgements.*\bdocs\b"):
        find("stores")(of_collection(folder, QUERIES, encoder="words"), Options(quick=True))


def test_another_state_is_another_dataset(folder: Path, qrels: Path, encoder: WordEncoder) -> None:
    def digest(queries: dict[str, str] = QUERIES, judged: Path | None = qrels) -> str:
        return of_collection(folder, queries, judged, encoder="words").digest

    first = digest()
    assert digest() == first
    assert digest({**QUERIES, "q0": "other"}) != first
    assert digest(judged=None) != first
    with Collection.open(folder, WordEncoder()) as collection:
        collection.delete("d50")
    assert digest() != first
    assert settings(of_collection(folder, QUERIES, qrels, encoder="words"), Options())["dim"] is None


def test_what_does_not_fit_is_said(folder: Path, qrels: Path, tmp_path: Path, encoder: WordEncoder) -> None:
    dataset = of_collection(folder, QUERIES, qrels, encoder="words")
    with pytest.raises(ValueError, match=r"docs\.ms\b.*\b8\b.*\b16\b"):
        dataset.embedded(16)
    with pytest.raises(ValueError, match=r"docs\.ms\b.*queries"):
        of_collection(folder, {}, encoder="words")
    Collection.create(tmp_path / "empty", encoder).close()
    with pytest.raises(ValueError, match=r"\bempty\b.*documents"):
        of_collection(tmp_path / "empty", QUERIES, encoder="words")
    other = tmp_path / "other.tsv"
    other.write_text("q1\tx1\t1\n")
    with pytest.raises(ValueError, match=r"other\.tsv: .*'x1'"):
        of_collection(folder, QUERIES, other, encoder="words")
    other.write_text("q1\td1\t1\nq1\tx1\t1\n")
    with pytest.warns(CorpusWarning) as caught:
        assert list(of_collection(folder, QUERIES, other, encoder="words").as_indexed().queries) == ["q1"]
    assert any("unknown document" in str(one.message) for one in caught)


def test_another_encoder_is_refused(folder: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.text.encoders.encoder.load_encoder", lambda name: WordEncoder(salt="other"))
    with pytest.raises(ValueError, match=r"docs\.ms\b.*'words'.*'words'"):
        of_collection(folder, QUERIES, encoder="words")


# Vectors


@pytest.fixture
def files(tmp_path: Path, encoder: WordEncoder) -> tuple[Path, Path]:
    """Vectors of documents and of queries."""
    for name, texts, ids in (("docs", TEXTS, [f"d{i}" for i in range(60)]), ("asked", QUERIES.values(), list(QUERIES))):
        rows = encoder.encode_queries(list(texts))
        vectors = exchange.TokenVectors(np.concatenate(rows), np.array([len(one) for one in rows]), ids)
        exchange.write(vectors, tmp_path / f"{name}.npz")
    return tmp_path / "docs.npz", tmp_path / "asked.npz"


@pytest.mark.parametrize("encoded", [True, False])
def test_vectors_with_texts_or_vectors_to_ask(
    files: tuple[Path, Path], qrels: Path, encoder: WordEncoder, encoded: bool
) -> None:
    documents, asked = files
    made = of_vectors(documents, QUERIES, qrels, encoder="words") if encoded else of_vectors(documents, asked, qrels)
    data = made.as_indexed()
    assert list(data.queries) == list(QUERIES)
    np.testing.assert_array_equal(data.queries["q3"], encoder.encode_queries([QUERIES["q3"]])[0])
    np.testing.assert_array_equal(data.vectors("d3"), encoder.encode_queries([TEXTS[3]])[0])
    assert data.judgements["q3"] == {"d3": 1}
    assert find("margin")(made, Options(quick=True)).tables[0].rows
    assert made.digest != of_vectors(documents, asked).digest
    with pytest.raises(ValueError, match=r"texts\b.*docs\.npz"):
        made.texts("it")


def test_vectors_that_do_not_fit(files: tuple[Path, Path], tmp_path: Path, encoder: WordEncoder) -> None:
    documents, asked = files
    with pytest.raises(ValueError, match=r"docs\.npz\b.*encoder"):
        of_vectors(documents, QUERIES)
    exchange.write(exchange.TokenVectors(np.eye(3), np.array([3]), ["q0"]), tmp_path / "three.npz")
    with pytest.raises(ValueError, match=r"three\.npz\b.*\b3\b.*docs\.npz\b.*\b16\b"):
        of_vectors(documents, tmp_path / "three.npz")
    with pytest.raises(ValueError, match=r"three\.npz\b.*\b3\b.*\bwords\b.*\b16\b"):
        of_vectors(tmp_path / "three.npz", QUERIES, encoder="words")
    exchange.write(exchange.TokenVectors(np.eye(16), np.array([16])), tmp_path / "nameless.npz")
    with pytest.raises(ValueError, match=r"nameless\.npz\b.*\bids\b"):
        of_vectors(tmp_path / "nameless.npz", asked)
    with pytest.raises(FileNotFoundError):
        of_vectors(tmp_path / "none.npz", asked)


# What `index` builds


def test_a_corpus_is_kept_as_index_keeps_it(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "d{i}", "text": "{text}"}}\n' for i, text in enumerate(TEXTS))
    )
    (folder / "queries.jsonl").write_text(
        "".join(f'{{"_id": "{one}", "text": "{text}"}}\n' for one, text in QUERIES.items())
    )
    (folder / "qrels.tsv").write_text("".join(f"q{i}\td{i}\t1\n" for i in range(20)))
    dataset = Dataset.of(folder, encoder="words")
    made = dataset.indexed_collection()
    usual = Collection.create(tmp_path / "usual", encoder).info()
    assert {name: made.info()[name] for name in ("dim", "store", "pool")} == {
        name: usual[name] for name in ("dim", "store", "pool")
    }
    assert dataset.as_indexed().encoder == "words, d = 16, residual4"
    assert sorted(encoder.encoded) == sorted(TEXTS)
    encoder.encoded.clear()
    again = Dataset.of(folder, encoder="words")
    again.embedded(16)
    assert len(encoder.encoded) == 60, "the paper's store is another"
    encoder.encoded.clear()
    again.as_indexed()
    assert encoder.encoded == []
    for one in tmp_path.glob("cache/collections/*int8"):
        one.rename(tmp_path / "away")
    recalled = Dataset.of(folder, encoder="words").as_indexed()
    assert encoder.encoded == [], "its vectors come from the collection that has them as float16"
    for one in ("d0", "d31"):
        np.testing.assert_allclose(recalled.vectors(one), made.index.vectors(one), atol=0.01)
    assert Dataset.of(folder, encoder="words", dim=8).as_indexed().index.dim == 8
