"""Documents of a collection are stored as passages: the keys and records of passages, and how they are joined again.

The inner index has only passages. The key of a passage is made from the document's id and the passage's number: the id
itself for the first passage, ``id#p1``, ``id#p2`` and so on for the others. If an id is a number or looks like such a
key, its first passage has a suffix, too: ``7#i0``, ``a#p1#p0``. So every key is text and belongs to one passage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from maxsieve.errors import DamagedIndexError
from maxsieve.groups import GroupBy
from maxsieve.ids import Id
from maxsieve.storage.metadata import to_json
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import AnySnapshot
from maxsieve.text.encoders.encoder import Encoder, Measuring
from maxsieve.text.inputs.outline import MARKDOWN, Outline
from maxsieve.text.pages.page import PageDocument, PageFacts, facts_of
from maxsieve.text.pages.places import Word
from maxsieve.text.splitter import CountTokens, Sizes, split

LONGEST, OVERLAP = 256, 32
"""The most tokens of a passage, and how many of them repeat the passage before (docs/text.md says why)."""

ADDED = 8
"""How many special tokens an encoder may add to a text."""

ASSUMED = 512
"""The assumed token limit of an encoder that does not state one."""

WHOLE: tuple[Any, ...] = (1, 0, "", None, None, ())
"""What a record says about the place of a passage, if it says nothing."""

PAGE_END, LINE_END = "\f", "\n"

READ = 4096
"""Records checked at a time."""

_SUFFIX = re.compile(r"#([pi])(0|[1-9][0-9]{0,8})\Z")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LATER = re.compile(r"#[pi][1-9][0-9]{0,8}\Z")


class Passage(NamedTuple):
    """A part of a document, or the whole document.

    ``text`` is ``document[start : start + len(text)]``. ``number`` counts from 0, ``of`` is the number of passages.
    ``heading`` are the headings above its beginning, ``page`` and ``line`` those of its first word: empty or None if
    the document has none. ``sections`` are the sections that begin within it: where, and the headings above them.
    """

    text: str
    number: int = 0
    of: int = 1
    start: int = 0
    heading: str = ""
    page: int | None = None
    line: int | None = None
    sections: tuple[tuple[int, str], ...] = ()

    @property
    def pages(self) -> tuple[int, int] | None:
        """The first and the last of its pages."""
        return self._range(self.page, PAGE_END)

    @property
    def lines(self) -> tuple[int, int] | None:
        """The first and the last of its lines."""
        return self._range(self.line, LINE_END)

    @property
    def uniform(self) -> bool:
        """Whether all of it has the same heading, page and line."""
        return not self.sections and all(one is None or one[0] == one[1] for one in (self.pages, self.lines))

    def page_at(self, offset: int) -> int | None:
        """The page of a character of its text."""
        return self._at(self.page, PAGE_END, offset)

    def line_at(self, offset: int) -> int | None:
        """The line of a character of its text."""
        return self._at(self.line, LINE_END, offset)

    def heading_at(self, offset: int) -> str:
        """The headings above a character of its text."""
        above = [heading for start, heading in self.sections if start <= offset]
        return above[-1] if above else self.heading

    def _range(self, first: int | None, end: str) -> tuple[int, int] | None:
        return None if first is None else (first, first + self.text.strip().count(end))

    def _at(self, first: int | None, end: str, offset: int) -> int | None:
        before = len(self.text) - len(self.text.lstrip())  # ``first`` is that of the first word
        return None if first is None else first + self.text.count(end, before, max(before, offset))

    @property
    def encoded(self) -> str:
        """The text that is encoded. It includes the headings, because the passage may not repeat its subject."""
        return self.context + self.text

    @property
    def context(self) -> str:
        """The headings, which are put before the text when it is encoded."""
        return f"{self.heading}\n" if self.heading else ""


class Document(NamedTuple):
    """A text with its id and its metadata; its page if it is the text of one, its outline if its headings are known."""

    id: Id
    text: str
    metadata: Any
    page: PageDocument | None = None
    picture: str | None = None
    """The digest of the page's picture."""
    outline: Outline | None = None


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
        self.flat = Keys(passages=False) if passages else self
        """Keys for which each passage is a document of its own."""
        self._counts: WeakKeyDictionary[AnySnapshot, int] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {"passages": self.passages}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(passages=state["passages"])  # type: ignore[misc]

    @property
    def group_by(self) -> GroupBy | None:
        """The function by which an index with such keys groups its hits."""
        return self.document if self.passages else None

    def key(self, id: Id, number: int = 0) -> Id:
        """The key of a passage."""
        if not self.passages:
            return id
        if isinstance(id, int):
            return f"{id}#i{number}"
        return f"{id}#p{number}" if number or _SUFFIX.search(id) else id

    def document(self, key: Id) -> Id:
        """The id of the document that a key belongs to."""
        return self.parse(key)[0]

    def parse(self, key: Id) -> tuple[Id, int]:
        """The id of the document, and the number of the passage."""
        found = _SUFFIX.search(key) if self.passages and isinstance(key, str) else None
        if found is None:
            return key, 0
        id = found.string[: found.start()]
        if found[1] == "i":
            return (int(id), int(found[2])) if _INTEGER.fullmatch(id) else (key, 0)
        return id, int(found[2])

    def of(self, id: Id, snapshot: AnySnapshot) -> dict[Id, Any]:
        """All keys of a document that are there, and their places."""
        found: dict[Id, Any] = {}
        while more := snapshot.known([self.key(id, len(found))]):
            found.update(more)
            if not self.passages:
                break
        return found

    def of_all(self, ids: Iterable[Id], snapshot: AnySnapshot, what: str) -> list[Id]:
        """All keys of some documents; `KeyError` for one that is not there."""
        keys: list[Id] = []
        for id in ids:
            if not (found := self.of(id, snapshot)):
                raise KeyError(f"{what}: no document has the id {id!r}")
            keys += found
        return keys

    def count(self, snapshot: AnySnapshot) -> int:
        """How many documents a version of the index has."""
        if not self.passages:
            return snapshot.n_documents
        if snapshot not in self._counts:
            keys: list[Any] = snapshot.here.live_ids()
            later = list(filter(_LATER.search, keys)) if keys and isinstance(keys[0], str) else []
            alone = sum(1 for key in later if "#i" in key and not self.parse(key)[1])  # it only looks like a number
            self._counts[snapshot] = len(keys) - len(later) + alone
        return self._counts[snapshot]

    def firsts(self, keys: Iterable[Id]) -> Iterator[Id]:
        """The ids of the documents whose first passage is among the keys, in order."""
        for key in keys:
            id, number = self.parse(key)
            if not number:
                yield id


