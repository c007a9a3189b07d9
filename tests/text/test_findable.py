"""The most common use: a folder of notes. Here the folder is this project's own docs/."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from maxsieve.ids import Id
from maxsieve.text import OnnxEncoder, TruncationWarning
from maxsieve.text.collection.collection import Collection
from maxsieve.text.inputs.document import Fields
from maxsieve.text.inputs.reading import DocumentReader, Input

DOCS = Path(__file__).parents[2] / "docs"

QUESTIONS = [
    ("how do I read queries from a file on the command line", "cli.md"),
    ("which exit code does a command give", "cli.md"),
    ("pipe JSON Lines into an index from standard input", "cli.md"),
    ("which bytes does a segment file begin with", "format.md"),
    ("how are deleted documents marked on disk", "format.md"),
    ("what does the manifest hold", "format.md"),
    ("in which table of SQLite is metadata kept", "format.md"),
    ("where are the centroids of tokens written", "format.md"),
    ("test my own corpus with queries and judgements", "lab.md"),
    ("which value of alpha should I choose", "lab.md"),
    ("run experiments from Python", "lab.md"),
    ("how fast is it beside other libraries such as maxsim-cpu and torch", "performance.md"),
    ("how much memory does a search need while it runs", "performance.md"),
    ("what optimisations were tried without success", "performance.md"),
    ("how many documents are rescored on real vectors", "performance.md"),
    ("results that could not be reproduced here", "results.md"),
    ("overlap against coverage for the bandit and the baselines of the paper", "results.md"),
    ("what does Ward token pooling lose", "results.md"),
    ("how often was the promised overlap kept over random splits", "results.md"),
    ("what happens with a malicious collection from a stranger", "security.md"),
    ("are symbolic links inside an index followed", "security.md"),
    ("may two processes write to an index at the same time", "storage.md"),
    ("should I store vectors as float16 or float32", "storage.md"),
    ("read an index from a safetensors or parquet file", "storage.md"),
    ("which embedding model is built in", "text.md"),
    ("use BM25 to choose candidates first", "text.md"),
    ("go on after an interrupted indexing run", "text.md"),
    ("proof that the certificate is right", "theory.md"),
    ("conformal risk control", "theory.md"),
    ("Hoeffding-Serfling inequality for sampling without replacement", "theory.md"),
]


@pytest.mark.full
def test_a_folder_of_notes_is_findable(minilm: OnnxEncoder, tmp_path: Path) -> None:
    """One test, because encoding takes half a minute."""
    found = list(DocumentReader([Input(str(DOCS))], Fields(), strict=True))
    with Collection.create(tmp_path / "docs.ms", minilm) as docs, warnings.catch_warnings():
        warnings.simplefilter("error", TruncationWarning)  # no passage is longer than the encoder reads
        docs.add([one.text for one in found], [str(one.id) for one in found])
        for path in sorted(DOCS.glob("*.md")):
            assert docs.text(path.name) == path.read_text(), path.name
        assert len(docs.index) > 10 * len(docs)
        missed = _missed(docs, QUESTIONS)
        assert len(missed) <= 3, missed
        assert not _missed(docs, list(_headings()))


def _missed(docs: Collection, questions: list[tuple[str, str]]) -> list[tuple[str, str, list[Id]]]:
    """The questions whose file is not among the first three hits."""
    answers = docs.search_many([question for question, _ in questions], k=3)
    return [
        (question, file, hits.ids)
        for (question, file), hits in zip(questions, answers, strict=True)
        if file not in hits.ids
    ]


def _headings() -> Iterator[tuple[str, str]]:
    """Every heading of two words or more that occurs in one file only, and the file."""
    places: dict[str, set[str]] = {}
    for path in sorted(DOCS.glob("*.md")):
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for heading in re.findall(r"^##+ (\S+ .+)$", text, re.MULTILINE):
            places.setdefault(heading, set()).add(path.name)
    for heading, (file, *others) in places.items():
        if not others:
            yield heading, file
