"""The value of a projection that was fitted on few tokens: nDCG@10 by the number of tokens and of dimensions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.runs.arguments import corpus_folder, positive
from maxsieve import Certified
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, answers_of
from maxsieve.lab.metrics.confidence import difference
from maxsieve.text.encoders.encoder import unit_rows
from maxsieve.text.encoders.projection import fit_projection

EXAMPLE = """\
example:
  MAXSIEVE_CORPORA=path/to/corpora python -m benchmarks.runs.fitting --corpus path/to/corpora/scifact --documents 1500

The tokens are those of the first documents, in the order in which they come, as when somebody adds one file first: the
worst case. With fewer tokens than dimensions most of the axes are arbitrary. Documents that are judged relevant come
first among those that are searched.
"""


def main() -> None:
    options = parse()
    whole = Dataset.of(options.corpus, dim=options.full).embedded().first(options.queries)
    relevant = {one for query in whole.queries for one in whole.judgements.get(query, {})}
    ids = sorted(whole.ids, key=lambda one: one not in relevant)[: options.documents]
    data = whole.with_documents(ids)
    # Fitted on other documents than those that are searched, if there are any.
    stream = np.concatenate([whole.vectors(one) for one in [*whole.ids[::-1]][: options.sampled]])
    print(
        f"{data.name}: {len(data.index):,} documents, {data.index.tokens:,} tokens, {len(data.queries)} queries; "
        f"nDCG@10 with all {options.full} dimensions: {np.mean([*ndcg(data).values()]):.3f}"
    )
    print("| d | tokens fitted on | nDCG@10 | less than with all | 95 % interval |\n|---|---|---|---|---|")
    for dim in options.dim:
        rows = measured(data, stream, dim, sorted({*options.tokens, len(stream)}, reverse=True))
        best = next(rows)
        for tokens, found in [best, *rows]:
            apart = difference(found, best[1])
            shown = f"{apart.value:+.3f} | [{apart.low:+.3f}, {apart.high:+.3f}]" if tokens < best[0] else "|"
            print(f"| {dim} | {tokens:,} | {np.mean([*found.values()]):.3f} | {shown} |", flush=True)


def measured(data: Embedded, stream: F32, dim: int, sizes: list[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """nDCG@10 of every query, by how many tokens the projection was fitted on."""
    for tokens in sizes:
        project = partial(projected, matrix=fit_projection(stream[:tokens], dim))
        yield tokens, ndcg(data.with_vectors("projected", project, queries_too=True))


def projected(rows: F32, matrix: F32) -> F32:
    return unit_rows(rows @ matrix)


def ndcg(data: Embedded) -> dict[str, float]:
    return data.quality(answers_of(data.search(10, Certified())), ["nDCG@10"])["nDCG@10"]


def parse() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE, formatter_class=form)
    parser.add_argument("--corpus", type=corpus_folder, required=True, help="a folder in BEIR form")
    parser.add_argument("--documents", type=positive, default=1500, help="documents that are searched")
    parser.add_argument("--queries", type=positive, default=200)
    parser.add_argument("--sampled", type=positive, default=300, help="documents that give tokens to fit on")
    parser.add_argument("--full", type=positive, default=384, help="dimensions of the encoder")
    parser.add_argument("--dim", type=positive, nargs="+", default=[32, 64, 128])
    parser.add_argument("--tokens", type=positive, nargs="+", default=[42, 128, 512, 1024, 4096])
    return parser.parse_args()


if __name__ == "__main__":
    main()
