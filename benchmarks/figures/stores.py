"""The change in nDCG@10 by each store, pooled over several corpora: `python -m benchmarks.figures.stores FOLDER`.

FOLDER has results of `maxsieve lab stores`. All queries of all corpora count the same. The seed of the bootstrap is
that of the lab.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maxsieve.lab.experiments.stores import MEASURE, REFERENCE, TOLERABLE, VALUES
from maxsieve.lab.metrics.confidence import difference
from maxsieve.lab.results import Cell, Column, Table, load

Key = tuple[int, str, int]


def variants_of(result: dict[str, Any]) -> dict[Key, dict[str, Any]]:
    """The variants of one corpus, by dimensions, store and pool factor."""
    return {(one["dim"], one["store"], one["factor"]): one for one in result["variants"]}


def pooled(results: Sequence[dict[str, Any]]) -> Table:
    """A row for each variant that all corpora have, by size: bytes by those of all texts, and the change in quality."""
    found = [variants_of(result) for result in results]
    common = set(found[0]).intersection(*found[1:])
    texts, tokens = (sum(result[name] for result in results) for name in ("text_bytes", "tokens"))
    reference = max(dim for dim, *_ in common), *REFERENCE
    sizes = {key: sum(one[key]["nbytes"] for one in found) for key in common}
    rows: list[list[Cell]] = []
    for key in sorted(common, key=lambda key: sizes[key]):
        own, other = ([score for one in found for score in one[which]["scores"]] for which in (key, reference))
        change = difference(own, other)
        means = [sum(one[key]["scores"]) / len(one[key]["scores"]) for one in found]
        size: list[Cell] = [*key, sizes[key] / tokens, sizes[key] / texts]
        rows.append([*size, *means, change.value, change.low, change.high, change.low >= -TOLERABLE])
    columns = [Column("d"), Column("store"), Column("pool"), Column("bytes a token", ".1f")]
    columns += [Column("x the text", ".1f"), *(Column(result["name"], ".4f") for result in results)]
    columns += [Column("change", "+.4f"), Column("low", "+.4f"), Column("high", "+.4f")]
    columns.append(Column(f"low above -{TOLERABLE}"))
    count = sum(len(one[reference]["scores"]) for one in found)
    return Table(f"{MEASURE} of {count:,} queries, compared with d = {reference[0]}, {reference[1]}", columns, rows)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    results = []
    for path in sorted(parser.parse_args().folder.glob("stores-*.json")):
        result = load(path)
        results.append({"name": result.corpus, **result.facts[VALUES]})
    if not results:
        raise SystemExit("there are no results of maxsieve lab stores")
    table = pooled(results)
    print(f"{table.title}\n\n{table.markdown()}")


if __name__ == "__main__":
    main()
