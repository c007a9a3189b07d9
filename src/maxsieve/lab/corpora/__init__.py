"""Test collections: documents, queries and relevance judgements; or precomputed embeddings of them."""

from __future__ import annotations

from pathlib import Path

from maxsieve.lab.corpora.beir import read_beir
from maxsieve.lab.corpora.corpus import Corpus, CorpusWarning
from maxsieve.lab.corpora.ir_dataset import read_ir_dataset
from maxsieve.lab.corpora.ready import ReadyVectors, read_vectors

__all__ = ["Corpus", "CorpusWarning", "ReadyVectors", "read_corpus", "read_vectors"]


def read_corpus(source: str | Path) -> Corpus:
    r"""The corpus in a folder in BEIR format, or the dataset of ``ir_datasets`` with that name.

    A folder has ``corpus.jsonl`` (``_id``, ``text`` and optionally ``title``), ``queries.jsonl`` (``_id``, ``text``)
    and ``qrels.tsv`` or ``qrels/test.tsv`` (query, document, grade). A name, with or without ``ir_datasets:`` before
    it, is tried if there is no such folder. Errors name file and line. Judgements of unknown queries or documents are
    left out and counted in a `CorpusWarning`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, content in {
    ...         "corpus.jsonl": '{"_id": 7, "title": "Tea", "text": "A drink."}',
    ...         "queries.jsonl": '{"_id": "q", "text": "what is tea"}',
    ...         "qrels.tsv": "query-id\tcorpus-id\tscore\nq\t7\t1\n",
    ...     }.items():
    ...         _ = Path(folder, name).write_text(content)
    ...     corpus = read_corpus(folder)
    >>> corpus.documents, corpus.judgements
    ({'7': 'Tea A drink.'}, {'q': {'7': 1}})
    """
    path = Path(source)
    if path.is_dir():
        return read_beir(path, stacklevel=2)
    if isinstance(source, Path) or path.exists():
        problem = "is a file, not a folder with a corpus" if path.exists() else "is not a folder"
        raise FileNotFoundError(f"{source} {problem}")
    return read_ir_dataset(source, stacklevel=2)
