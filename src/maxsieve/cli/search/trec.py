"""Run files, as trec_eval reads them: ``query Q0 document rank score tag``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from maxsieve.ids import Id

TAG = "maxsieve"

Write = Callable[[str, list[Id], list[float]], None]


@contextmanager
def run_file(path: str | os.PathLike[str]) -> Iterator[Write]:
    """Yields a function that writes a query's hits, best first. The file is there when all of them are.

    Scores are written so that the same number is read back, and the order with it.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with run_file(f"{folder}/run") as write:
    ...         write("q1", ["d7", "d3"], [2.5, 1.25])
    ...     print(pathlib.Path(folder, "run").read_text(), end="")
    q1 Q0 d7 1 2.5 maxsieve
    q1 Q0 d3 2 1.25 maxsieve
    """
    from maxsieve.common.files import replacing

    with replacing(path) as file:

        def write(query: str, ids: list[Id], scores: list[float]) -> None:
            for rank, (one, score) in enumerate(zip(ids, scores, strict=True), start=1):
                columns = (column(query), "Q0", column(str(one)), str(rank), repr(float(score)), TAG)
                file.write((" ".join(columns) + "\n").encode())

        yield write


def column(value: str) -> str:
    """An id as it stands in a run file or among judgements; one that would not be read back is refused."""
    if not value or any(letter.isspace() for letter in value):
        raise ValueError(f"the id {value!r} can't stand in a TREC file, whose columns are separated by white space")
    if value.startswith("\ufeff"):
        raise ValueError(f"the id {value!r} can't stand in a TREC file: its byte order mark would be lost")
    return value
