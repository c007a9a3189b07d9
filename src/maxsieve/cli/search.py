"""`maxsieve search`: one query, many queries, or an interactive session."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich.text import Text

from maxsieve.cli import options
from maxsieve.cli.answers import show_answer
from maxsieve.cli.collections import ClusterOptions, cluster_options, open_collection
from maxsieve.cli.console import emit, say, shows_progress
from maxsieve.cli.interactive import PROMPT
from maxsieve.cli.policy_options import with_policy
from maxsieve.cli.queries import Query, read_queries
from maxsieve.cli.remembered import encoder_for
from maxsieve.cli.terminal import Output
from maxsieve.common.printable import printable
from maxsieve.common.progress import progress_bar
from maxsieve.options import SearchOptions
from maxsieve.policies import Calibrated, Policy
from maxsieve.text.collection.answers import to_plain
from maxsieve.text.encoders.truncation_warning import naming_texts
from maxsieve.text.inputs.reading import STDIN, opened
from maxsieve.text.trec import run_file

if TYPE_CHECKING:
    from maxsieve.text import Collection, TextHits

Sink: TypeAlias = "Callable[[Query, TextHits], None]"

BATCH = 64
"""Queries of a file are encoded and searched in batches of this size."""


@with_policy
def search(
    collection: options.CollectionPath,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="What to search for.", show_default="prompt, or standard input"),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Queries: one per line, id<TAB>text, or JSON Lines; - for standard input."),
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answers to a TREC run file.")] = None,
    encoder: options.EncoderName = None,
    k: options.KOfUnits = 10,
    by: options.By = options.UnitName.DOCUMENT,
    per_document: options.PerDocument = 1,
    policy: Policy | None = None,
    first_stage: options.FirstStage = None,
    depth: options.Depth = None,
    hybrid: options.HybridOption = None,
    where: options.WhereOption = None,
    threads: options.Threads = None,
    explain: Annotated[bool, typer.Option("--explain", help="With --json: add the matched words of each hit.")] = False,
    save_pages: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the pages that were found there, as PNG, with the matches drawn."),
    ] = None,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Search a collection.

    Without a query it prompts for queries on a terminal; otherwise it reads them from standard input.
    """
    if query and queries:
        raise typer.BadParameter("give a query or --queries, not both")
    if query and not " ".join(query).strip():
        raise typer.BadParameter("the query is empty")
    fusion = options.to_hybrid(hybrid)
    if fusion is not None and first_stage is not None:
        raise typer.BadParameter("give --hybrid or --first-stage, not both")
    if depth is not None and first_stage is None and fusion is None:
        raise typer.BadParameter("--depth works only with --first-stage or --hybrid")
    if explain and not as_json:
        raise typer.BadParameter("--explain works only with --json; without it, matches are marked in the text")
    if per_document > 1 and by is options.UnitName.PASSAGE:
        raise typer.BadParameter("give --per-document or --by passage, not both")
    condition = options.to_filter(where)
    with open_collection(collection, encoder_for(collection, encoder)) as found:
        if isinstance(policy, Calibrated):
            policy = options.promised(found, policy, condition)
        asked_for = SearchOptions(
            k,
            policy,
            by=by.value,
            per_document=per_document,
            first_stage="bm25" if first_stage else None,
            depth=depth or options.DEFAULT_DEPTH,
            hybrid=fusion,
            where=condition,
            threads=threads,
            **(cluster_options() or ClusterOptions()).searching,
        )
        searcher = TextSearcher(found, asked_for)
        single = bool(query)
        if not (query or queries or run or as_json or save_pages) and sys.stdin.isatty() and sys.stdout.isatty():
            from maxsieve.cli.interactive import Conversation

            Conversation(Output(), searcher.answer, k, condition, partial(show_answer, policy=policy)).run()
            return
        sink = to_json(explain=explain, with_id=not single) if as_json else to_reader(searcher, named=not single)
        if save_pages is not None:
            sink = saving_pages(save_pages, sink)
        if query:
            _answer([Query("1", " ".join(query))], searcher, sink, run, progress=False, as_json=as_json)
            return
        name = queries or STDIN
        with opened(name) as lines:
            asked: Iterable[Query] = read_queries(lines, "standard input" if name == STDIN else name)
            if name != STDIN or run:
                asked = list(asked)  # so that a bad line is reported before the first search
            _answer(asked, searcher, sink, run, progress=shows_progress(progress), as_json=as_json)


