"""Queries from a file or a pipe: one per line, ``id<TAB>text``, or JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from maxsieve.text.inputs.document import BadInput, Place
from maxsieve.text.inputs.jsonl import to_object
from maxsieve.text.inputs.lines import decoded, numbered

IDS, TEXTS = ("_id", "id", "qid"), ("text", "query")


class Query(NamedTuple):
    """A text to search for, and the id of its answer."""

    id: str
    text: str


def read_queries(lines: Iterable[bytes], source: str) -> Iterator[Query]:
    r"""The queries, one by one. The first line decides the format. Queries without an id are numbered.

    >>> list(read_queries([b"a red fox\n", b"\n", b"tea"], "it"))
    [Query(id='1', text='a red fox'), Query(id='2', text='tea')]
    >>> list(read_queries([b"q7\ttea for two"], "it"))
    [Query(id='q7', text='tea for two')]
    >>> list(read_queries([b'{"_id": 3, "text": "tea"}'], "it"))
    [Query(id='3', text='tea')]
    """
    read: Callable[[bytes, Place, int], Query] | None = None
    seen: dict[str, Place] = {}
    for number, (place, line) in enumerate(numbered(lines, source), start=1):
        read = read or _reader(line)
        query = read(line, place, number)
        if query.id in seen:
            raise BadInput(place, f"the id {query.id!r} was used before ({seen[query.id]})")
        seen[query.id] = place
        if not query.text.strip():
            raise BadInput(place, "the query is empty")
        yield query


def _reader(first: bytes) -> Callable[[bytes, Place, int], Query]:
    if first.lstrip().startswith(b"{"):
        return _from_json
    return _from_tsv if b"\t" in first.strip() else _from_line


def _from_line(line: bytes, place: Place, number: int) -> Query:
    return Query(str(number), decoded(line, place).strip())


def _from_tsv(line: bytes, place: Place, number: int) -> Query:
    parts = decoded(line, place).split("\t")
    if len(parts) != 2 or not parts[0].strip():
        raise BadInput(place, "an id, a tab and the query are expected, as on the first line")
    return Query(parts[0].strip(), parts[1].strip())


def _from_json(line: bytes, place: Place, number: int) -> Query:
    found = to_object(line, place)
    text = next((found[name] for name in TEXTS if name in found), None)
    identity = next((found[name] for name in IDS if name in found), number)
    if not isinstance(text, str):
        raise BadInput(place, "there is no field 'text' or 'query' with a text")
    if isinstance(identity, bool) or not isinstance(identity, (str, int)):
        raise BadInput(place, f"the id is {identity!r}; it must be text or a whole number")
    return Query(str(identity), text)
