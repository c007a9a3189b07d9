"""Documents on their way into a collection: texts, ids and metadata side by side, read as they come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sized
from itertools import zip_longest
from typing import Any, NamedTuple

from maxsieve.ids import Id, to_id
from maxsieve.storage.metadata import to_json

_ABSENT = object()


class Document(NamedTuple):
    """A text with its id and whatever the user keeps beside it."""

    id: Id
    text: str
    metadata: Any

    @property
    def record(self) -> dict[str, Any]:
        """What the index keeps beside the vectors."""
        return {"text": self.text, "metadata": self.metadata}

    @property
    def as_stored(self) -> Any:
        """Its record as it is read back: JSON knows no tuples, and only keys that are str."""
        return json.loads(to_json(self.record))


def derived_id(text: str) -> str:
    """The id of a text that was given none: half its SHA-256, in hexadecimal.

    >>> derived_id("once upon a time") == derived_id("once upon a time") != derived_id("the end")
    True
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def count_texts(texts: Iterable[str], ids: Iterable[Id] | None, metadata: Iterable[Any] | None) -> int | None:
    """How many texts there are, if that is known; an error if ids or metadata are known to be of another number."""
    for given, what in ((texts, "texts"), (ids, "ids"), (metadata, "metadata")):
        if isinstance(given, (str, bytes)) or (what == "metadata" and isinstance(given, dict)):
            raise TypeError(f"{what} must have an entry for each document, not be a single {type(given).__name__}")
        if given is not None and not isinstance(given, Iterable):
            raise TypeError(f"{what} must have an entry for each document, not be {given!r}")
    if not isinstance(texts, Sized):
        return None
    for given, what in ((ids, "ids"), (metadata, "metadata")):
        if isinstance(given, Sized) and len(given) != len(texts):
            raise ValueError(f"there are {len(texts)} texts but {len(given)} {what}")
    return len(texts)


def read_documents(
    texts: Iterable[str], ids: Iterable[Id] | None, metadata: Iterable[Any] | None
) -> Iterator[Document]:
    """The documents one by one, checked. An id that is given twice is an error; one that is derived may come again."""
    given = {"texts": texts, "ids": ids, "metadata": metadata}
    columns = {what: column for what, column in given.items() if column is not None}
    seen: set[Id] = set()
    kind: type | None = None
    for place, row in enumerate(zip_longest(*columns.values(), fillvalue=_ABSENT)):
        entry = dict(zip(columns, row, strict=True))
        short = [what for what, value in entry.items() if value is _ABSENT]
        if short:
            longer = next(what for what in columns if what not in short)
            raise ValueError(f"there are only {place} {short[0]}, but more {longer}")
        text = check_text(entry["texts"], f"texts: document {place}")
        if ids is None:
            one: Id = derived_id(text)
        elif (one := to_id(entry["ids"], "ids")) in seen:
            raise ValueError(f"ids: {one!r} occurs twice")
        elif kind is not None and type(one) is not kind:
            raise TypeError(f"ids must be all str or all int, and {one!r} is {type(one).__name__}")
        else:
            seen.add(one)
            kind = type(one)
        record = entry.get("metadata")
        if record is not None:
            try:
                to_json(record)
            except TypeError as problem:
                raise TypeError(f"document {one!r}: {problem}") from None
        yield Document(one, text, record)


def check_text(text: Any, where: str) -> str:
    """A str, or a `TypeError` that says where something else stands."""
    if not isinstance(text, str):
        raise TypeError(f"{where} is {type(text).__name__}, not str")
    return str.__str__(text)
