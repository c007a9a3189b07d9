"""Adds documents to a collection, in such a way that it can be interrupted at any moment and resumed.

Documents are read one by one and committed in batches. A document that is already in the collection is recognised by
its record before it is encoded. So to resume, one adds the same documents again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.progress import Advance
from maxsieve.errors import Argument, hinted
from maxsieve.ids import Id, to_id
from maxsieve.index import Index
from maxsieve.storage.metadata import to_json
from maxsieve.storage.segments import Segment
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.collection.pictures import Pictures
from maxsieve.text.encoders.truncation_warning import naming_texts
from maxsieve.text.inputs.outline import Outline
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import Grid
from maxsieve.text.passages import (
    Document,
    Keys,
    Passage,
    Splitter,
    as_stored,
    first_records,
    read_document,
    stored_document,
    to_passage,
    to_record,
)

BATCH_CHARACTERS = 1 << 17
"""Characters of a batch: about 30,000 tokens, a few seconds of work. An interruption loses at most one batch."""

BATCH_DOCUMENTS = 1024

LOOKUPS = 64
"""How many documents are looked up at a time."""

MOST_COPIED = 1 << 28
"""Limit on the bytes of a document's metadata, counted once for each passage."""

COMMITS = 64
"""After this many commits, segments are merged: each commit keeps three files open."""

FEW_SEGMENTS, SMALL_SEGMENT = 8, 256 << 20
"""More than this many segments, each below this many bytes, are merged: opening each takes milliseconds."""

PAGE_SIZE, PATCHED_PAGE_SIZE = 1 << 13, 1 << 14
"""How many characters a page counts for: 16 pages are a batch (OCR takes seconds), or 8 that a visual model encodes."""

Encodable = str | PageDocument
Encode = Callable[[list[Any]], Sequence[NDArray[np.float32]]]
Grids = Callable[[PageDocument], tuple[Grid, ...]]
T = TypeVar("T")
_ABSENT = object()


