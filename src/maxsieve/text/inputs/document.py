"""One document of an input: its id, its text, its other fields, and its place in the input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from maxsieve.errors import Argument, Hint, hinted
from maxsieve.text.inputs.outline import Heading, Outline
from maxsieve.text.pages.page import PageDocument

DEFAULT_IDS = ("_id", "id")
LISTED = 8
LARGEST_FILE = 1 << 26
"""Limit on the bytes of a file that is one document: it is read into memory."""

MOST_VALUES = 1 << 22
"""Limit on the values of a document, by its commas and brackets: a value of three bytes takes sixty in memory."""

TOO_MANY_VALUES = f"it has more than {MOST_VALUES:,} commas and brackets, or values"


class Place(NamedTuple):
    """A place in an input.

    >>> str(Place("corpus.jsonl", "line", 7))
    'corpus.jsonl, line 7'
    """

    source: str
    unit: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.source}, {self.unit} {self.number}" if self.unit else self.source


class InputDocument(NamedTuple):
    """A document as it was read. ``id`` is None if it has none, ``outline`` if its format says nothing of headings."""

    id: str | None
    text: str
    metadata: dict[str, Any] | None
    place: Place
    outline: Outline | None = None
    page: PageDocument | None = None
    """The page, if the document is one; ``text`` is then its text."""
    by_ocr: int = 0
    """How many pages of it were read by OCR."""

    @property
    def content(self) -> str | PageDocument:
        """What a collection takes: the page, or the text."""
        return self.page or self.text


NO_PAGE = "it has no pages, and the model of this collection encodes pages"


class FileText(NamedTuple):
    """The text of a file, its title or an empty string, and its headings."""

    text: str
    title: str = ""
    headings: Sequence[Heading] = ()
    by_ocr: int = 0
    """How many pages were read by OCR."""


class BadInput(ValueError):  # noqa: N818 - as the user meets it
    """A part of an input that can't be read, and why. Readers yield it and continue, so it can be skipped."""

    def __init__(self, place: Place, problem: str | ValueError) -> None:
        super().__init__(f"{place}: {problem}")
        self.place, self.problem = place, str(problem)
        self.hint: Hint | None = getattr(problem, "hint", None)


Found: TypeAlias = Iterator[InputDocument | BadInput]


@dataclass(frozen=True)
class Fields:
    """The names of the fields. ``keep`` lists the fields that become metadata; None means all other fields."""

    id: str | None = None
    text: str = "text"
    title: str = "title"
    keep: tuple[str, ...] | None = None

    def document(self, row: Mapping[str, Any], place: Place) -> InputDocument | BadInput:
        r"""The document in a row of fields. A title is put in front of the text, and stays in the metadata.

        >>> place = Place("it")
        >>> Fields().document({"id": 7, "title": "Seven", "text": "A number.", "odd": True}, place)[:3]
        ('7', 'Seven\nA number.', {'title': 'Seven', 'odd': True})
        >>> Fields().document({"id": 7, "body": "A number."}, place)
        BadInput("it: there is no field 'text' (but 'id', 'body'); give the field with the text by text=")
        """
        try:
            identity, id_field = self._id(row)
            text, title = self._text(row)
        except ValueError as problem:
            return BadInput(place, problem)
        others = [name for name in row if name not in (id_field, self.text)]
        if self.keep is not None:
            others = [name for name in others if name in self.keep]
        metadata = {name: row[name] for name in others if row[name] is not None}
        return InputDocument(identity, with_title(title, text), metadata or None, place)

    def _id(self, row: Mapping[str, Any]) -> tuple[str | None, str | None]:
        name = self.id or next((name for name in DEFAULT_IDS if name in row), None)
        if name is None:
            return None, None
        if name not in row:
            raise ValueError(f"there is no field {name!r} for the id ({_but(row)})")
        return to_identity(row[name], name), name

    def _text(self, row: Mapping[str, Any]) -> tuple[str, str]:
        if self.text not in row:
            wrong = ValueError(f"there is no field {self.text!r} ({_but(row)})")
            raise hinted(wrong, "; give the field with the text by {}", Argument("text"))
        title = row.get(self.title)
        return to_text(row[self.text], self.text), "" if title is None else to_text(title, self.title)


def to_identity(value: object, name: str) -> str:
    """An id as text, from text or a whole number; other types are refused.

    >>> to_identity(7, "_id"), to_identity("007", "_id")
    ('7', '007')
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"the id in {name!r} is {show(value)}; it must be text or a whole number")
    if value == "":
        raise ValueError(f"the id in {name!r} is empty")
    return _encodable(str(value), name)


def to_text(value: object, name: str) -> str:
    """A field that must be text; other types are refused."""
    if not isinstance(value, str):
        raise ValueError(f"the field {name!r} is {show(value)}; it must be text")
    return _encodable(value, name)


def with_title(title: str, text: str) -> str:
    r"""The text that is indexed: the title comes first, unless the text starts with it already.

    >>> with_title("A", "b"), with_title("A", "A\nb"), with_title("", "b")
    ('A\nb', 'A\nb', 'b')
    """
    title = title.strip()
    return text if not title or text.startswith(title) else f"{title}\n{text}"


def _encodable(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(
            f"the field {name!r} is not valid text: a lone surrogate at character {problem.start}"
        ) from None
    return text


def _but(row: Mapping[str, Any]) -> str:
    return f"but {list_names(list(row))}" if row else "nor any other"


def list_names(names: Sequence[str]) -> str:
    """The first names, for error messages: there may be millions.

    >>> list_names(["id", "body"]), list_names(list("abcdefghij"))
    ("'id', 'body'", "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 2 more")
    """
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(map(show, names[:LISTED])) + more


def show(value: Any) -> str:
    """A value for error messages, cut if it is long."""
    if value is None:
        return "null"
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"
