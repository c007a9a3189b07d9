"""`maxsieve bench`: the policies side by side, on a collection or on structured random vectors."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich import box
from rich.table import Table

from maxsieve import Hits, Index, isa
from maxsieve.cli import options
from maxsieve.cli.console import Output, emit, say, shows_progress
from maxsieve.cli.opening import open_single
from maxsieve.common.progress import progress_bar
from maxsieve.policies import Bandit, Certified, Exhaustive, Policy
from maxsieve.structured import Structured

POLICIES: dict[str, Policy] = {"certified": Certified(), "bandit": Bandit(), "exhaustive": Exhaustive()}
QUERY_CHARACTERS = 150
"""How many characters of a document's text become a query: about 30 tokens."""


class Timing(NamedTuple):
    """One policy over all queries. Time: the median over queries of the fastest round. The other numbers are means."""

    policy: str
    milliseconds: float
    ns_per_token: float
    coverage: float
    rescored: float
    overlap: float
    guarantee: str


def register(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example:  maxsieve bench --documents 2000 --length 180 --dim 128")(bench)


def bench(
    collection: Annotated[
        Path | None,
        typer.Argument(metavar="COLLECTION", help="A collection's folder.", show_default="structured random vectors"),
    ] = None,
    encoder: options.EncoderName = None,
    k: options.K = 10,
    queries: Annotated[int, typer.Option(min=1, help="How many queries.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="How often each query is run; the fastest run counts.")] = 3,
    alpha: options.Alpha = None,
    threads: options.Threads = None,
    documents: Annotated[int, typer.Option(min=1, help="Random vectors: number of documents.")] = 1000,
    length: Annotated[int, typer.Option(min=2, help="Random vectors: mean tokens of a document.")] = 180,
    dim: Annotated[int, typer.Option(min=1, help="Random vectors: dimensions.")] = 128,
    tokens: Annotated[int, typer.Option(min=1, help="Random vectors: tokens of each query.")] = 32,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Time the policies against exhaustive scoring.

    The queries are the beginnings of documents of the collection, or random vectors near those of a document.
    """
    policies = {**POLICIES, "bandit": options.to_policy(options.PolicyName.BANDIT, alpha)}
    shown = shows_progress(progress)
    if collection is not None:
        with open_single(collection, encoder) as found:
            asked = _own_queries(found, queries)
            rows = measure(found.index, asked, policies, k, rounds, threads, progress=shown)
            _show(found.index, asked, rows, as_json=as_json)
        return
    corpus = Structured(documents, dim, length)
    index = Index.build(corpus.documents(), range(documents), progress=shown)
    asked = corpus.queries(queries, tokens)
    _show(index, asked, measure(index, asked, policies, k, rounds, threads, progress=shown), as_json=as_json)


def measure(
    index: Index,
    queries: Sequence[Any],
    policies: dict[str, Policy],
    k: int,
    rounds: int,
    threads: int | None,
    *,
    progress: bool = False,
) -> list[Timing]:
    """Runs every policy on every query. Policies take turns, so that noise on the machine affects all of them."""
    answers: dict[str, list[list[Hits]]] = {name: [] for name in policies}
    with progress_bar("measuring", len(queries), shown=progress, unit="queries") as advance:
        for query in queries:
            turns = [
                {name: index.search(query, k, policy=policy, threads=threads) for name, policy in policies.items()}
                for _ in range(rounds)
            ]
            for name in policies:
                answers[name].append([turn[name] for turn in turns])
            advance(1)
    truth = [turns[0] for turns in answers["exhaustive"]]
    return [_timing(name, turns, truth, index.tokens) for name, turns in answers.items()]


def _timing(name: str, answers: list[list[Hits]], truth: list[Hits], tokens: int) -> Timing:
    seconds = statistics.median(min(hits.report.seconds for hits in turns) for turns in answers)
    firsts = [turns[0] for turns in answers]
    overlaps = [len({*a.ids} & {*b.ids}) / max(1, len(b)) for a, b in zip(firsts, truth, strict=True)]
    guarantees = sorted({hits.report.guarantee for hits in firsts})
    return Timing(
        name,
        1e3 * seconds,
        1e9 * seconds / max(1, tokens),
        statistics.mean(hits.report.coverage for hits in firsts),
        statistics.mean(hits.report.rescored for hits in firsts),
        statistics.mean(overlaps),
        " or ".join(guarantees),
    )


def _own_queries(collection: Any, count: int) -> list[Any]:
    """The beginnings of documents spread over the collection, encoded as queries."""
    ids = collection.ids
    chosen = [ids[place * len(ids) // min(count, len(ids))] for place in range(min(count, len(ids)))]
    texts = [text for text in (collection.text(one)[:QUERY_CHARACTERS].strip() for one in chosen) if text]
    vectors = [rows for rows in collection.encoder.encode_queries(texts) if len(rows)]
    if not vectors:
        raise ValueError(f"{collection.path} has no text to make queries from")
    if len(vectors) < count:
        say(f"{len(vectors)} queries only: the collection has no more text")
    return vectors


def _show(index: Index, queries: Sequence[Any], rows: list[Timing], *, as_json: bool) -> None:
    mean_tokens = statistics.mean(map(len, queries))
    if as_json:
        shape = {"documents": len(index), "tokens": index.tokens, "dim": index.dim, "isa": isa()}
        asked = {"queries": len(queries), "query_tokens": mean_tokens}
        emit({**shape, **asked, "policies": [row._asdict() for row in rows]})
        return
    console = Output()
    console.print(
        f"{len(index):,} documents, {index.tokens:,} tokens, {index.dim} dimensions; {len(queries)} queries of "
        f"{mean_tokens:.0f} tokens; kernel {isa()}",
        soft_wrap=True,
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("policy")
    for heading in ("ms", "ns/token", "coverage", "rescored", "overlap"):
        table.add_column(heading, justify="right")
    table.add_column("guarantee")
    for row in rows:
        figures = f"{row.milliseconds:.2f}", f"{row.ns_per_token:.2f}", f"{row.coverage:.0%}", f"{row.rescored:,.1f}"
        table.add_row(row.policy, *figures, f"{row.overlap:.1%}", row.guarantee)
    console.print(table)
