"""Documents on their way into a collection, so that it can be interrupted at any moment and gone on with.

They are read as they come and committed batch by batch. What is in already is recognised by its record before it is
encoded, so going on is nothing but adding again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import islice, zip_longest
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import Advance
from maxsieve.ids import Id, to_id
from maxsieve.index import Index
from maxsieve.storage.metadata import to_json
from maxsieve.text.cuts import naming_cuts
from maxsieve.text.passages import Document, Keys, Splitter, as_stored, check_record, read_document, to_record

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


class OtherDocumentError(ValueError):
    """An id is in the collection already, with another text or other metadata, and is not to be replaced."""


class Added(NamedTuple):
    """How many documents were new, in already (not encoded again), and replaced."""

    added: int
    skipped: int
    replaced: int


def add_documents(
    index: Index,
    documents: Iterator[Document],
    keys: Keys,
    split: Splitter,
    encode: Encode,
    *,
    replace: bool,
    advance: Advance,
) -> Added:
    """Adds documents to the index of a collection; those of earlier batches stay when a later one fails."""
    queue = _Queue(index, keys, split, encode, replace, advance)
    while group := list(islice(documents, LOOKUPS)):
        _check_id_type(index, keys, group[0].id)
        known = index.known_metadata(keys.key(document.id) for document in group)
        for document in group:
            key = keys.key(document.id)
            queue.put(document, check_record(known[key], key) if key in known else None)
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

    def __init__(
        self, index: Index, keys: Keys, split: Splitter, encode: Encode, replace: bool, advance: Advance
    ) -> None:
        self._index, self._keys, self._split = index, keys, split
        self._encode, self._replace, self._advance = encode, replace, advance
        self._waiting: dict[Id, Document] = {}
        self._commits = 0
        self.added = Added(0, 0, 0)

    def put(self, document: Document, first: dict[str, Any] | None) -> None:
        """Takes a document unless it is in already; ``first`` is the record of its first passage, if that is in."""
        added, skipped, replaced = self.added
        if (stored := self._waiting.get(document.id)) is None and first is not None:
            stored = self._stored(document, first)
        if stored is None:
            self._waiting[document.id] = document
            self.added = Added(added + 1, skipped, replaced)
            return
        same_text = as_stored(document.text) == as_stored(stored.text)
        if same_text and as_stored(document.metadata) == as_stored(stored.metadata):
            self.added = Added(added, skipped + 1, replaced)
            self._advance(1)
            return
        if not self._replace:
            what = "other metadata" if same_text else "another text"
            raise OtherDocumentError(
                f"ids: {document.id!r} is in the collection already, with {what}; replace=True replaces it"
            )
        self._waiting[document.id] = document
        self.added = Added(added, skipped, replaced + 1)

    def commit(self, *, all_of_it: bool) -> None:
        """Encodes and adds what waits; the last batch, if it is not full, only when all of it is asked for."""
        waiting = batches(list(self._waiting.values()), lambda document: len(document.text))
        for batch in waiting:
            full = len(batch) >= BATCH_DOCUMENTS or sum(len(one.text) for one in batch) >= BATCH_CHARACTERS
            if not (full or all_of_it):
                return
            self._add(batch)
            for one in batch:
                del self._waiting[one.id]
            self._advance(len(batch))
            self._commits += 1
            if self._commits % COMMITS == 0:
                self._index.compact()

    def _add(self, documents: list[Document]) -> None:
        """One commit. A document that had more passages before loses the others with it."""
        records: dict[Id, Any] = {}
        texts: list[str] = []
        names: dict[str, Id] = {}
        for one in documents:
            for passage in self._split(one.text, one.metadata):
                records[self._keys.key(one.id, passage.number)] = to_record(passage, one.metadata)
                texts.append(passage.encoded)
                names[passage.encoded] = one.id
        old = (key for one in documents for key in self._keys.of(one.id, self._index)) if self._replace else ()
        with naming_cuts(names):
            self._index.add(
                (rows for some in batches(texts, len) for rows in self._encoded(some)),
                list(records),
                metadata=list(records.values()),
                replace=self._replace,
                delete=[key for key in old if key not in records],
            )

    def _encoded(self, texts: list[str]) -> Sequence[NDArray[np.float32]]:
        vectors = self._encode(texts)
        self._advance(0, sum(map(len, vectors)))
        return vectors

    def _stored(self, document: Document, first: dict[str, Any]) -> Document:
        """What is in under a document's id: as much of it as tells whether it is the same."""
        if "passage" in first and document.text.startswith(first["text"]):
            return read_document(document.id, self._keys, self._index) or document
        return Document(document.id, first["text"], first["metadata"])


def _check_id_type(index: Index, keys: Keys, one: Id) -> None:
    """Refuses ids of another type than those in the index, before anything is encoded."""
    state = index.snapshot
    if not len(state.live):
        return
    known = keys.document(state.ids[int(state.live[0])])
    if type(known) is not type(one):
        raise TypeError(f"ids: {one!r} is {type(one).__name__}; this collection has {type(known).__name__} ids")
