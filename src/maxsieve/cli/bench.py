"""`maxsieve bench`: the policies side by side, on a collection or on random vectors."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.table import Table

from maxsieve import Hits, Index, isa
from maxsieve.cli import options
from maxsieve.cli.collections import open_single
from maxsieve.cli.console import emit, say, shows_progress
from maxsieve.cli.policy_options import to_policy
from maxsieve.cli.terminal import Output
from maxsieve.common.progress import progress_bar
from maxsieve.policies import POLICIES, Policy
from maxsieve.storage.calibration import queries_needed

F32 = NDArray[np.float32]
QUERY_CHARACTERS = 150
"""How many characters of a document's text become a query: about 30 tokens."""
CENTRES = 2000
"""Random rows are in clusters, as those of real documents are: so many clusters."""
NOISE = 0.07
"""The standard deviation of a random row from the centre of its cluster, in each dimension."""


class Timing(NamedTuple):
    """One policy over all queries. Time: the median over queries of the fastest round. The other numbers are means."""

    policy: str
    milliseconds: float
    ns_per_token: float
    coverage: float
    rescored: float
    overlap: float
    guarantee: str


def bench(
    collection: Annotated[
        Path | None,
        typer.Argument(metavar="COLLECTION", help="A collection's folder.", show_default="random vectors"),
    ] = None,
    encoder: options.EncoderName = None,
    k: options.K = 10,
    queries: Annotated[int, typer.Option(min=1, help="How many queries.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="How often each query is run; the fastest run counts.")] = 3,
    alpha: Annotated[float | None, typer.Option(help="Bandit: scales the radius, in (0, 1].")] = None,
    overlap: Annotated[float | None, typer.Option(help="Calibrated: the share of hits to find, in (0, 1).")] = None,
    threads: options.Threads = None,
    documents: Annotated[int, typer.Option(min=1, help="Random vectors: number of documents.")] = 1000,
    length: Annotated[int, typer.Option(min=2, help="Random vectors: mean tokens of a document.")] = 180,
    dim: Annotated[int, typer.Option(min=1, help="Random vectors: dimensions.")] = 128,
    tokens: Annotated[int, typer.Option(min=1, help="Random vectors: tokens of each query.")] = 32,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """For experiments: time the policies against exhaustive scoring.

    The queries are the beginnings of documents of the collection, or random vectors near those of a document.
    """
    knobs: dict[str, Any] = {"alpha": alpha, "overlap": overlap}
    policies = {
        kind.name: to_policy(kind.name, {knob: knobs.get(knob) for knob in kind.parameter_names})
        for kind in POLICIES.values()
    }
    shown = shows_progress(progress)
    if collection is not None:
        with open_single(collection, encoder) as found:
            asked = _own_queries(found, queries)
            if not found.calibrated:
                del policies["calibrated"]
                say("calibrated is left out: this collection is not calibrated (maxsieve calibrate)")
            rows = measure(found.index, asked, policies, k, rounds, threads, progress=shown)
            _show(found.index, asked, rows, as_json=as_json)
        return
    stream = np.random.default_rng(0)
    index = Index.build(_random_documents(documents, dim, length, stream), range(documents), progress=shown)
    asked = [_random_query(index, tokens, stream) for _ in range(queries)]
    needed = queries_needed(policies["calibrated"].target)
    index.calibrate([_random_query(index, tokens, stream) for _ in range(needed)], k, progress=shown)
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
    texts = [text for text in (collection.text(doc_id)[:QUERY_CHARACTERS].strip() for doc_id in chosen) if text]
    vectors = [rows for rows in collection.encoder.encode_queries(texts) if len(rows)]
    if not vectors:
        raise ValueError(f"{collection.path} has no text to make queries from")
    if len(vectors) < count:
        say(f"{len(vectors)} queries only: the collection has no more text")
    return vectors


def _random_documents(count: int, dim: int, length: int, stream: np.random.Generator) -> Iterator[F32]:
    """Documents of `length` tokens on average: half as many to half as many more."""
    centres = stream.standard_normal((CENTRES, dim), np.float32) * np.geomspace(1, 0.1, dim, dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    for _ in range(count):
        tokens = stream.integers(length - length // 2, length + length // 2, endpoint=True)
        yield _near(centres[stream.integers(CENTRES, size=tokens)], stream)


def _random_query(index: Index, tokens: int, stream: np.random.Generator) -> F32:
    """Rows near those of one document."""
    rows = np.asarray(index.vectors(int(stream.integers(len(index)))), np.float32)
    return _near(rows[stream.choice(len(rows), tokens, replace=tokens > len(rows))], stream)


def _near(rows: F32, stream: np.random.Generator) -> F32:
    moved = rows + np.float32(NOISE) * stream.standard_normal(rows.shape, np.float32)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


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
