"""TREC run files, the format of trec_eval: ``query Q0 document rank score tag``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeAlias

from maxsieve.common.files import PathLike, replacing
from maxsieve.ids import Id
from maxsieve.text.inputs.document import BadInput, Place
from maxsieve.text.inputs.lines import decoded, numbered
from maxsieve.text.inputs.reading import opened

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


def write_run(run: Run, path: PathLike) -> None:
    """Writes a run; a query without hits leaves no line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_run({"q": [("d7", 2.5), ("d3", 1.25)]}, f"{folder}/it.run")
    ...     read_run(f"{folder}/it.run")
    {'q': [('d7', 2.5), ('d3', 1.25)]}
    """
    for query, hits in run.items():
        scores = [score for _, score in hits]
        if not all(map(math.isfinite, scores)) or any(first < second for first, second in pairwise(scores)):
            raise ValueError(f"the hits of query {query!r} must come best first and have finite scores")
    with run_file(path) as write:
        for query, hits in run.items():
            write(query, [id for id, _ in hits], [score for _, score in hits])


def read_run(path: PathLike) -> dict[str, list[tuple[str, float]]]:
    """Query id -> hits, by descending score, as in trec_eval; ties keep the order of the file."""
    found: dict[str, dict[str, float]] = {}
    with opened(os.fspath(path)) as lines:
        for place, line in numbered(lines, os.fspath(path)):
            columns = decoded(line, place).split()
            if len(columns) != 6:
                wanted = "6 are expected (query, Q0, document, rank, score, tag)"
                raise BadInput(place, f"there are {len(columns)} columns; {wanted}")
            hits = found.setdefault(columns[0], {})
            if columns[2] in hits:
                raise BadInput(place, f"document {columns[2]!r} occurs twice among the hits of query {columns[0]!r}")
            hits[columns[2]] = _score(columns[4], place)
    return {query: sorted(hits.items(), key=lambda hit: -hit[1]) for query, hits in found.items()}


def column(value: str) -> str:
    """An id as a column of a run file or of judgements; an id that would not survive a round trip is refused."""
    if not value or any(letter.isspace() for letter in value):
        raise ValueError(
            f"the id {value!r} can't be written to a TREC file, whose columns are separated by white space"
        )
    if value.startswith("\ufeff"):
        raise ValueError(f"the id {value!r} can't be written to a TREC file: its byte order mark would be lost")
    return value


def _score(text: str, place: Place) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise BadInput(place, f"the score is {text!r}; it must be a finite number")
    return score
