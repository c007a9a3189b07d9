"""What a search found, by lines: passages of files or other documents, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from maxsieve.ids import Id
from maxsieve.text.collection.hits import TextHit, TextHits
from maxsieve.text.collection.words import WordMatch
from maxsieve.text.passages import Keys, Passage, read_document


class LineHit(NamedTuple):
    """A passage of a document: its lines, counted from 1, the headings above it, and its score.

    ``id`` is the document's; that of a file is its path in the folder. ``text`` is what these lines contain.
    ``matches`` are its words that match words of the question.
    """

    id: Id
    first: int
    last: int
    heading: str
    score: float
    text: str
    matches: Sequence[WordMatch] = ()


class LineAnswer(NamedTuple):
    """The hits, best first, what the answer guarantees, and further remarks for the reader."""

    question: str
    hits: list[LineHit]
    guarantee: str
    remarks: list[str]
    indexed: bool
    files: int = 0
    """How many files were searched, or would be in an index."""

    def to_plain(self) -> dict[str, Any]:
        """The answer as JSON-compatible data."""
        hits = [{**hit._asdict(), "matches": [match._asdict() for match in hit.matches]} for hit in self.hits]
        return {**self._asdict(), "hits": hits}


def answer_by_lines(
    found: TextHits, keys: Keys, hits: Sequence[TextHit] | None = None, *, explain: bool = True
) -> list[LineHit]:
    """The hits of a collection, or some of them, with the lines of their passages."""
    hits = [found[rank] for rank in range(len(found))] if hits is None else hits
    texts: dict[Id, str] = {}
    for hit in hits:
        if hit.id not in texts:
            document = read_document(hit.id, keys, found.snapshot)
            texts[hit.id] = "" if document is None else document.text
    return [to_hit(hit.id, texts[hit.id], hit.passage, hit.score, hit.explain() if explain else ()) for hit in hits]


def to_hit(id: Id, document: str, passage: Passage, score: float, matches: Sequence[WordMatch] = ()) -> LineHit:
    r"""A hit from a passage of a document: whole lines, without blank lines at the ends.

    >>> document = "import os\n\n\n    def f():\n        pass\n\n"
    >>> to_hit("f.py", document, Passage("def f():\n        pass\n\n", 1, 2, 16, "f"), 2.5)[:6]
    ('f.py', 4, 5, 'f', 2.5, '    def f():\n        pass')
    """
    words = passage.text.strip()
    start = passage.start + passage.text.find(words)
    line = document.rfind("\n", 0, start) + 1
    indent = document[line:start] if document[line:start].isspace() else ""
    moved = [
        match.moved(passage.start + len(indent) - start)
        for match in matches
        if match.end > match.start
        and match.start + passage.start - start >= 0
        and match.end + passage.start - start <= len(words)
    ]
    first = document.count("\n", 0, start) + 1
    best = max(matches, key=lambda match: match.similarity).start if matches else 0
    heading = passage.heading or passage.heading_at(best)  # a file that is one passage has sections only
    return LineHit(id, first, first + words.count("\n"), heading, score, indent + words, moved)
