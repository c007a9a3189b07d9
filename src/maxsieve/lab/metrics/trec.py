"""TREC files: runs (``query Q0 document rank score tag``) and judgements (``query 0 document grade``)."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

from maxsieve.common.files import replacing
from maxsieve.lab.corpora.judgements import by_query, read_judgements
from maxsieve.lab.metrics.quality import Run
from maxsieve.text.inputs.lines import decoded, numbered
from maxsieve.text.inputs.record import BadRecord, Place

PathLike: TypeAlias = str | os.PathLike[str]


def write_run(run: Run, path: PathLike) -> None:
    """Writes a run; a query without hits leaves no line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_run({"q": [("d7", 2.5), ("d3", 1.25)]}, f"{folder}/it.run")
    ...     read_run(f"{folder}/it.run")
    {'q': [('d7', 2.5), ('d3', 1.25)]}
    """
    from maxsieve.cli.search.trec import run_file  # whose package loads the command line

    for query, hits in run.items():
        scores = [score for _, score in hits]
        if not all(map(math.isfinite, scores)) or any(first < second for first, second in pairwise(scores)):
            raise ValueError(f"the hits of query {query!r} must come best first and have finite scores")
    with run_file(path) as write:
        for query, hits in run.items():
            write(query, [one for one, _ in hits], [score for _, score in hits])


def read_run(path: PathLike) -> dict[str, list[tuple[str, float]]]:
    """Query id -> hits, by descending score, as trec_eval sees them; equals stay as they are in the file."""
    found: dict[str, dict[str, float]] = {}
    with open(path, "rb") as file:
        for place, line in numbered(file, os.fspath(path)):
            columns = decoded(line, place).split()
            if len(columns) != 6:
                wanted = "6 are expected (query, Q0, document, rank, score, tag)"
                raise BadRecord(place, f"there are {len(columns)} columns; {wanted}")
            hits = found.setdefault(columns[0], {})
            if columns[2] in hits:
                raise BadRecord(place, f"document {columns[2]!r} is a hit of query {columns[0]!r} already")
            hits[columns[2]] = _score(columns[4], place)
    return {query: sorted(hits.items(), key=lambda hit: -hit[1]) for query, hits in found.items()}


def write_qrels(judgements: Mapping[str, Mapping[str, int]], path: PathLike) -> None:
    """Writes judgements.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_qrels({"q": {"d7": 2}}, f"{folder}/qrels")
    ...     print(pathlib.Path(folder, "qrels").read_text(), end="")
    q 0 d7 2
    """
    from maxsieve.cli.search.trec import column

    with replacing(path) as file:
        for query, grades in judgements.items():
            for document, grade in grades.items():
                file.write(f"{column(query)} 0 {column(document)} {grade:d}\n".encode())


def read_qrels(path: PathLike) -> dict[str, dict[str, int]]:
    """Query id -> document id -> grade, from a file in TREC's or BEIR's form."""
    with open(path, "rb") as file:
        return by_query(read_judgements(file, os.fspath(path)))


def _score(text: str, place: Place) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise BadRecord(place, f"the score is {text!r}; it must be a finite number")
    return score
