"""nDCG@10 on judged test collections: late interaction through `Collection`, BM25, and BM25 followed by it."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import ir_measures
from rich.console import Console
from rich.progress import track

import beir
from maxsieve.text import BM25, Collection, Encoder, load_encoder
from maxsieve.text.cache import cache_folder
from maxsieve.text.encoder import F32

EXAMPLE = """\
example:
  MAXSIEVE_CORPORA=path/to/corpora python benchmarks/retrieval.py --corpora hotpotqa_1k --dims 128

The first run encodes the collections, at some thousand tokens a second; they stay in the cache (MAXSIEVE_CACHE, or
~/.cache/maxsieve), and an interrupted run goes on where it was.
"""
CHUNK = 500  # documents that are encoded once for all dimensions

Run = dict[str, list[tuple[str, float]]]


class Remembering:
    """An encoder that keeps the vectors of one chunk, so that collections of several dimensions share them."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dim, self.fingerprint = encoder.name, encoder.dim, encoder.fingerprint
        self.queries = encoder.queries
        self._known: dict[str, F32] = {}

    def documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The vectors of documents, encoded unless they are known."""
        missing = [text for text in texts if text not in self._known]
        self._known.update(zip(missing, self._encoder.documents(missing, progress=progress), strict=True))
        return [self._known[text] for text in texts]

    def forget(self) -> None:
        """Begins with the next chunk."""
        self._known.clear()


def main() -> int:
    options = parse()
    encoder = load_encoder(options.encoder)
    print(
        f"nDCG@10 with {encoder.name}; BM25 of bm25s; in brackets, late interaction among BM25's best {options.depth}"
    )
    print(f"{'':>14} {'documents':>10} {'queries':>8} {'BM25':>7}", *(f"{f'd = {dim}':>16}" for dim in options.dims))
    for corpus in options.corpora:
        judged = beir.read(corpus, documents=options.documents, queries=options.queries)
        collections = collections_of(corpus, judged, encoder, options)
        bm25 = BM25.of(collections[0])
        cells = [f"{ndcg(corpus, ranked_by_bm25(bm25, judged.queries)):>7.3f}"]
        for collection in collections:
            alone, staged = (
                ndcg(corpus, searched(collection, judged.queries, first_stage, options.depth))
                for first_stage in (None, bm25)
            )
            cells.append(f"{f'{alone:.3f} ({staged:.3f})':>16}")
        print(f"{corpus.name:>14} {len(judged.documents):>10,} {len(judged.queries):>8,}", *cells)
    return 0


def collections_of(
    corpus: Path, judged: beir.Collection, encoder: Encoder, options: argparse.Namespace
) -> list[Collection]:
    """One collection for each number of dimensions, made or gone on with, in an order that is random but fixed.

    So the first chunk, on which projections are fitted, is a sample of all.
    """
    remembering = Remembering(encoder)
    part = f"n{options.documents or 'all'}-q{options.queries or 'all'}"
    name = f"{corpus.resolve().name}-{beir.digest(corpus)[:12]}-{part}-{Path(encoder.name).name}"
    collections = []
    for dim in options.dims:
        folder = cache_folder() / "collections" / f"{name}-d{dim}"
        if not (folder / "collection.json").is_file():
            Collection.create(folder, remembering, dim).close()
        collections.append(Collection.open(folder, remembering))
    if all(len(collection) == len(judged.documents) for collection in collections):
        return collections
    order = iter(random.Random(0).sample(list(judged.documents), len(judged.documents)))
    chunks = list(iter(lambda: list(islice(order, CHUNK)), []))
    for ids in track(chunks, f"encoding {corpus.name}", console=Console(stderr=True), transient=True):
        for collection in collections:
            collection.add([judged.documents[one] for one in ids], ids)
        remembering.forget()
    return collections


def ranked_by_bm25(bm25: BM25, queries: dict[str, str]) -> Run:
    return {
        query: [(str(one), -float(rank)) for rank, one in enumerate(bm25(text, 10))] for query, text in queries.items()
    }


def searched(collection: Collection, queries: dict[str, str], first_stage: BM25 | None, depth: int) -> Run:
    many = collection.search_many(queries.values(), 10, first_stage=first_stage, depth=depth)
    return {query: [(str(one), score) for one, score in hits] for query, hits in zip(queries, many, strict=True)}


def ndcg(corpus: Path, run: Run) -> float:
    """The mean over the queries of the run that are judged."""
    judgements = [line.split("\t") for line in (corpus / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    qrels = [ir_measures.Qrel(query, one, int(grade)) for query, one, grade in judgements if query in run]
    scored = [ir_measures.ScoredDoc(query, one, score) for query, hits in run.items() for one, score in hits]
    return float(ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, scored)[ir_measures.nDCG @ 10])


def parse() -> argparse.Namespace:
    corpora = os.environ.get("MAXSIEVE_CORPORA")
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpora",
        nargs="+",
        default=["scifact", "hotpotqa_1k"],
        metavar="CORPUS",
        help="folders in BEIR form, or their names in MAXSIEVE_CORPORA (default: scifact hotpotqa_1k)",
    )
    parser.add_argument("--dims", type=int, nargs="+", default=[128, 384], help="dimensions (default: 128 384)")
    parser.add_argument("--depth", type=int, default=100, help="candidates of the first stage (default: 100)")
    parser.add_argument("--encoder", default="minilm", help="an encoder's name (default: minilm)")
    parser.add_argument("--queries", type=int, metavar="N", help="only the first N queries")
    parser.add_argument("--documents", type=int, metavar="N", help="only N documents, relevant ones among them")
    options = parser.parse_args()
    options.corpora = [Path(corpora or ".", name) for name in options.corpora]
    for corpus in options.corpora:
        if not (corpus / "corpus.jsonl").is_file():
            parser.error(f"{corpus} holds no corpus.jsonl: set MAXSIEVE_CORPORA or give --corpora")
    return options


if __name__ == "__main__":
    sys.exit(main())
