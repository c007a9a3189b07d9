"""Queries through a collection, and their answers to wherever they go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.text import Text

from maxsieve.cli.console import Output, emit
from maxsieve.cli.search.queries import Query
from maxsieve.cli.show import show_answer, to_plain
from maxsieve.common.printable import printable
from maxsieve.policies import Policy
from maxsieve.text.trec import run_file

if TYPE_CHECKING:
    from maxsieve.text import Collection, TextHits

Sink: TypeAlias = "Callable[[Query, TextHits], None]"

PROMPT = "> "


@dataclass(frozen=True)
class Searcher:
    """A collection with the options of the command."""

    collection: Collection
    k: int
    policy: Policy
    first_stage: str | None
    depth: int
    threads: int | None

    def one(self, text: str, k: int | None = None) -> TextHits:
        """The hits for a text."""
        return self.collection.search(text, k or self.k, **self._options)

    def all(self, queries: Iterable[Query], batch: int) -> Iterator[tuple[Query, TextHits]]:
        """Every query with its hits; ``batch`` of them are encoded and searched at a time."""
        iterator = iter(queries)
        while some := list(islice(iterator, batch)):
            answers = self.collection.search_many([query.text for query in some], self.k, **self._options)
            yield from zip(some, answers, strict=True)

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "threads": self.threads,
            "first_stage": self.first_stage,
            "depth": self.depth,
        }


@contextmanager
def to_run_file(path: Path) -> Iterator[Sink]:
    """Answers become lines of a TREC run file."""
    with run_file(path) as write:
        yield lambda query, hits: write(query.id, hits.ids, hits.scores.tolist())


def to_json(*, explain: bool, with_id: bool) -> Sink:
    """Answers become lines of JSON."""

    def sink(query: Query, hits: TextHits) -> None:
        emit({**({"id": query.id} if with_id else {}), **to_plain(hits, explain=explain)})

    return sink


def to_reader(searcher: Searcher, *, named: bool) -> Sink:
    """Answers are shown; ``named``: under their queries, with a line between."""
    console = Output()
    shown = False

    def sink(query: Query, hits: TextHits) -> None:
        nonlocal shown
        if named:
            if shown:
                console.print()
            console.print(Text(f"{PROMPT}{printable(query.text)}", "bold"), soft_wrap=True)
        shown = True
        show_answer(console, hits, policy=searcher.policy, first_stage=searcher.first_stage)

    return sink
