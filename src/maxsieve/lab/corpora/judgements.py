"""Reads relevance judgements, and selects those of known queries and documents."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from maxsieve.lab.corpora.corpus import CorpusWarning
from maxsieve.text.inputs.document import BadInput, Place
from maxsieve.text.inputs.lines import decoded, numbered

HEADER = ("query-id", "corpus-id", "score")
GRADE = re.compile(r"[+-]?[0-9]{1,9}")


class Judgement(NamedTuple):
    """How relevant a document is to a query, and the place in the file."""

    place: Place
    query: str
    document: str
    grade: int


def read_judgements(lines: Iterable[bytes], source: str) -> Iterator[Judgement]:
    r"""Each line is a judgement: ``query document grade`` (BEIR) or ``query iteration document grade`` (TREC).

    Columns are separated by tabs or, in a line without tabs, by white space. BEIR's header is optional.

    >>> [found[1:] for found in read_judgements([b"query-id\tcorpus-id\tscore\n", b"q\t007\t1\n", b"q 0 7 2\n"], "it")]
    [('q', '007', 1), ('q', '7', 2)]
    """
    for position, (place, line) in enumerate(numbered(lines, source)):
        text = decoded(line, place)
        columns = text.split("\t") if "\t" in text else text.split()
        if position == 0 and tuple(name.strip().lower().replace("_", "-") for name in columns) == HEADER:
            continue
        if len(columns) not in (3, 4):
            wanted = "3 are expected (query, document, grade), or 4 (query, iteration, document, grade)"
            raise BadInput(place, f"there are {len(columns)} columns; {wanted}")
        yield Judgement(place, columns[0], columns[-2], _grade(columns[-1].strip(), place))


def by_query(found: Iterable[Judgement]) -> dict[str, dict[str, int]]:
    """Query id -> document id -> grade. Two different grades for one document are an error."""
    judged: dict[str, dict[str, int]] = {}
    for place, query, document, grade in found:
        before = judged.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            raise BadInput(
                place, f"document {document!r} has grade {grade} for query {query!r}, but {before} on a line before"
            )
    return judged


def keep_known(
    found: Iterable[Judgement],
    source: str,
    documents: Collection[str],
    queries: Collection[str],
    *,
    stacklevel: int,
) -> dict[str, dict[str, int]]:
    """The judgements of known documents and queries; one warning for each kind that is left out.

    An error if there are none, or none is left: then the files write ids differently, or do not belong together.
    """
    known: list[Judgement] = []
    left: dict[str, list[str]] = {"query": [], "document": []}
    for judgement in found:
        if judgement.query not in queries:
            left["query"].append(f"{judgement.query!r}{_at(judgement.place)}")
        elif judgement.document not in documents:
            left["document"].append(f"{judgement.document!r}{_at(judgement.place)}")
        else:
            known.append(judgement)
    total = len(known) + len(left["query"]) + len(left["document"])
    if not total:
        raise ValueError(f"{source}: it contains no judgement")
    if not known:
        first = "; ".join(f"there is no {kind} {unknown[0]}" for kind, unknown in left.items() if unknown)
        raise ValueError(f"{source}: none of its {total} judgements has a known query and a known document: {first}")
    for kind, unknown in left.items():
        if unknown:
            message = f"{source}: {len(unknown)} of {total} judgements have an unknown {kind} and are left out"
            warnings.warn(f"{message}; the first: {unknown[0]}", CorpusWarning, stacklevel=stacklevel + 1)
    return by_query(known)


def warn_of_unjudged(
    source: str, queries: Collection[str], judged: Collection[str], places: dict[str, Place], *, stacklevel: int
) -> None:
    """One warning if there are queries without judgements, which can't be used to measure quality."""
    if unjudged := [query for query in queries if query not in judged]:
        first = f"{unjudged[0]!r}{_at(places.get(unjudged[0], Place(source)))}"
        message = f"{source}: {len(unjudged)} of {len(queries)} queries have no judgement; the first: {first}"
        warnings.warn(message, CorpusWarning, stacklevel=stacklevel + 1)


def _grade(text: str, place: Place) -> int:
    if not GRADE.fullmatch(text):
        raise BadInput(place, f"the grade is {text!r}; it must be a whole number")
    return int(text)


def _at(place: Place) -> str:
    return f" ({place.unit} {place.number})" if place.unit else ""
