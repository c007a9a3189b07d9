"""Bytes per token against quality: dimensions, stores and pooling."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import Certified, Index
from maxsieve.arrays import read_documents
from maxsieve.lab import DIM
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, answers_of
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import difference, mean
from maxsieve.lab.metrics.sentences import verdict
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.pooling import Merges, cut, merges
from maxsieve.storage.builder import add_documents
from maxsieve.storage.listing import whole_parts
from maxsieve.storage.memory import MemoryStorage
from maxsieve.storage.segments import Layout, Store
from maxsieve.text.collection.collection_encoder import SAMPLE_TOKENS
from maxsieve.text.encoders.encoder import unit_rows
from maxsieve.text.encoders.projection import fit_projection

MEASURE, DEPTH = "nDCG@10", 10
DIMS = (DIM, 256)
"""Dimensions besides the encoder's own."""
RESIDUALS: tuple[Store, ...] = ("residual1", "residual2", "residual4")
STORES: tuple[Store, ...] = (*RESIDUALS, "int8", "float16")
FACTORS = (1, 2)
REFERENCE: tuple[Store, int] = "int8", 1
"""The store and the factor that the others are compared with, at all dimensions."""
VALUES = "values"
"""Under this name, the facts of a result have all figures, for `python -m benchmarks.figures.stores`."""
TOLERABLE = 0.01
"""The loss that a smaller store may have, for its whole confidence interval."""


@dataclass(frozen=True)
class Variant:
    """A way to store vectors: its size, and its quality for each query."""

    dim: int
    store: Store
    factor: int
    nbytes: int
    scores: list[float]

    def __str__(self) -> str:
        pooled = f", pooled by {self.factor}" if self.factor > 1 else ""
        return f"{self.dim} dimensions, {self.store}{pooled}"


def stores(dataset: Dataset, options: Options) -> ExperimentResult:
    """A row for each number of dimensions, store and pool factor; the others are compared with all as int8."""
    corpus = dataset.texts("stores")
    full = dataset.embedded(dataset.loaded_encoder.dim).first(options.count)
    if not full.judgements:
        raise ValueError(f"stores needs judgements, and {full.name} has none")
    asked = DIMS if dataset.chosen is None else (dataset.chosen,)
    dims = sorted({*(dim for dim in asked if dim < full.index.dim), full.index.dim})
    found: list[Variant] = []
    with options.bar("keeping vectors", len(dims) * len(FACTORS) * len(STORES)) as advance:
        for dim in dims:
            for variant in _variants(full, dim, options):
                found.append(variant)
                advance(1)
    found.sort(key=lambda variant: (variant.dim, variant.factor, variant.nbytes))
    wanted = dims[-1], *REFERENCE
    reference = next(variant for variant in found if (variant.dim, variant.store, variant.factor) == wanted)
    text_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in corpus.documents.values())
    sizes = {"tokens": full.index.tokens, "text_bytes": text_bytes}
    return ExperimentResult(
        "stores",
        dataset.name,
        f"{MEASURE} of late interaction, exact by `Certified`, over {len(reference.scores)} queries, with 95 % "
        f"bootstrap intervals, against bytes. The others are compared with {reference}. Vectors ({full.encoder}) are "
        "projected and pooled here as a collection does it.",
        [_table(found, reference, **sizes)],
        remarks=_remarks(found, reference),
        facts={VALUES: {**sizes, "variants": [vars(variant) for variant in found]}},
    )


def _variants(full: Embedded, dim: int, options: Options) -> Iterator[Variant]:
    matrix = _projection(full, dim)
    queries = {query: _projected(rows, matrix) for query, rows in full.queries.items()}
    documents = {doc_id: _projected(full.vectors(doc_id), matrix).astype(np.float16) for doc_id in full.ids}
    for factor in FACTORS:
        kept = list(documents.values())
        if factor > 1:
            kept = [_pooled(rows, merges(rows.astype(np.float32)), factor) for rows in kept]
        for store, index in _indexes(kept, full.ids, options):
            data = replace(full, index=index, queries=queries)
            answers = answers_of(data.search(DEPTH, Certified(), threads=options.cores))
            scores = list(data.quality(answers, [MEASURE])[MEASURE].values())
            yield Variant(dim, store, factor, bytes_of(index), scores)


