"""Half the dimensions: whether Bandit drops the same documents, and what truncation itself costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from maxsieve import Bandit
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import F32, Answers, Embedded, answers_of, mean_coverage
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.results import Cell, Column, ExperimentResult, Table
from maxsieve.text.encoders.encoder import unit_rows

ALPHA, KS = 0.2, (5, 100)


@dataclass(frozen=True)
class Measured:
    """Bandit and exhaustive scoring on vectors of this many dimensions; overlaps and nDCG by K."""

    dim: int
    coverage: float
    overlaps: dict[int, float]
    bandit: dict[int, float]
    """nDCG; empty without judgements, here and below."""
    exhaustive: dict[int, float]
    kept: float
    """Overlap@5 of exhaustive scoring with that of the vectors as they were."""

    @property
    def retention(self) -> float | None:
        """Bandit's nDCG@5 over exhaustive scoring's."""
        full = self.exhaustive.get(KS[0])
        return self.bandit[KS[0]] / full if full else None


def matryoshka(dataset: Dataset, options: Options) -> ExperimentResult:
    """A row for the vectors as they are and one for their first half."""
    whole = dataset.embedded().first(options.count)
    dim = whole.index.dim
    if dim < 2:
        raise ValueError(f"{whole.name} has vectors of one dimension, which can't be halved")
    words = f"{whole.encoder}, truncated to {dim // 2}"
    half = whole.with_vectors(words, partial(truncated, dim=dim // 2), queries_too=True)
    rows = [_measured(data, whole.truth(KS[0], threads=options.cores), options) for data in (whole, half)]
    return ExperimentResult(
        "matryoshka",
        whole.name,
        f"Bandit({ALPHA:g}) on the vectors as they are and truncated to their first half, documents and queries, rows "
        f"at unit length again; {whole.extent(documents=True)}.",
        [_table(rows)],
        remarks=_remarks(rows, dataset),
    )


def truncated(rows: F32, dim: int) -> F32:
    """The first ``dim`` numbers of each row, at unit length.

    >>> truncated(np.array([[3, 4, 12]], np.float32), 2).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    return unit_rows(rows[:, :dim])


def _measured(data: Embedded, original: Answers, options: Options) -> Measured:
    truth = data.truth(KS[-1], threads=options.cores)
    found, bandit, exhaustive, coverages = {}, {}, {}, {}
    for k in KS:
        hits = data.search(k, Bandit(ALPHA), threads=options.cores)
        answers = answers_of(hits)
        coverages[k] = mean_coverage(hits)
        found[k] = float(np.mean(overlaps(answers, truth, k)))
        bandit.update(_ndcg(data, answers, k))
        exhaustive.update(_ndcg(data, truth, k))
    kept = float(np.mean(overlaps(truth, original, KS[0])))
    return Measured(data.index.dim, coverages[KS[0]], found, bandit, exhaustive, kept)


def _ndcg(data: Embedded, answers: Answers, k: int) -> dict[int, float]:
    name = f"nDCG@{k}"
    values = data.quality(answers, [name])[name]
    return {k: float(np.mean(list(values.values())))} if values else {}


def _table(rows: list[Measured]) -> Table:
    few, many = KS
    cells: list[list[Cell]] = []
    for row in rows:
        bandit = [row.overlaps[few], row.overlaps[many], row.bandit.get(few), row.bandit.get(many), row.retention]
        cells.append([row.dim, row.coverage, *bandit, row.exhaustive.get(few), row.exhaustive.get(many), row.kept])
    columns = [Column("dim"), Column(f"coverage, K = {few}", ".1%")]
    columns += [Column(f"Ov@{k}", ".3f") for k in KS] + [Column(f"nDCG@{k}", ".4f") for k in KS]
    columns += [Column(f"nDCG@{few} ret.", ".1%"), *(Column(f"exhaustive nDCG@{k}", ".4f") for k in KS)]
    note = (
        "Ov: share of exhaustive scoring's top K, of the same vectors, that Bandit finds, mean over queries. ret.: "
        f"Bandit's nDCG@{few} over exhaustive scoring's. Last column: share of the top {few} of the vectors as they "
        "were that exhaustive scoring of these finds."
    )
    columns.append(Column(f"exhaustive Ov@{few} with dim {rows[0].dim}", ".3f"))
    return Table(f"Bandit {ALPHA:g} and fewer dimensions", columns, cells, "tab:matryoshka", note)


def _remarks(rows: list[Measured], dataset: Dataset) -> list[str]:
    whole, half = rows
    few = KS[0]
    remarks = [
        f"From {whole.dim} to {half.dim} dimensions Bandit's coverage goes from {whole.coverage:.1%} to "
        f"{half.coverage:.1%} and its Overlap@{few} with exhaustive scoring of the same vectors from "
        f"{whole.overlaps[few]:.3f} to {half.overlaps[few]:.3f}.",
        f"Truncation itself replaces {1 - half.kept:.1%} of the top {few}; elimination {1 - half.overlaps[few]:.1%}.",
    ]
    if whole.retention is not None and half.retention is not None:
        remarks.append(
            f"Of exhaustive scoring's nDCG@{few} Bandit keeps {whole.retention:.1%} at {whole.dim} dimensions and "
            f"{half.retention:.1%} at {half.dim}; exhaustive scoring's own goes from {whole.exhaustive[few]:.4f} to "
            f"{half.exhaustive[few]:.4f}."
        )
    if dataset.encoder == "minilm":
        remarks.append(
            "The paper's vectors were trained to be cut off (Matryoshka). MiniLM's were not; but reduced by PCA they "
            "have their directions in the order of second moment, so that cutting off is PCA to fewer dimensions."
        )
    return remarks