class Splitter:
    """Splits documents into passages, or leaves them whole."""

    def __init__(self, sizes: Sizes | None, count_tokens: CountTokens) -> None:
        self._sizes, self._count_tokens = sizes, count_tokens

    @property
    def cuts(self) -> bool:
        """Whether it splits long texts at all."""
        return self._sizes is not None

    def __call__(self, text: str, metadata: Any = None, outline: Outline | None = None) -> list[Passage]:
        """The passages of a text. A title in its metadata is put above all its headings."""
        if self._sizes is None:
            return [Passage(text)]
        title = metadata.get("title") if isinstance(metadata, dict) else None
        title = title.strip() if isinstance(title, str) else ""
        slices = split(text, self._sizes, self._count_tokens, title, outline or MARKDOWN)
        return [
            Passage(
                text[part.start : part.end],
                number,
                len(slices),
                part.start,
                part.heading,
                part.page,
                part.line,
                part.sections,
            )
            for number, part in enumerate(slices)
        ]


def to_record(passage: Passage, metadata: Any, page: PageFacts | None = None) -> dict[str, Any]:
    """What the index stores as a passage's metadata; ``page`` is the page that the passage belongs to."""
    record: dict[str, Any] = {"text": passage.text, "metadata": metadata}
    if page is not None:
        record["page"] = page.part(passage.start, passage.start + len(passage.text)).to_plain()
    place = [passage.of, passage.start, passage.heading, passage.page]
    if passage.line is not None or passage.sections:
        record["passage"] = [*place, passage.line, [list(section) for section in passage.sections]]
    elif passage.of > 1 or passage.page is not None:
        record["passage"] = place
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
    to_facts(record, key)
    match record.get("passage", [2, 0, "", None]):
        case [int(of), int(start), str(), None | int() as page] if of > (page is None) and start >= 0:
            return record
        case [int(of), int(start), str(), None | int(), None | int(), list(sections)] if of > 0 and start >= 0:
            if all(map(_is_section, sections)):
                return record
    raise DamagedIndexError(f"the record of the passage {key!r} does not say where it is in its document")


def to_facts(record: dict[str, Any], key: Id) -> PageFacts | None:
    """What a record says about its page; None if it is not the record of a page."""
    try:
        return facts_of(record["page"]) if "page" in record else None
    except ValueError as problem:
        raise DamagedIndexError(f"the page in the record of {key!r} is damaged: {problem}") from None


