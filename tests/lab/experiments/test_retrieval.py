"""The figures of `retrieval` are those of the searches that users can do. Its sentences agree with the intervals."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.tiny_model import WORDS, write_tiny_model
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.retrieval import WEIGHTS, retrieval
from maxsieve.lab.hybrids import cross_fitted
from maxsieve.lab.metrics.quality import quality, ranked
from maxsieve.lab.results import ExperimentResult
from maxsieve.text import Collection

DOCUMENTS, QUERIES = 60, 24


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    """Every query is the beginning of a document, with a word of another. The first must not find its own document."""
    folder, words = tmp_path_factory.mktemp("retrieval"), random.Random(3)
    write_tiny_model(folder / "model")
    (folder / "corpus").mkdir()
    texts = [" ".join(words.choices(WORDS, k=words.randint(3, 9))) for _ in range(DOCUMENTS)]
    queries = [" ".join([*text.split()[:2], words.choice(WORDS)]) for text in texts[:QUERIES]]
    for name, prefix, content in (("corpus", "d", texts), ("queries", "q", queries)):
        lines = [json.dumps({"_id": f"{prefix}{i}", "title": "", "text": text}) for i, text in enumerate(content)]
        (folder / "corpus" / f"{name}.jsonl").write_text("\n".join(lines))
    judged = "".join(f"q{i}\td{i}\t1\nq{i}\td{i + 1}\t1\n" for i in range(QUERIES))
    (folder / "corpus" / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXSIEVE_CACHE", str(folder / "cache"))
        found = Dataset.of(folder / "corpus", encoder=str(folder / "model"), dim=8)
        found.texts("a test").exclusions["q0"] = ["d0"]
        yield found


@pytest.fixture(scope="module")
def result(dataset: Dataset) -> ExperimentResult:
    return retrieval(dataset, Options())


def measured(dataset: Dataset, search: Any) -> float:
    corpus = dataset.texts("a test")
    found = {one: search(text, corpus.exclusions.get(one, [])) for one, text in corpus.queries.items()}
    run = {one: ranked([str(hit) for hit in hits]) for one, hits in found.items()}
    return float(np.mean(list(quality(run, corpus.judgements, ["nDCG@10"])["nDCG@10"].values())))


def test_rows_are_what_searches_find(dataset: Dataset, result: ExperimentResult) -> None:
    table, by_weight = result.tables
    rows = {str(row[0]): row[1] for row in table.rows}
    weights = {str(row[0]): row[1] for row in by_weight.rows}
    collection = dataset.indexed_collection(16)
    bm25 = collection.bm25

    def by(**options: Any) -> float:
        return measured(dataset, lambda text, own: collection.search(text, exclude=own, **options).ids)

    words = measured(dataset, lambda text, own: [one for one in bm25(text, 99) if one not in own][:10])
    expected = {
        "the default: late interaction, d = 16, residual4, passages": by(),
        "stemmed BM25": words,
        "hybrid, reciprocal rank": by(hybrid="rrf"),
        "BM25's best 100, then the default": by(first_stage="bm25"),
    }
    assert {name: rows[name] for name in expected} == pytest.approx(expected)
    assert next(iter(rows)) == next(iter(expected)), "the default comes first"
    assert {"late interaction, d = 8, float16", "one vector"} < {*rows}
    for weight in WEIGHTS[::3]:
        assert weights[f"{weight:g}"] == pytest.approx(by(hybrid=weight))


def test_the_default_is_that_of_collections(dataset: Dataset, tmp_path: Path) -> None:
    names = [str(row[0]) for row in retrieval(dataset, Options(queries=4)).tables[0].rows]
    with Collection.create(tmp_path / "c", dataset.encoder) as made:
        assert names[0] == f"the default: late interaction, d = {made.index.dim}, {made.index.store}, passages"


def test_sentences_follow_the_intervals(result: ExperimentResult) -> None:
    rows = {str(row[0]): row for row in result.tables[0].rows}
    first = next(iter(rows))
    *said, last = result.remarks
    assert len(said) == 2 + 2 * (len(rows) - 3)
    assert said[0].startswith(f"The default{first[len('the default') :]} ({rows[first][1]:.3f}) "), "named first"
    for sentence in said:
        *_, low, high = re.findall(r"[-+]\d\.\d+", sentence)
        assert ("is ahead of" in sentence) == (float(low) > 0)
        assert ("is behind" in sentence) == (float(high) < 0)
        assert ("can't be told apart" in sentence) == (float(low) <= 0 <= float(high))
    for name, row in rows.items():
        if name not in ("stemmed BM25", "one vector"):
            expected = " ".join(f"{value:+.3f}" for value in row[4:])
            assert any(sentence.lower().startswith(name.lower()) and "stemmed BM25" in sentence for sentence in said)
            assert expected in [" ".join(re.findall(r"[-+]\d\.\d+", sentence)) for sentence in said]
    weights = {str(row[0]): float(str(row[1])) for row in result.tables[1].rows}
    best = max(weights, key=lambda weight: weights[weight])
    assert last.endswith(
        "0: leave `hybrid` out." if best == "the default" else f"{best}: `search(..., hybrid={best})`."
    )


def test_no_query_affects_its_own_weight() -> None:
    random_values = np.random.default_rng(0).random((3, 20))
    values = {weight: row.tolist() for weight, row in zip((0.1, 0.2, 0.3), random_values, strict=True)}
    fitted, chosen = cross_fitted(values)
    for query in range(20):
        weight = chosen[1 - query % 2]
        assert fitted[query] == values[weight][query]
        changed = {weight: [*row[:query], 99.0 * weight, *row[query + 1 :]] for weight, row in values.items()}
        assert cross_fitted(changed)[1][1 - query % 2] == weight, "whatever it would like"
