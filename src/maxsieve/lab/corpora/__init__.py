"""Test collections: documents, queries and judgements; or their ready-made embeddings."""

from maxsieve.lab.corpora.corpus import Corpus, CorpusWarning
from maxsieve.lab.corpora.reading import read_corpus
from maxsieve.lab.corpora.ready import ReadyVectors, read_vectors

__all__ = ["Corpus", "CorpusWarning", "ReadyVectors", "read_corpus", "read_vectors"]