def _is_section(section: Any) -> bool:
    match section:
        case [int(), str()]:
            return True
    return False


def to_passage(record: dict[str, Any], number: int) -> Passage:
    """The passage of a checked record. Records of earlier versions have no line and no sections."""
    of, start, heading, page, line, sections = [*record.get("passage", WHOLE), *WHOLE[4:]][: len(WHOLE)]
    return Passage(record["text"], number, of, start, heading, page, line, tuple(map(tuple, sections)))


def join(passages: Sequence[Passage], id: Id) -> str:
    r"""The text of a document from all its passages.

    >>> join([Passage("One. Two. ", 0, 2, 0), Passage("Two. Three.", 1, 2, 5)], "it")
    'One. Two. Three.'
    """
    text = ""
    for number, passage in enumerate(passages):
        if (passage.number, passage.of) != (number, len(passages)) or passage.start > len(text):
            raise DamagedIndexError(f"a passage of the document {id!r} is missing")
        text += passage.text[len(text) - passage.start :]
    return text


def first_records(ids: Iterable[Id], keys: Keys, snapshot: AnySnapshot) -> dict[Id, dict[str, Any]]:
    """The record of the first passage of each document that is there."""
    first = {keys.key(id): id for id in ids}
    places = snapshot.known(list(first))
    records = zip(places, snapshot.metadata(list(places.values())), strict=True)
    return {first[key]: check_record(record, key) for key, record in records}


def read_document(id: Id, keys: Keys, snapshot: AnySnapshot) -> Document | None:
    """A document as it was added, or None if it is not there."""
    if not (places := keys.of(id, snapshot)):
        return None
    records = zip(places, snapshot.metadata(list(places.values())), strict=True)
    checked = {key: check_record(record, key) for key, record in records}
    passages = [to_passage(record, keys.parse(key)[1]) for key, record in checked.items()]
    return stored_document(id, join(passages, id), checked[keys.key(id)])


class PageRecord(NamedTuple):
    """The text of a page, and what its records say about it."""

    text: str
    facts: PageFacts | None


def read_page(id: Id, keys: Keys, snapshot: AnySnapshot) -> PageRecord | None:
    """A page with the words of all its passages, or None if there is no such document."""
    if not (places := keys.of(id, snapshot)):
        return None
    text, facts, words = "", None, dict[int, Word]()
    for key, record in zip(places, snapshot.metadata(list(places.values())), strict=True):
        passage = to_passage(check_record(record, key), keys.parse(key)[1])
        text += passage.text[len(text) - passage.start :]
        if (facts := to_facts(record, key)) is not None:
            moved = (Word(passage.start + start, passage.start + end, box) for start, end, box in facts.words)
            words.update((word.start, word) for word in moved)
    return PageRecord(text, facts and replace(facts, words=tuple(words[start] for start in sorted(words))))


def stored_document(id: Id, text: str, first: dict[str, Any]) -> Document:
    """A stored document, with the checked record of its first passage."""
    return Document(id, text, first["metadata"], picture=first["page"]["picture"] if "page" in first else None)


def read_records(
    snapshot: Snapshot, positions: Sequence[int], at_a_time: int = READ
) -> Iterator[tuple[Id, dict[str, Any]]]:
    """The key and the record of each of these passages. Not more than ``at_a_time`` are in memory."""
    for start in range(0, len(positions), at_a_time):
        some = list(positions[start : start + at_a_time])
        snapshot.check()
        for key, record in zip(snapshot.ids_at(some), snapshot.metadata(some), strict=True):
            yield key, check_record(record, key)


def verify_records(snapshot: Snapshot, keys: Keys) -> None:
    """Reads all records: `DamagedIndexError` for one that is none, or for a document that lacks a passage."""
    waiting: dict[Id, list[Passage]] = {}
    for key, record in read_records(snapshot, snapshot.live.tolist()):
        id, number = keys.parse(key)
        passage = to_passage(record, number)
        if keys.passages:
            waiting.setdefault(id, []).append(passage)
            if len(waiting[id]) == passage.of:
                join(sorted(waiting.pop(id), key=lambda passage: passage.number), id)
    for id in waiting:
        raise DamagedIndexError(f"a passage of the document {id!r} is missing")


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
    return Splitter(sizes, encoder.count_tokens if isinstance(encoder, Measuring) else guess_tokens)


def guess_tokens(texts: Sequence[str]) -> list[int]:
    """How many tokens texts may have, without an encoder that counts them."""
    return [len(text) // 3 + 1 for text in texts]
