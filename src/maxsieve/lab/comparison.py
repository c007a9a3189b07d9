"""Compares search methods by one measure on the same queries: a table with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maxsieve.lab.metrics.confidence import difference, mean
from maxsieve.lab.results import Cell, Column, Table


def comparison_table(title: str, measure: str, values: Mapping[str, Sequence[float]], rival: str) -> Table:
    """One row per method, from ``values`` by query, with its paired difference to the rival.

    >>> table = comparison_table("Both", "nDCG@10", {"BM25": [0.5, 0.25], "ours": [0.75, 0.5]}, "BM25")
    >>> table.text_rows()[1]
    ['ours', '0.625', '0.500', '0.750', '+0.250', '+0.250', '+0.250']
    """
    rows: list[list[Cell]] = []
    for name, own in values.items():
        found, more = mean(own), difference(own, values[rival])
        rows.append([name, found.value, found.low, found.high, more.value, more.low, more.high])
    columns = [Column("search"), Column(measure, ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    columns += [Column(f"minus {rival}", "+.3f"), Column("low", "+.3f"), Column("high", "+.3f")]
    return Table(title, columns, rows)
