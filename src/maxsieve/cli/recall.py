"""`maxsieve recall`: how much of the exact answer another engine finds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxsieve.cli import options
from maxsieve.cli.collections import open_collection
from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.queries import read_queries
from maxsieve.cli.remembered import encoder_for
from maxsieve.common.progress import progress_bar
from maxsieve.options import SearchOptions
from maxsieve.policies import CERTIFIED
from maxsieve.text.inputs.reading import opened
from maxsieve.text.trec import read_run

BATCH = 64


def recall(
    collection: options.CollectionPath,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A TREC run file of any engine, with the ids of the collection.")
    ],
    queries: Annotated[
        str, typer.Option(metavar="FILE", help="The queries of the run: id<TAB>text, or JSON Lines with ids.")
    ],
    k: options.KOfUnits = 10,
    by: options.By = options.UnitName.DOCUMENT,
    encoder: options.EncoderName = None,
    threads: options.Threads = None,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare a run with exhaustive scoring: the share of the true top k that another engine found.

    The scores are those of the collection's vectors, so the collection must have the documents and the model of that
    engine. The exact answer is proven, so what is missing was lost by the engine. An id that the collection does not
    have counts as wrong.
    """
    from maxsieve.lab.metrics.confidence import mean

    with opened(queries) as lines:
        asked = {query.id: query.text for query in read_queries(lines, queries)}
    with opened(run) as lines:
        answered = read_run(lines, run)
    if unknown := [query for query in answered if query not in asked]:
        raise ValueError(f"{run} has the query {unknown[0]!r}, which {queries} does not have")
    if not asked:
        raise ValueError(f"there is no query in {queries}")
    if missing := len(asked) - len(answered):
        say(f"{run} has no answer for {missing:,} of {len(asked):,} queries: they count as an overlap of 0")
    wanted = SearchOptions(k, CERTIFIED, by=by.value, threads=threads)
    overlaps: dict[str, float] = {}
    with (
        open_collection(collection, encoder_for(collection, encoder)) as found,
        progress_bar("searching", len(asked), shown=shows_progress(progress), unit="queries") as advance,
    ):
        names = list(asked)
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            for query, hits in zip(some, found.answer([asked[name] for name in some], wanted), strict=True):
                if hits.report.guarantee != "exact":
                    raise ValueError(f"the answer to the query {query!r} is not exact: {hits.report.guarantee}")
                exact = [str(id) for id in (hits.ids if by is options.UnitName.DOCUMENT else hits.passage_ids)]
                overlaps[query] = len(set(exact) & set(answered.get(query, [])[:k])) / max(1, len(exact))
            advance(len(some))
    average = mean(overlaps)
    whole = sum(overlap == 1 for overlap in overlaps.values())
    facts: dict[str, Any] = {
        "run": run,
        "k": k,
        "queries": len(overlaps),
        "overlap": average.value,
        "low": average.low,
        "high": average.high,
        "all_found": whole,
    }
    if as_json:
        emit({**facts, "overlaps": overlaps})
        return
    print_line(
        f"{Path(run).name}: {average.value:.4f} of the exact top {k} on average "
        f"(95 % interval {average.low:.4f} to {average.high:.4f}, {len(overlaps):,} queries); "
        f"all of it for {whole:,} queries"
    )
