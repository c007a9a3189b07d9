"""Documents of a collection that are kept as passages: under which keys, with which records, and put together again.

The inner index knows passages only. A key is the id of a document with the number of a passage: the id itself for the
first, ``id#p1``, ``id#p2`` and so on for the others. Ids that are numbers, and ids that look like such a key, have a
suffix for the first passage, too: ``7#i0``, ``a#p1#p0``. So every key is text and stands for one passage only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from maxsieve.errors import DamagedIndexError
from maxsieve.grouping import GroupBy
from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.storage.metadata import to_json
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.encoder import Encoder, Measuring
from maxsieve.text.splitting import CountTokens, Sizes, split

LONGEST, OVERLAP = 256, 32
"""Tokens of a passage, and tokens that it repeats of the one before (docs/text.md has how they were chosen)."""

ADDED = 8
"""Tokens that an encoder may add to a text."""

ASSUMED = 512
"""Tokens that an encoder is taken to read if it does not say."""

READS = 3
"""Times that a document is read, should it be replaced at that very moment."""

_SUFFIX = re.compile(r"#([pi])(0|[1-9][0-9]{0,8})\Z")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


class Passage(NamedTuple):
    """A part of a document, which may be all of it.

    ``text`` is ``document[start : start + len(text)]``. ``number`` counts from 0, ``of`` is how many there are.
    ``heading`` are the headings it is under, ``page`` is its page, where the document has them.
    """

    text: str
    number: int = 0
    of: int = 1
    start: int = 0
    heading: str = ""
    page: int | None = None

    @property
    def encoded(self) -> str:
        """What its vectors are made of: the headings, too, for it may not repeat what it is about."""
        return self.context + self.text

    @property
    def context(self) -> str:
        """What stands before the text when it is encoded."""
        return f"{self.heading}\n" if self.heading else ""


class Document(NamedTuple):
    """A text with its id and whatever the user keeps beside it."""

    id: Id
    text: str
    metadata: Any


class Keys:
    """The keys of a collection's documents; without ``passages`` every document is one, and its id the key.

    >>> keys = Keys(passages=True)
    >>> [keys.key("a", 0), keys.key("a", 2), keys.key("a#p2", 0), keys.key(7, 1)]
    ['a', 'a#p2', 'a#p2#p0', '7#i1']
    >>> [keys.document(key) for key in ("a", "a#p2", "a#p2#p0", "7#i1")]
    ['a', 'a', 'a#p2', 7]
    """

    def __init__(self, *, passages: bool) -> None:
        self.passages = passages
        self._counts: WeakKeyDictionary[Snapshot, int] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {"passages": self.passages}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(passages=state["passages"])  # type: ignore[misc]

    @property
    def group_by(self) -> GroupBy | None:
        """What an index of such keys groups its hits by."""
        return self.document if self.passages else None

    def key(self, one: Id, number: int = 0) -> Id:
        """The key of a passage."""
        if not self.passages:
            return one
        if isinstance(one, int):
            return f"{one}#i{number}"
        return f"{one}#p{number}" if number or _SUFFIX.search(one) else one

    def document(self, key: Id) -> Id:
        """The id of the document that a key is of."""
        return self.parse(key)[0]

    def parse(self, key: Id) -> tuple[Id, int]:
        """The id of the document, and the number of the passage."""
        found = _SUFFIX.search(key) if self.passages and isinstance(key, str) else None
        if found is None:
            return key, 0
        one = found.string[: found.start()]
        if found[1] == "i":
            return (int(one), int(found[2])) if _INTEGER.fullmatch(one) else (key, 0)
        return one, int(found[2])

    def of(self, one: Id, index: Index) -> list[Id]:
        """All keys of a document that are in the index."""
        first = self.key(one)
        if first not in index:
            return []
        found = [first]
        while self.passages and (key := self.key(one, len(found))) in index:
            found.append(key)
        return found

    def of_all(self, ids: Iterable[Id], index: Index, what: str) -> list[Id]:
        """All keys of some documents; `KeyError` for one that is not there."""
        keys: list[Id] = []
        for one in ids:
            if not (found := self.of(one, index)):
                raise KeyError(f"{what}: no document has the id {one!r}")
            keys += found
        return keys

    def count(self, state: Snapshot) -> int:
        """How many documents there are in a state of the index."""
        if not self.passages:
            return len(state.live)
        if state not in self._counts:
            self._counts[state] = sum(1 for _ in self.firsts(state.live_ids()))
        return self._counts[state]

    def firsts(self, keys: Iterable[Id]) -> Iterator[Id]:
        """The ids of those documents whose first passage is among some keys, in order."""
        for key in keys:
            one, number = self.parse(key)
            if not number:
                yield one


class Splitter:
    """Cuts documents into passages, or leaves them whole."""

    def __init__(self, sizes: Sizes | None, count_tokens: CountTokens) -> None:
        self._sizes, self._count_tokens = sizes, count_tokens

    @property
    def cuts(self) -> bool:
        """Whether it cuts long texts at all."""
        return self._sizes is not None

    def __call__(self, text: str, metadata: Any = None) -> list[Passage]:
        """The passages of a text; a title among its metadata is what all its headings are under."""
        if self._sizes is None:
            return [Passage(text)]
        title = metadata.get("title") if isinstance(metadata, dict) else None
        slices = split(text, self._sizes, self._count_tokens, title.strip() if isinstance(title, str) else "")
        return [
            Passage(text[one.start : one.end], number, len(slices), one.start, one.heading, one.page)
            for number, one in enumerate(slices)
        ]


def to_record(passage: Passage, metadata: Any) -> dict[str, Any]:
    """What the index keeps beside a passage's vectors."""
    record: dict[str, Any] = {"text": passage.text, "metadata": metadata}
    if passage.of > 1:
        record["passage"] = [passage.of, passage.start, passage.heading, passage.page]
    return record


