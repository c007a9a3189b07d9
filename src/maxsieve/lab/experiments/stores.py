"""Bytes per token against quality: dimensions, stores and pooling."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maxsieve import Certified, Index
from maxsieve.lab import DIM
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Embedded, answers_of
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import difference, mean
from maxsieve.lab.metrics.sentences import verdict
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.pooling import Merges, cut, merges
from maxsieve.storage.segments import Store
from maxsieve.text.collection.collection_encoder import SAMPLE_TOKENS
from maxsieve.text.encoders.encoder import DEFAULT_STORE, unit_rows
from maxsieve.text.encoders.projection import fit_projection

MEASURE, DEPTH = "nDCG@10", 10
DIMS = (DIM, 256)
"""Dimensions besides the encoder's own."""
STORES: tuple[Store, ...] = ("float16", "int8")
FACTORS, QUICK_FACTORS = (1, 2, 3), (1, 2)
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
    """A row for each number of dimensions, store and pool factor; the others are compared with the default."""
    corpus = dataset.texts("stores")
    full = dataset.embedded(dataset.loaded_encoder.dim).first(options.count)
    if not full.judgements:
        raise ValueError(f"stores needs judgements, and {full.name} has none")
    asked = DIMS if dataset.chosen is None else (dataset.chosen,)
    dims = sorted({*(dim for dim in asked if dim < full.index.dim), full.index.dim})
    factors = QUICK_FACTORS if options.quick else FACTORS
    found: list[Variant] = []
    with options.bar("keeping vectors", len(dims) * len(factors) * len(STORES)) as advance:
        for dim in dims:
            for variant in _variants(full, dim, factors, options):
                found.append(variant)
                advance(1)
    found.sort(key=lambda variant: (variant.dim, variant.store, variant.factor))
    default = next(
        variant for variant in found if (variant.dim, variant.store, variant.factor) == (dims[-1], DEFAULT_STORE, 1)
    )
    text_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in corpus.documents.values())
    return ExperimentResult(
        "stores",
        dataset.name,
        f"{MEASURE} of late interaction, exact by `Certified`, over {len(default.scores)} queries, with 95 % bootstrap "
        f"intervals, against the room of vectors, codes and bounds. The default is {default}. Vectors "
        f"({full.encoder}) are projected and pooled here as a collection does it.",
        [_table(found, default, full.index.tokens, text_bytes)],
        remarks=_remarks(found, default),
    )


def _variants(full: Embedded, dim: int, factors: tuple[int, ...], options: Options) -> Iterator[Variant]:
    matrix = _projection(full, dim)
    queries = {query: _projected(rows, matrix) for query, rows in full.queries.items()}
    documents = {doc_id: _projected(full.vectors(doc_id), matrix).astype(np.float16) for doc_id in full.ids}
    trees: dict[str, Merges] = {}
    for factor in factors:
        if factor > 1 and not trees:
            trees = {doc_id: merges(rows.astype(np.float32)) for doc_id, rows in documents.items()}
        kept = (
            documents
            if factor == 1
            else {doc_id: _pooled(documents[doc_id], trees[doc_id], factor) for doc_id in documents}
        )
        for store in STORES:
            index = Index.build(list(kept.values()), list(kept), store=store)
            data = replace(full, index=index, queries=queries)
            answers = answers_of(data.search(DEPTH, Certified(), threads=options.cores))
            yield Variant(dim, store, factor, index.nbytes, list(data.quality(answers, [MEASURE])[MEASURE].values()))


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


def _table(found: list[Variant], default: Variant, tokens: int, text_bytes: int) -> Table:
    rows: list[list[Cell]] = []
    for variant in found:
        own, ahead = mean(variant.scores), difference(variant.scores, default.scores)
        row: list[Cell] = [
            variant.dim,
            variant.store,
            variant.factor,
            variant.nbytes / tokens,
            variant.nbytes / text_bytes,
        ]
        rows.append([*row, own.value, own.low, own.high, ahead.value, ahead.low, ahead.high])
    columns = [Column("d"), Column("store"), Column("pool"), Column("bytes a token", ",.0f")]
    columns += [Column("x the text", ".1f"), Column(MEASURE, ".4f"), Column("low", ".4f"), Column("high", ".4f")]
    columns += [Column("less the default's", "+.4f"), Column("low", "+.4f"), Column("high", "+.4f")]
    note = (
        "Bytes a token of the text, however many vectors are kept; x the text: bytes over those of the texts in UTF-8. "
        "A codebook for calibrated search adds two bytes a vector."
    )
    return Table(f"{MEASURE} against bytes", columns, rows, note=note)


def _remarks(found: list[Variant], default: Variant) -> list[str]:
    """Remarks about the other variants, which follow the intervals."""
    others = [(variant, difference(variant.scores, default.scores)) for variant in found if variant is not default]
    cheap = [variant for variant, ahead in others if ahead.low >= -TOLERABLE and variant.nbytes < default.nbytes]
    smallest = min(cheap, key=lambda variant: variant.nbytes, default=None)
    remarks = [
        f"The smallest that surely loses at most {TOLERABLE} to the default ({default}) is {smallest}, in "
        f"{smallest.nbytes / default.nbytes:.0%} of its room."
        if smallest
        else f"Nothing that is smaller than the default ({default}) surely loses at most {TOLERABLE} to it."
    ]
    words = {"behind": "Behind the default", "ahead": "Ahead of it", "open": "Not to be told apart from it"}
    for shown, begin in words.items():
        some = [f"{variant} ({ahead.value:+.4f})" for variant, ahead in others if verdict(ahead) == shown]
        remarks += [f"{begin}: {'; '.join(some)}."] * bool(some)
    return remarks
