"""Documents on their way into a collection, so that it can be interrupted at any moment and gone on with.

They are read as they come and committed batch by batch. What is in already is recognised by its record before it is
encoded, so going on is nothing but adding again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import islice, zip_longest
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import Advance
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id, to_id
from maxsieve.index import Index
from maxsieve.storage.metadata import to_json
from maxsieve.text.cuts import naming_cuts

BATCH_CHARACTERS = 1 << 17
"""Text that is encoded and committed at a time: some 30,000 tokens, a few seconds' work, and at most that is lost."""

BATCH_DOCUMENTS = 1024

LOOKUPS = 64
"""Documents that are looked up at a time."""

COMMITS = 64
"""So many commits are merged while more come: each has three open files."""

FEW_SEGMENTS, SMALL_SEGMENT = 8, 256 << 20
"""More segments than this, each below this many bytes, are worth merging: opening takes milliseconds for each."""

Encode = Callable[[list[str]], Sequence[NDArray[np.float32]]]
T = TypeVar("T")
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


def check_record(record: Any, one: Id) -> dict[str, Any]:
    """The record of a document that is in a collection: a dict with its text and metadata, or it is damaged.

    >>> check_record({"text": "The fox"}, "fox")
    Traceback (most recent call last):
    maxsieve.errors.DamagedIndexError: the document 'fox' has no text and metadata, as every document here has
    """
    if isinstance(record, dict) and isinstance(record.get("text"), str) and "metadata" in record:
        return record
    raise DamagedIndexError(f"the document {one!r} has no text and metadata, as every document here has")


class Added(NamedTuple):
    """How many documents were new, in already (not encoded again), and replaced."""

    added: int
    skipped: int
    replaced: int


def add_documents(
    index: Index, documents: Iterator[Document], encode: Encode, *, replace: bool, advance: Advance
) -> Added:
    """Adds documents to the index of a collection; those of earlier batches stay when a later one fails."""
    queue = _Queue(index, encode, replace, advance)
    while group := list(islice(documents, LOOKUPS)):
        _check_id_type(index, group[0].id)
        known = index.known_metadata(document.id for document in group)
        for document in group:
            one = document.id
            queue.put(document, check_record(known[one], one) if one in known else None)
        queue.commit(all_of_it=False)
    queue.commit(all_of_it=True)
    return queue.added


def batches(texts: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Cuts texts into batches to be encoded."""
    batch: list[T] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += length(text)
        if characters >= BATCH_CHARACTERS or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def worth_merging(index: Index) -> bool:
    """Whether many small commits have left many small segments."""
    return sum(segment.nbytes < SMALL_SEGMENT for segment in index.snapshot.segments) > FEW_SEGMENTS


class _Queue:
    """Documents that wait until there are enough for a batch."""

    def __init__(self, index: Index, encode: Encode, replace: bool, advance: Advance) -> None:
        self._index, self._encode, self._replace, self._advance = index, encode, replace, advance
        self._waiting: dict[Id, Document] = {}
        self._commits = 0
        self.added = Added(0, 0, 0)

    def put(self, document: Document, stored: Any) -> None:
        """Takes a document unless it is in already; ``stored`` is the record under its id, if there is one."""
        added, skipped, replaced = self.added
        if (waiting := self._waiting.get(document.id)) is not None:
            stored = waiting.as_stored
        if stored is not None and document.as_stored == stored:
            self.added = Added(added, skipped + 1, replaced)
            self._advance(1)
            return
        if stored is not None and not self._replace:
            what = "other metadata" if stored["text"] == document.text else "another text"
            raise ValueError(
                f"ids: {document.id!r} is in the collection already, with {what}; replace=True replaces it"
            )
        self._waiting[document.id] = document
        self.added = Added(added + (stored is None), skipped, replaced + (stored is not None))

    def commit(self, *, all_of_it: bool) -> None:
        """Encodes and adds what waits; the last batch, if it is not full, only when all of it is asked for."""
        waiting = batches(list(self._waiting.values()), lambda document: len(document.text))
        for batch in waiting:
            full = len(batch) >= BATCH_DOCUMENTS or sum(len(one.text) for one in batch) >= BATCH_CHARACTERS
            if not (full or all_of_it):
                return
            with naming_cuts({one.text: one.id for one in batch}):
                vectors = self._encode([one.text for one in batch])
            self._index.add(
                vectors,
                [one.id for one in batch],
                metadata=[one.record for one in batch],
                replace=self._replace,
            )
            for one in batch:
                del self._waiting[one.id]
            self._advance(len(batch), sum(map(len, vectors)))
            self._commits += 1
            if self._commits % COMMITS == 0:
                self._index.compact()


def _check_id_type(index: Index, one: Id) -> None:
    """Refuses ids of another type than those in the index, before anything is encoded."""
    state = index.snapshot
    if len(state.live) and type(known := state.ids[int(state.live[0])]) is not type(one):
        raise TypeError(f"ids: {one!r} is {type(one).__name__}; this collection has {type(known).__name__} ids")