def _indexes(documents: Sequence[NDArray[Any]], ids: list[str], options: Options) -> Iterator[tuple[Store, Index]]:
    """The documents in each store. The stores of residuals share one codebook, which does not depend on the bits."""
    for store in STORES:
        if store not in RESIDUALS:
            yield store, Index.build(documents, ids, store=store)
    if not (wanted := [store for store in STORES if store in RESIDUALS]):
        return
    dim = documents[0].shape[1]
    storage = MemoryStorage(Layout(dim, wanted[0]))
    add_documents(storage, read_documents(documents, None, None, dim, ids.__getitem__), list(ids))
    codes = storage.snapshot
    book = codes.learn_codebook(options.cores)
    for store in wanted:
        layout = codes.layout._replace(store=store)
        own = replace(book, bits=layout.bits, spread=0.0)
        yield store, Index(MemoryStorage.of(replace(codes, layout=layout).coded(own, options.cores)))


def bytes_of(index: Index) -> int:
    """Bytes of vectors, codes and bounds, and of the codebook and the lists, if there are any."""
    snapshot = index.storage.snapshot.here
    lists = sum(lists.nbytes for _, lists in whole_parts(snapshot.segments))
    return snapshot.nbytes + lists + (0 if snapshot.codebook is None else snapshot.codebook.nbytes)


def _projection(full: Embedded, dim: int) -> F32 | None:
    """A projection fitted as in a collection, on a sample of the tokens; None if all dimensions are kept."""
    if dim == full.index.dim:
        return None
    rows: list[F32] = []
    tokens = 0
    for doc_id in random.Random(0).sample(full.ids, len(full.ids)):
        rows.append(full.vectors(doc_id))
        tokens += len(rows[-1])
        if tokens >= SAMPLE_TOKENS:
            break
    return fit_projection(rows, dim)


def _projected(rows: F32, matrix: F32 | None) -> F32:
    return rows if matrix is None else unit_rows(rows @ matrix)


def _pooled(rows: NDArray[np.float16], tree: Merges, factor: int) -> NDArray[np.float16]:
    return cut(rows.astype(np.float32), tree, factor).astype(np.float16)


def _table(found: list[Variant], reference: Variant, *, tokens: int, text_bytes: int) -> Table:
    rows: list[list[Cell]] = []
    for variant in found:
        own, ahead = mean(variant.scores), difference(variant.scores, reference.scores)
        row: list[Cell] = [
            variant.dim,
            variant.store,
            variant.factor,
            variant.nbytes / tokens,
            variant.nbytes / text_bytes,
        ]
        rows.append([*row, own.value, own.low, own.high, ahead.value, ahead.low, ahead.high])
    columns = [Column("d"), Column("store"), Column("pool"), Column("bytes a token", ",.1f")]
    columns += [Column("x the text", ".1f"), Column(MEASURE, ".4f"), Column("low", ".4f"), Column("high", ".4f")]
    columns += [Column("less the first's", "+.4f"), Column("low", "+.4f"), Column("high", "+.4f")]
    note = (
        "Bytes a token of the text, however many vectors are kept; x the text: bytes over those of the texts in UTF-8. "
        "Counted are vectors, codes and bounds; in stores of residuals also the codebook and the lists of calibrated "
        "search, which they have from the start. In other stores a codebook and lists would add to this. Ids, texts "
        f"and BM25's table are not counted. The first is {reference}."
    )
    return Table(f"{MEASURE} against bytes", columns, rows, note=note)


def _remarks(found: list[Variant], reference: Variant) -> list[str]:
    """Remarks about the other variants, which follow the intervals."""
    others = [(variant, difference(variant.scores, reference.scores)) for variant in found if variant is not reference]
    cheap = [variant for variant, ahead in others if ahead.low >= -TOLERABLE and variant.nbytes < reference.nbytes]
    smallest = min(cheap, key=lambda variant: variant.nbytes, default=None)
    remarks = [
        f"The smallest that surely loses at most {TOLERABLE} to {reference} is {smallest}, in "
        f"{smallest.nbytes / reference.nbytes:.0%} of its room."
        if smallest
        else f"Nothing that is smaller than {reference} surely loses at most {TOLERABLE} to it."
    ]
    words = {"behind": "Behind it", "ahead": "Ahead of it", "open": "Not to be told apart from it"}
    for shown, begin in words.items():
        some = [f"{variant} ({ahead.value:+.4f})" for variant, ahead in others if verdict(ahead) == shown]
        remarks += [f"{begin}: {'; '.join(some)}."] * bool(some)
    return remarks
