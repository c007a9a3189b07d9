"""TREC files: judgements (``query 0 document grade``), and runs, which `maxsieve.text.trec` reads and writes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from maxsieve.common.files import PathLike, replacing
from maxsieve.lab.corpora.judgements import by_query, read_judgements
from maxsieve.text.trec import column, read_run, write_run

__all__ = ["read_qrels", "read_run", "write_qrels", "write_run"]


def write_qrels(judgements: Mapping[str, Mapping[str, int]], path: PathLike) -> None:
    """Writes judgements.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_qrels({"q": {"d7": 2}}, f"{folder}/qrels")
    ...     print(pathlib.Path(folder, "qrels").read_text(), end="")
    q 0 d7 2
    """
    with replacing(path) as file:
        for query, grades in judgements.items():
            for document, grade in grades.items():
                file.write(f"{column(query)} 0 {column(document)} {grade:d}\n".encode())


def read_qrels(path: PathLike) -> dict[str, dict[str, int]]:
    """Query id -> document id -> grade, from a file in TREC's or BEIR's form."""
    with open(path, "rb") as file:
        return by_query(read_judgements(file, os.fspath(path)))