def derived_id(text: str) -> str:
    """The id of a text that has none: half of its SHA-256, in hexadecimal.

    >>> derived_id("once upon a time") == derived_id("once upon a time") != derived_id("the end")
    True
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def count_texts(texts: Iterable[str], ids: Iterable[Id] | None, metadata: Iterable[Any] | None) -> int | None:
    """How many texts there are, if known. An error if the number of ids or metadata is known and differs."""
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
    texts: Iterable[Encodable],
    ids: Iterable[Id] | None,
    metadata: Iterable[Any] | None,
    outlines: Iterable[Outline | None] | None = None,
    *,
    endless: bool = False,
) -> Iterator[Document]:
    """The documents one by one, checked. An id that is given twice is an error; one that is derived may come again.

    Of an ``endless`` stream the ids are not remembered: the code that adds the documents finds repeated ones.
    """
    given = {"texts": texts, "ids": ids, "metadata": metadata, "outlines": outlines}
    columns = {what: column for what, column in given.items() if column is not None}
    seen: set[Id] = set()
    kind: type | None = None
    for place, row in enumerate(zip_longest(*columns.values(), fillvalue=_ABSENT)):
        entry = dict(zip(columns, row, strict=True))
        short = [what for what, value in entry.items() if value is _ABSENT]
        if short:
            longer = next(what for what in columns if what not in short)
            raise ValueError(f"there are only {place} {short[0]}, but more {longer}")
        page = entry["texts"] if isinstance(entry["texts"], PageDocument) else None
        text = check_text(page.text if page else entry["texts"], f"texts: document {place}")
        if ids is None:
            id: Id = derived_id(page.digest if page else text)
        elif (id := to_id(entry["ids"], "ids")) in seen:
            raise ValueError(f"ids: {id!r} occurs twice")
        elif kind is not None and type(id) is not kind:
            raise TypeError(f"ids must be all str or all int, and {id!r} is {type(id).__name__}")
        else:
            kind = type(id)
            if not endless:
                seen.add(id)
        record = entry.get("metadata")
        if record is not None:
            try:
                to_json(record)
            except TypeError as problem:
                raise TypeError(f"document {id!r}: {problem}") from None
        yield Document(id, text, record, page, None if page is None else page.digest, entry.get("outlines"))


def check_text(text: Any, where: str) -> str:
    """Returns a str, or raises a `TypeError` that says where the other value is."""
    if not isinstance(text, str):
        raise TypeError(f"{where} is {type(text).__name__}, not str")
    return str.__str__(text)


class OtherDocumentError(ValueError):
    """The collection already has this id with another text or other metadata, and ``replace`` is not set."""

    @classmethod
    def of(cls, id: Id, difference: str) -> OtherDocumentError:
        """The error for a document, of which ``difference`` says what is not the same."""
        wrong = cls(f"ids: {id!r} is already in the collection, with {difference}")
        return hinted(wrong, "; {} replaces it", Argument("replace", True))


class Added(NamedTuple):
    """How many documents were new, skipped because they are already there, and replaced."""

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
    pictures: Pictures,
    grids: Grids | None = None,
) -> Added:
    """Adds documents to the index of a collection. If a batch fails, the earlier batches stay."""
    queue = _Queue(index, keys, split, encode, replace, advance, pictures, grids)
    for group in batches(documents, size_of, LOOKUPS):
        snapshot = index.storage.snapshot
        check_id_type(some_id(snapshot.here, keys), group[0].id)
        known = first_records((document.id for document in group), keys, snapshot)
        for document in group:
            queue.put(document, known.get(document.id), snapshot)
        queue.commit(all_of_it=False)
    queue.commit(all_of_it=True)
    return queue.added


def size_of(document: Document) -> int:
    """The characters of its text and of its metadata as JSON."""
    return len(document.text) + _metadata_size(document) + (PAGE_SIZE if document.page else 0)


def _metadata_size(document: Document) -> int:
    return 0 if document.metadata is None else len(to_json(document.metadata))


def batches(texts: Iterable[T], length: Callable[[T], int], most: int | None = None) -> Iterator[list[T]]:
    """Groups texts into batches for encoding."""
    batch: list[T] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += length(text)
        if characters >= BATCH_CHARACTERS or len(batch) >= (most or BATCH_DOCUMENTS):
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def worth_merging(segments: Iterable[Segment]) -> bool:
    """Whether many small commits have left many small segments."""
    return sum(segment.nbytes < SMALL_SEGMENT for segment in segments) > FEW_SEGMENTS


class _Queue:
    """Documents that wait until a batch is full."""

    def __init__(
        self,
        index: Index,
        keys: Keys,
        split: Splitter,
        encode: Encode,
        replace: bool,
        advance: Advance,
        pictures: Pictures,
        grids: Grids | None,
    ) -> None:
        self._pictures, self._grids = pictures, grids
        self._index, self._keys, self._split = index, keys, split
        self._encode, self._replace, self._advance = encode, replace, advance
        self._waiting: dict[Id, Document] = {}
        self._sizes: dict[Id, int] = {}
        self._commits = 0
        self.added = Added(0, 0, 0)

    def put(self, document: Document, first: dict[str, Any] | None, snapshot: AnySnapshot) -> None:
        """Queues a document, unless it is stored already. ``first`` is the stored record of its first passage."""
        added, skipped, replaced = self.added
        if (stored := self._waiting.get(document.id)) is None and first is not None:
            stored = stored_as(document, first, self._keys, snapshot)
        if stored is None:
            self._wait(document)
            self.added = Added(added + 1, skipped, replaced)
            return
        other = difference(document, stored)
        if other is None:
            self.added = Added(added, skipped + 1, replaced)
            self._advance(1)
            return
        if not self._replace:
            raise OtherDocumentError.of(document.id, other)
        self._wait(document)
        self.added = Added(added, skipped, replaced + 1)

    def _wait(self, document: Document) -> None:
        size = size_of(document) if self._grids is None else PATCHED_PAGE_SIZE
        self._waiting[document.id], self._sizes[document.id] = document, size

    def commit(self, *, all_of_it: bool) -> None:
        """Encodes and adds the full batches; with ``all_of_it``, also the last batch, which is not full."""
        for ids in batches(list(self._waiting), self._sizes.__getitem__):
            full = len(ids) >= BATCH_DOCUMENTS or sum(map(self._sizes.__getitem__, ids)) >= BATCH_CHARACTERS
            if not (full or all_of_it):
                return
            self._add([self._waiting[id] for id in ids])
            for id in ids:
                del self._waiting[id], self._sizes[id]
            self._advance(len(ids))
            self._commits += 1
            if self._commits % COMMITS == 0:
                self._index.compact()

    def _add(self, documents: list[Document]) -> None:
        """One commit. A document that had more passages before loses the others with it."""
        records, texts, names = to_pieces(documents, self._split, self._keys, self._grids)
        self._pictures.put(document.page for document in documents if document.page)
        snapshot = self._index.storage.snapshot
        old = (key for new in documents for key in self._keys.of(new.id, snapshot)) if self._replace else ()
        with naming_texts(names):
            self._index.add(
                (rows for some in batches(texts, length_of) for rows in self._encoded(some)),
                list(records),
                metadata=list(records.values()),
                replace=self._replace,
                delete=[key for key in old if key not in records],
            )

    def _encoded(self, texts: list[Encodable]) -> Sequence[NDArray[np.float32]]:
        vectors = self._encode(texts)
        self._advance(0, sum(map(len, vectors)))
        return vectors


class Pieces(NamedTuple):
    """Documents cut into passages: the records by their keys, what is encoded of each, and which document that is."""

    records: dict[Id, Any]
    texts: list[Encodable]
    names: dict[str, Id]


def to_pieces(documents: Iterable[Document], split: Splitter, keys: Keys, grids: Grids | None = None) -> Pieces:
    """Cuts documents into passages. With ``grids``, a visual model encodes the pages themselves."""
    pieces = Pieces({}, [], {})
    for document in documents:
        if grids is not None:
            if document.page is None:
                raise TypeError(f"document {document.id!r} is a text: the model of this collection encodes pages")
            page = document.page.facts(grids(document.page))
            pieces.records[keys.key(document.id)] = to_record(Passage(document.text), document.metadata, page)
            pieces.texts.append(document.page)
            continue
        facts = None if document.page is None else document.page.facts()
        passages = split(document.text, document.metadata, document.outline)
        _check_copies(document, len(passages))
        for passage in passages:
            pieces.records[keys.key(document.id, passage.number)] = to_record(passage, document.metadata, facts)
            pieces.texts.append(passage.encoded)
            pieces.names[passage.encoded] = document.id
    return pieces


def stored_as(document: Document, first: dict[str, Any], keys: Keys, snapshot: AnySnapshot) -> Document:
    """The stored document with the same id, whose first passage has the record ``first``.

    Only as much of it is read as is needed to compare both.
    """
    if document.text.startswith(first["text"]) and to_passage(first, 0).of > 1:
        return read_document(document.id, keys, snapshot) or document
    return stored_document(document.id, first["text"], first)


def difference(document: Document, stored: Document) -> str | None:
    """How a stored document differs from one that is to be added with the same id; None if they are the same.

    >>> difference(Document("a", "A fox", {"year": 1}), Document("a", "A fox", None))
    'other metadata'
    """
    if as_stored(document.text) != as_stored(stored.text):
        return "another text"
    if document.picture != stored.picture:
        return "another picture"
    return None if as_stored(document.metadata) == as_stored(stored.metadata) else "other metadata"


def length_of(content: Encodable) -> int:
    """How many characters something to encode counts for in a batch."""
    return PATCHED_PAGE_SIZE if isinstance(content, PageDocument) else len(content)


def _check_copies(document: Document, passages: int) -> None:
    """Refuses metadata that would fill memory and disk: they are stored with each passage of a document."""
    if passages > 1 and (size := _metadata_size(document)) * passages > MOST_COPIED:
        raise ValueError(
            f"document {document.id!r}: its metadata take {size:,} bytes and are stored with each of its {passages:,} "
            f"passages, which is more than {MOST_COPIED:,} bytes in total; add less metadata"
        )


def some_id(snapshot: Snapshot, keys: Keys) -> Id | None:
    """The id of any stored document; None if there is none."""
    snapshot.check()
    return next(map(keys.document, snapshot.ids_at(snapshot.live[:1].tolist())), None)


def check_id_type(known: Id | None, id: Id) -> None:
    """Refuses an id of another type than one that is in the collection, before anything is encoded.

    >>> check_id_type("a", 7)
    Traceback (most recent call last):
    TypeError: ids: 7 is int; this collection has str ids
    """
    if known is not None and type(known) is not type(id):
        raise TypeError(f"ids: {id!r} is {type(id).__name__}; this collection has {type(known).__name__} ids")
