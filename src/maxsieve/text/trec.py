"""TREC run files, the format of trec_eval: ``query Q0 document rank score tag``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from maxsieve.common.files import PathLike, replacing
from maxsieve.ids import Id
from maxsieve.text.inputs.document import BadInput
from maxsieve.text.inputs.lines import decoded, numbered

TAG = "maxsieve"

Run: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]
"""Query id -> (document id, score), best first."""

Write = Callable[[str, Sequence[Id], Sequence[float]], None]


@contextmanager
def run_file(path: PathLike) -> Iterator[Write]:
    """Yields a function that writes a query's hits, best first. The file appears when all hits are written.

    Scores survive a round trip: the same numbers are read back, and so the same order.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with run_file(f"{folder}/run") as write:
    ...         write("q1", ["d7", "d3"], [2.5, 1.25])
    ...     print(pathlib.Path(folder, "run").read_text(), end="")
    q1 Q0 d7 1 2.5 maxsieve
    q1 Q0 d3 2 1.25 maxsieve
    """
    with replacing(path) as file:

        def write(query: str, ids: Sequence[Id], scores: Sequence[float]) -> None:
            for rank, (id, score) in enumerate(zip(ids, scores, strict=True), start=1):
                columns = (column(query), "Q0", column(str(id)), str(rank), repr(float(score)), TAG)
                file.write((" ".join(columns) + "\n").encode())

        yield write


def column(value: str) -> str:
    """An id as a column of a run file or of judgements; an id that would not survive a round trip is refused."""
    if not value or any(letter.isspace() for letter in value):
        raise ValueError(
            f"the id {value!r} can't be written to a TREC file, whose columns are separated by white space"
        )
    if value.startswith("\ufeff"):
        raise ValueError(f"the id {value!r} can't be written to a TREC file: its byte order mark would be lost")
    return value


def read_run(lines: Iterable[bytes], source: str) -> dict[str, list[str]]:
    r"""The documents of each query, best first: by score, and ties by rank, whatever the order of the lines.

    >>> read_run([b"q1 Q0 d3 2 1.25 x\n", b"q1 Q0 d7 1 2.5 x\n"], "run")
    {'q1': ['d7', 'd3']}
    """
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for place, line in numbered(lines, source):
        columns = decoded(line, place).split()
        try:
            query, _, id, rank, score, *rest = columns
            order = -float(score), int(rank)
        except ValueError:
            order, rest, query, id = (math.nan, 0), [], "", ""
        if len(rest) > 1 or math.isnan(order[0]):
            raise BadInput(place, "a line of a run is expected: query Q0 document rank score tag")
        if id in found.setdefault(query, {}):
            raise BadInput(place, f"the document {id!r} is there twice for the query {query!r}")
        found[query][id] = order
    return {query: sorted(documents, key=documents.__getitem__) for query, documents in found.items()}
