"""Documents of a collection are stored as passages: the keys and records of passages, and how they are joined again.

The inner index has only passages. The key of a passage is made from the document's id and the passage's number: the id
itself for the first passage, ``id#p1``, ``id#p2`` and so on for the others. If an id is a number or looks like such a
key, its first passage has a suffix, too: ``7#i0``, ``a#p1#p0``. So every key is text and belongs to one passage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from maxsieve.errors import DamagedIndexError
from maxsieve.groups import GroupBy
from maxsieve.ids import Id
from maxsieve.storage.metadata import to_json
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.encoders.encoder import Encoder, Measuring
from maxsieve.text.splitter import CountTokens, Sizes, split

LONGEST, OVERLAP = 256, 32
"""The most tokens of a passage, and how many of them repeat the passage before (docs/text.md says why)."""

ADDED = 8
"""How many special tokens an encoder may add to a text."""

ASSUMED = 512
"""The assumed token limit of an encoder that does not state one."""

READ = 4096
"""Records checked at a time."""

READS = 3
"""How often a document is read again if it is replaced in the meantime."""

_SUFFIX = re.compile(r"#([pi])(0|[1-9][0-9]{0,8})\Z")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


class Passage(NamedTuple):
    """A part of a document, or the whole document.

    ``text`` is ``document[start : start + len(text)]``. ``number`` counts from 0, ``of`` is the number of passages.
    ``heading`` are the headings above it and ``page`` is its page, if the document has them.
    """

    text: str
    number: int = 0
    of: int = 1
    start: int = 0
    heading: str = ""
    page: int | None = None

    @property
    def encoded(self) -> str:
        """The text that is encoded. It includes the headings, because the passage may not repeat its subject."""
        return self.context + self.text

    @property
    def context(self) -> str:
        """The headings, which are put before the text when it is encoded."""
        return f"{self.heading}\n" if self.heading else ""


class Records(Protocol):
    """Where passages are looked up: an index, or its shards."""

    def __contains__(self, key: object, /) -> bool:
        """Whether a passage is there."""

    def known_metadata(self, ids: Iterable[Id]) -> dict[Id, Any]:
        """The records of those passages that are stored."""


class Document(NamedTuple):
    """A text with its id and its metadata."""

    id: Id
    text: str
    metadata: Any


class Keys:
    """Keys of passages. Without ``passages`` every document is a single passage, and its id is the key.

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
        """The function by which an index with such keys groups its hits."""
        return self.document if self.passages else None

    def key(self, one: Id, number: int = 0) -> Id:
        """The key of a passage."""
        if not self.passages:
            return one
        if isinstance(one, int):
            return f"{one}#i{number}"
        return f"{one}#p{number}" if number or _SUFFIX.search(one) else one

    def document(self, key: Id) -> Id:
        """The id of the document that a key belongs to."""
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

    def of(self, one: Id, records: Records) -> list[Id]:
        """All keys of a document that are there."""
        first = self.key(one)
        if first not in records:
            return []
        found = [first]
        while self.passages and (key := self.key(one, len(found))) in records:
            found.append(key)
        return found

    def of_all(self, ids: Iterable[Id], records: Records, what: str) -> list[Id]:
        """All keys of some documents; `KeyError` for one that is not there."""
        keys: list[Id] = []
        for one in ids:
            if not (found := self.of(one, records)):
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
        """The ids of the documents whose first passage is among the keys, in order."""
        for key in keys:
            one, number = self.parse(key)
            if not number:
                yield one


class Splitter:
    """Splits documents into passages, or leaves them whole."""

    def __init__(self, sizes: Sizes | None, count_tokens: CountTokens) -> None:
        self._sizes, self._count_tokens = sizes, count_tokens

    @property
    def cuts(self) -> bool:
        """Whether it splits long texts at all."""
        return self._sizes is not None

    def __call__(self, text: str, metadata: Any = None) -> list[Passage]:
        """The passages of a text. A title in its metadata is put above all its headings."""
        if self._sizes is None:
            return [Passage(text)]
        title = metadata.get("title") if isinstance(metadata, dict) else None
        slices = split(text, self._sizes, self._count_tokens, title.strip() if isinstance(title, str) else "")
        return [
            Passage(text[one.start : one.end], number, len(slices), one.start, one.heading, one.page)
            for number, one in enumerate(slices)
        ]


def to_record(passage: Passage, metadata: Any) -> dict[str, Any]:
    """What the index stores as a passage's metadata."""
    record: dict[str, Any] = {"text": passage.text, "metadata": metadata}
    if passage.of > 1:
        record["passage"] = [passage.of, passage.start, passage.heading, passage.page]
    return record


def as_stored(record: Any) -> Any:
    """A record after a round trip through JSON, which has no tuples and only str keys."""
    return json.loads(to_json(record))


def check_record(record: Any, key: Id) -> dict[str, Any]:
    """The record of a passage, checked: a dict with its text and metadata. Anything else is damage.

    >>> check_record({"text": "The fox"}, "fox")
    Traceback (most recent call last):
    maxsieve.errors.DamagedIndexError: the document 'fox' has no text or no metadata in its record
    """
    if not (isinstance(record, dict) and isinstance(record.get("text"), str) and "metadata" in record):
        raise DamagedIndexError(f"the document {key!r} has no text or no metadata in its record")
    match record.get("passage", [2, 0, "", None]):
        case [int(of), int(start), str(), None | int()] if of > 1 and start >= 0:
            return record
    raise DamagedIndexError(f"the record of the passage {key!r} does not say where it is in its document")


def to_passage(record: dict[str, Any], number: int) -> Passage:
    """The passage of a checked record."""
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
            raise DamagedIndexError(f"a passage of the document {one!r} is missing")
        text += passage.text[len(text) - passage.start :]
    return text


def read_document(one: Id, keys: Keys, records: Records) -> Document | None:
    """A document as it was added, or None if it is not there."""
    for _ in range(READS):
        known = records.known_metadata(keys.of(one, records))
        if not known:
            return None
        checked = {key: check_record(record, key) for key, record in known.items()}
        passages = [to_passage(record, keys.parse(key)[1]) for key, record in checked.items()]
        if len(passages) == passages[0].of:
            break
    return Document(one, join(passages, one), checked[keys.key(one)]["metadata"])


def verify_records(state: Snapshot, keys: Keys) -> None:
    """Reads all records: `DamagedIndexError` for one that is none, or for a document that lacks a passage."""
    waiting: dict[Id, list[Passage]] = {}
    for start in range(0, len(state.live), READ):
        positions = state.live[start : start + READ].tolist()
        for position, record in zip(positions, state.metadata(positions), strict=True):
            one, number = keys.parse(key := state.ids[position])
            passage = to_passage(check_record(record, key), number)
            if keys.passages:
                waiting.setdefault(one, []).append(passage)
                if len(waiting[one]) == passage.of:
                    join(sorted(waiting.pop(one), key=lambda passage: passage.number), one)
    for one in waiting:
        raise DamagedIndexError(f"a passage of the document {one!r} is missing")


def sizes_for(encoder: Encoder) -> Sizes:
    """Sizes of passages for an encoder: a text within its limit stays whole; a passage leaves space for headings.

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
    """Splits documents for an encoder. If it can't count tokens, three characters count as one token."""
    return Splitter(sizes, encoder.count_tokens if isinstance(encoder, Measuring) else _guess)


def _guess(texts: Sequence[str]) -> list[int]:
    return [len(text) // 3 + 1 for text in texts]
