"""Several ways to search, by one measure and the same queries: a table with intervals, and words that follow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maxsieve.lab.metrics.confidence import Mean, difference, mean
from maxsieve.lab.results import Cell, Column, Table


def comparison_table(title: str, measure: str, values: Mapping[str, Sequence[float]], rival: str) -> Table:
    """A row for each way, ``values`` by query, with what it has more than the rival, query by query."""
    rows: list[list[Cell]] = []
    for name, own in values.items():
        found, more = mean(own), difference(own, values[rival])
        rows.append([name, found.value, found.low, found.high, more.value, more.low, more.high])
    columns = [Column("search"), Column(measure, ".3f"), Column("low", ".3f"), Column("high", ".3f")]
    columns += [Column(f"minus {rival}", "+.3f"), Column("low", "+.3f"), Column("high", "+.3f")]
    return Table(title, columns, rows)


def verdict(first: Sequence[float], second: Sequence[float], rival: str) -> str:
    """What may be said of the first beside the second: a difference counts if its interval has no 0 in it.

    >>> verdict([0.5, 0.75], [0.25, 0.5], "BM25")
    'ahead of BM25 (+0.250 [+0.250, +0.250])'
    >>> verdict([0.5, 0.25], [0.25, 0.5], "BM25")
    'not told apart from BM25 (+0.000 [-0.250, +0.250])'
    """
    found = difference(first, second)
    return f"{_word(found)} {rival} ({found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}])"


def _word(found: Mean) -> str:
    if found.low > 0:
        return "ahead of"
    return "behind" if found.high < 0 else "not told apart from"
