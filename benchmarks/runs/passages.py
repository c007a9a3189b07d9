"""How long passages should be: a judged collection, its documents joined to long ones, searched at several lengths.

    MAXSIEVE_CORPORA=path/to/corpora python -m benchmarks.runs.passages scifact --documents 1000 --join 8

Documents are joined as paragraphs; with --join 1 they stay as they are. A long document is right for a query if one of
its parts is. "cut" is a collection without passages. Everything is encoded again for each line.
"""

from __future__ import annotations

import argparse
import os
import random
import warnings
from pathlib import Path

import numpy as np

import maxsieve as ms
from maxsieve.common.progress import progress_bar
from maxsieve.lab.corpora import read_corpus
from maxsieve.lab.corpora.corpus import Corpus
from maxsieve.lab.metrics.quality import quality, ranked
from maxsieve.text import fetch_model, load_encoder
from maxsieve.text.encoders.encoder import MINILM
from maxsieve.text.passages import Document, Keys, splitter_for
from maxsieve.text.splitter import Sizes

SIZES = {
    "cut": None,
    "128, overlap 0": Sizes(504, 128, 0),
    "128, overlap 32": Sizes(504, 128, 32),
    "256, overlap 0": Sizes(504, 256, 0),
    "256, overlap 32": Sizes(504, 256, 32),
    "448, overlap 32": Sizes(504, 448, 32),
    "256, overlap 32, all above": Sizes(256, 256, 32),
}
MEASURE = "nDCG@10"
BATCH = 256


def main() -> None:
    """Print a line for each choice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--join", type=int, default=8)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    given = parser.parse_args()
    corpus = read_corpus(Path(os.environ["MAXSIEVE_CORPORA"], given.corpus))
    corpus = corpus.part(documents=given.documents, queries=given.queries)
    documents, judgements = joined(corpus, given.join)
    fetch_model(MINILM)
    print(f"{given.corpus}: {len(documents):,} documents, {len(corpus.queries)} queries; {MEASURE}, passages, tokens")
    for name in given.sizes:
        print(f"{name:28}", *measured(documents, corpus.queries, judgements, SIZES[name]), flush=True)


def joined(corpus: Corpus, count: int) -> tuple[list[Document], dict[str, dict[str, int]]]:
    """Long documents, and which of them are relevant to each query."""
    ids = list(corpus.documents)
    random.Random(0).shuffle(ids)
    groups = [ids[first : first + count] for first in range(0, len(ids), count)]
    home = {one: str(place) for place, group in enumerate(groups) for one in group}
    documents = []
    for place, group in enumerate(groups):
        documents.append(Document(str(place), "\n\n".join(corpus.documents[one] for one in group), None))
    judgements: dict[str, dict[str, int]] = {}
    for query, grades in corpus.judgements.items():
        for one, grade in grades.items():
            if one in home:
                found = judgements.setdefault(query, {})
                found[home[one]] = max(found.get(home[one], 0), grade)
    return documents, judgements


def measured(
    documents: list[Document], queries: dict[str, str], judgements: dict[str, dict[str, int]], sizes: Sizes | None
) -> tuple[str, str, str]:
    """Mean nDCG@10, how many passages there are, and their tokens."""
    encoder = load_encoder(MINILM)
    split, keys = splitter_for(encoder, sizes), Keys(passages=True)
    passages = [(keys.key(one.id, part.number), part.encoded) for one in documents for part in split(one.text)]
    index = ms.Index.create(encoder.dim, store="int8", group_by=keys.document)
    with progress_bar("encoding", len(passages), shown=True) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in range(0, len(passages), BATCH):
            some = passages[first : first + BATCH]
            index.add(encoder.encode_documents([text for _, text in some]), [key for key, _ in some])
            advance(len(some))
    hits = index.search_many(encoder.encode_queries(list(queries.values())), 10)
    run = {
        query: ranked([str(keys.document(key)) for key in found.ids])
        for query, found in zip(queries, hits, strict=True)
    }
    values = quality(run, judgements, [MEASURE])[MEASURE]
    return f"{np.mean(list(values.values())):.3f}", f"{len(passages):,}", f"{index.tokens:,}"


if __name__ == "__main__":
    main()
