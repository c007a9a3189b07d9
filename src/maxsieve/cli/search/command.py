"""`maxsieve search`: one query, many, or a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sized
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from maxsieve.cli import options
from maxsieve.cli.console import Output, say, shows_progress
from maxsieve.cli.opening import open_collection
from maxsieve.cli.search.answering import Searcher, Sink, to_json, to_reader, to_run_file
from maxsieve.cli.search.queries import Query, read_queries
from maxsieve.cli.show import show_answer
from maxsieve.common.progress import progress_bar
from maxsieve.text.inputs.source import STDIN, opened

BATCH = 64
"""Queries of a file that are encoded and searched at a time."""


def search(
    collection: options.CollectionPath,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="What to search for.", show_default="asked for, or standard input"),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Queries: one a line, id<TAB>text, or JSON Lines; - for standard input."),
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answers to a TREC run file.")] = None,
    k: options.K = 10,
    policy: options.PolicyOption = options.PolicyName.CERTIFIED,
    alpha: options.Alpha = None,
    delta: options.Delta = None,
    radius: options.Radius = None,
    seed: options.Seed = None,
    first_stage: options.FirstStage = None,
    depth: options.Depth = None,
    threads: options.Threads = None,
    explain: Annotated[bool, typer.Option("--explain", help="With --json: the matched words of each hit.")] = False,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Search a collection.

    Without a query it asks for one after another on a terminal, and reads them from standard input otherwise.
    """
    if query and queries:
        raise typer.BadParameter("give a query or --queries, not both")
    if query and not " ".join(query).strip():
        raise typer.BadParameter("the query is empty")
    if depth is not None and first_stage is None:
        raise typer.BadParameter("--depth belongs to --first-stage")
    if explain and not as_json:
        raise typer.BadParameter("--explain belongs to --json; otherwise matches are marked in the text")
    chosen = options.to_policy(policy, alpha, delta, radius, seed)
    stage = first_stage.value if first_stage else None
    with open_collection(collection) as found:
        searcher = Searcher(found, k, chosen, stage, depth or options.DEFAULT_DEPTH, threads)
        single = bool(query)
        if not (query or queries or run or as_json) and sys.stdin.isatty() and sys.stdout.isatty():
            from maxsieve.cli.search.interactive import Conversation

            Conversation(Output(), searcher.one, k, partial(show_answer, policy=chosen, first_stage=stage)).run()
            return
        sink = to_json(explain=explain, with_id=not single) if as_json else to_reader(searcher, named=not single)
        if query:
            _answer([Query("1", " ".join(query))], searcher, sink, run, progress=False, as_json=as_json)
            return
        name = queries or STDIN
        with opened(name) as lines:
            asked: Iterable[Query] = read_queries(lines, "standard input" if name == STDIN else name)
            if name != STDIN or run:
                asked = list(asked)  # a bad line shows before the first search
            _answer(asked, searcher, sink, run, progress=shows_progress(progress), as_json=as_json)


def _answer(
    queries: Iterable[Query], searcher: Searcher, sink: Sink, run: Path | None, *, progress: bool, as_json: bool
) -> None:
    """Answers queries to the sink, or to a run file (then to the sink only if it is JSON)."""
    if run is None:
        batch = BATCH if isinstance(queries, Sized) else 1  # who types or pipes queries waits for each answer
        for query, hits in searcher.all(queries, batch):
            sink(query, hits)
        return
    count = 0
    total = len(queries) if isinstance(queries, Sized) else None
    with to_run_file(run) as write, progress_bar("searching", total, shown=progress) as advance:
        for query, hits in searcher.all(queries, BATCH):
            write(query, hits)
            if as_json:
                sink(query, hits)
            count += 1
            advance(1)
    say(f"{count:,} {'query' if count == 1 else 'queries'} answered, written to {run}")