def as_stored(record: Any) -> Any:
    """A record as it is read back: JSON knows no tuples, and only keys that are str."""
    return json.loads(to_json(record))


def check_record(record: Any, key: Id) -> dict[str, Any]:
    """The record of a passage that is in a collection: a dict with its text and metadata, or it is damaged.

    >>> check_record({"text": "The fox"}, "fox")
    Traceback (most recent call last):
    maxsieve.errors.DamagedIndexError: the document 'fox' has no text and metadata, as every document here has
    """
    if not (isinstance(record, dict) and isinstance(record.get("text"), str) and "metadata" in record):
        raise DamagedIndexError(f"the document {key!r} has no text and metadata, as every document here has")
    match record.get("passage", [2, 0, "", None]):
        case [int(of), int(start), str(), None | int()] if of > 1 and start >= 0:
            return record
    raise DamagedIndexError(f"the passage {key!r} does not know its place in a document")


def to_passage(record: dict[str, Any], number: int) -> Passage:
    """The passage that a record, which was checked, is of."""
    of, start, heading, page = record.get("passage", [1, 0, "", None])
    return Passage(record["text"], number, of, start, heading, page)


def join(passages: Sequence[Passage], one: Id) -> str:
    r"""The text of a document from all its passages.

    >>> join([Passage("One. Two. ", 0, 2, 0), Passage("Two. Three.", 1, 2, 5)], "it")
    'One. Two. Three.'
    """
    text = ""
    for number, passage in enumerate(passages):
        if (passage.number, passage.of) != (number, len(passages)) or passage.start > len(text):
            raise DamagedIndexError(f"the document {one!r} lacks a passage")
        text += passage.text[len(text) - passage.start :]
    return text


def read_document(one: Id, keys: Keys, index: Index) -> Document | None:
    """A document as it was added, or None if it is not there."""
    for _ in range(READS):
        records = index.known_metadata(keys.of(one, index))
        if not records:
            return None
        checked = {key: check_record(record, key) for key, record in records.items()}
        passages = [to_passage(record, keys.parse(key)[1]) for key, record in checked.items()]
        if len(passages) == passages[0].of:
            break
    return Document(one, join(passages, one), checked[keys.key(one)]["metadata"])


def sizes_for(encoder: Encoder) -> Sizes:
    """How long passages are for an encoder: what it reads at once stays whole; headings need some room, too.

    >>> class Reader:
    ...     max_tokens = 512
    ...     def count_tokens(self, texts): ...
    >>> sizes_for(Reader())
    Sizes(whole=504, passage=256, overlap=32)
    """
    limit = encoder.max_tokens if isinstance(encoder, Measuring) else ASSUMED
    if limit is None:
        return Sizes(ASSUMED, LONGEST, OVERLAP)
    whole = max(1, limit - ADDED)
    overlap = min(OVERLAP, whole // 8)
    return Sizes(whole, max(1 + overlap, min(LONGEST, whole * 2 // 3)), overlap)


def splitter_for(encoder: Encoder, sizes: Sizes | None) -> Splitter:
    """Cuts documents for an encoder. If it can't count tokens, three characters count as one."""
    return Splitter(sizes, encoder.count_tokens if isinstance(encoder, Measuring) else _guess)


def _guess(texts: Sequence[str]) -> list[int]:
    return [len(text) // 3 + 1 for text in texts]