def _answer(
    queries: Iterable[Query], searcher: TextSearcher, sink: Sink, run: Path | None, *, progress: bool, as_json: bool
) -> None:
    """Sends answers to the sink, or to a run file (and then to the sink only if it is JSON)."""
    if run is None:
        batch = BATCH if isinstance(queries, Sized) else 1  # someone who types or pipes queries waits for each answer
        for query, hits in searcher.all(queries, batch):
            sink(query, hits)
        return
    count = 0
    total = len(queries) if isinstance(queries, Sized) else None
    with to_run_file(run) as write, progress_bar("searching", total, shown=progress, unit="queries") as advance:
        for query, hits in searcher.all(queries, BATCH):
            write(query, hits)
            if as_json:
                sink(query, hits)
            count += 1
            advance(1)
    say(f"{count:,} {'query' if count == 1 else 'queries'} answered, written to {run}")


@dataclass(frozen=True)
class TextSearcher:
    """A collection with the options of the command."""

    collection: Collection
    options: SearchOptions

    def answer(self, text: str, k: int, where: Any) -> TextHits:
        """The hits for a text in the newest version of the collection: other processes may have changed it."""
        self.collection.refresh()
        return self.collection.answer([text], replace(self.options, k=k, where=where))[0]

    def all(self, queries: Iterable[Query], batch: int) -> Iterator[tuple[Query, TextHits]]:
        """Every query with its hits; ``batch`` of them are encoded and searched at a time.

        With a batch of 1, each query searches the newest version of the collection. Otherwise all use the same version.
        """
        iterator = iter(queries)
        while some := list(islice(iterator, batch)):
            if batch == 1:
                self.collection.refresh()
            with naming_texts({query.text: query.id for query in some}):
                answers = self.collection.answer([query.text for query in some], self.options)
            yield from zip(some, answers, strict=True)


@contextmanager
def to_run_file(path: Path) -> Iterator[Sink]:
    """Answers become lines of a TREC run file, which names documents or passages."""
    with run_file(path) as write:
        yield lambda query, hits: write(
            query.id, hits.ids if hits.by == "document" else hits.passage_ids, hits.scores.tolist()
        )


def to_json(*, explain: bool, with_id: bool) -> Sink:
    """Answers become lines of JSON."""

    def sink(query: Query, hits: TextHits) -> None:
        emit({**({"id": query.id} if with_id else {}), **to_plain(hits, explain=explain)})

    return sink


def saving_pages(folder: Path, sink: Sink) -> Sink:
    """The sink, which also writes the pages among the hits: ``QUERY-RANK-NAME.png``."""
    folder.mkdir(parents=True, exist_ok=True)

    def saving(query: Query, hits: TextHits) -> None:
        sink(query, hits)
        saved = 0
        for rank, page in enumerate(hits.pages):
            if page is not None:
                name = re.sub(r"[^\w.=-]+", "_", f"{query.id}-{rank + 1}-{hits.ids[rank]}")[:150]
                hits.picture(rank).save(folder / f"{name}.png")
                saved += 1
        say(f"{saved} {'page' if saved == 1 else 'pages'} with the matches drawn: {folder}")

    return saving


def to_reader(searcher: TextSearcher, *, named: bool) -> Sink:
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
        show_answer(console, hits, policy=searcher.options.policy)

    return sink
