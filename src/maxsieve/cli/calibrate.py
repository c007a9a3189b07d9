"""`maxsieve calibrate`: prepares a collection for `search --policy calibrated`."""

from __future__ import annotations

import json
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from maxsieve.cli import options
from maxsieve.cli.answers import milliseconds
from maxsieve.cli.collections import open_collection
from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.fast_path import use_of
from maxsieve.cli.queries import read_queries
from maxsieve.cli.remembered import encoder_for
from maxsieve.common.progress import duration
from maxsieve.index import Index
from maxsieve.policies import CERTIFIED, Calibrated, Policy
from maxsieve.storage.calibration import most_overlap, queries_needed
from maxsieve.text.collection.answers import basis
from maxsieve.text.collection.search import on_metadata
from maxsieve.text.collection.sentences import OWN_SENTENCES
from maxsieve.text.inputs.reading import STDIN, opened

if TYPE_CHECKING:
    from maxsieve.storage.calibration import Calibration
    from maxsieve.text import Collection

TARGETS = ("0.99", "0.95", "0.9")
"""Overlaps for which the report says how many documents must be followed up."""

SHOWN_K = 10
DEFAULT_K = 100

TRIED_TOKENS = 20_000
"""The time of training is measured with so many tokens, and is proportional to their number."""

WORTH_SAYING = 2.0
"""Nobody needs to be told about fewer seconds."""

TIMED = 20
"""How many of the queries are searched to say what the calibration has gained."""


def calibrate(
    collection: options.CollectionPath,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Typical queries: one per line, id<TAB>text, or JSON Lines; - for standard input.",
            show_default="sentences from the documents",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", min=1, help="The largest k to calibrate for.", show_default=str(DEFAULT_K)),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help='For searches with this filter only, as in {"year": {"gte": 2020}}.',
            show_default="for searches without a filter",
        ),
    ] = None,
    from_log: Annotated[
        bool, typer.Option("--from-log", help="Use the queries that maxsieve serve --log-queries has kept.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Bring all calibrations up to date, with their own queries.")
    ] = False,
    encoder: options.EncoderName = None,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Prepare a collection for search --policy calibrated.

    Measures on queries how many documents must be followed up. An overlap of 0.99 needs 99 queries, 0.95 needs 19.
    """
    if again and (queries or from_log or k or where):
        raise typer.BadParameter(
            "--again uses the queries, k and filters of the last calibrations: leave out all of these options"
        )
    if queries and from_log:
        raise typer.BadParameter("give --queries or --from-log, not both")
    condition = options.to_filter(where)
    with open_collection(collection, encoder_for(collection, encoder)) as found:
        texts = _logged(found) if from_log else None if queries is None else _texts(queries)
        if again:
            options.check_calibrated(found, filtered=True)
        expected = forecast(found, len(texts) if texts else OWN_SENTENCES, k or DEFAULT_K)
        if expected.seconds >= WORTH_SAYING and not as_json:
            say(f"calibrating takes about {duration(expected.seconds)}: {expected.work}")
        started = perf_counter()
        if again:
            found.recalibrate(progress=shows_progress(progress))
        else:
            found.calibrate(texts, k or DEFAULT_K, where=condition, progress=shows_progress(progress))
        seconds = perf_counter() - started
        for one in found.index.storage.snapshot.calibrations:
            if again or one.where == on_metadata(condition):
                _report(found, one, str(collection), seconds, as_json=as_json)


class Forecast(NamedTuple):
    """How long a calibration will take, and what it does."""

    seconds: float
    work: str


def forecast(collection: Collection, queries: int, k: int) -> Forecast:
    """How long a calibration will take: each query is searched exactly; without a codebook, one is trained first."""
    index = collection.index
    parts, seconds = [f"{queries:,} exact searches"], 0.0
    if index.tokens:
        rows = _some_rows(collection, TRIED_TOKENS)
        index.search(rows[0][:32], k)
        started = perf_counter()
        index.search(rows[0][:32], k)
        seconds = queries * (perf_counter() - started)
        if index.storage.snapshot.codebook is None:
            parts.append(f"a codebook for {index.tokens:,} tokens")
            small = Index.build(rows)
            started = perf_counter()
            small.train_codebook()
            seconds += (perf_counter() - started) * index.tokens / small.tokens
    return Forecast(seconds, " and ".join(parts))


def _some_rows(collection: Collection, tokens: int) -> list[NDArray[np.float32]]:
    """The vectors of some passages, with so many tokens if there are as many."""
    rows: list[NDArray[np.float32]] = []
    for id in collection.index.ids:
        own = collection.index.vectors(id).astype(np.float32)
        rows += [own] if len(own) else []
        tokens -= len(own)
        if tokens <= 0:
            break
    return rows


def seconds_of(collection: Collection, calibration: Calibration, policy: Policy, k: int) -> float:
    """The median time of a search, for some queries of the calibration."""
    index = collection.index
    queries = [index.storage.layout.to_given(query) for query in calibration.queries[:TIMED]]
    index.search(queries[0], k, policy=policy, where=calibration.where)
    times = []
    for query in queries:
        started = perf_counter()
        index.search(query, k, policy=policy, where=calibration.where)
        times.append(perf_counter() - started)
    return float(np.median(times))


def _texts(name: str) -> list[str]:
    source = "standard input" if name == STDIN else name
    with opened(name) as lines:
        texts = [query.text for query in read_queries(lines, source)]
    if not texts:
        raise ValueError(f"there is no query in {source}")
    return texts


def _logged(collection: Collection) -> list[str]:
    if not (texts := collection.logged_queries):
        raise ValueError(f"{collection.path} has no log of queries: maxsieve serve --log-queries keeps one")
    return texts


def _report(collection: Collection, calibration: Calibration, name: str, seconds: float, *, as_json: bool) -> None:
    book, where = collection.index.storage.snapshot.codebook, calibration.where
    if book is None:
        raise AssertionError("it was calibrated")
    k = min(SHOWN_K, calibration.k)
    needs = {target: _survivors(calibration, k, target) for target in TARGETS}
    if as_json:
        emit(
            {
                "collection": name,
                **({} if where is None else {"where": where.given}),
                "calibrated_on": calibration.origin,
                "queries": calibration.n_queries,
                "k": calibration.k,
                "centroids": book.centroids,
                "survivors": {"k": k, **needs},
                "seconds": round(seconds, 3),
            }
        )
        return
    whom = "" if where is None else f" with the filter {json.dumps(where.given)}"
    print_line(
        f"{name}: calibrated on {basis(calibration)}{whom} for k up to {calibration.k:,} in {seconds:.1f} s; codebook: "
        f"{book.centroids:,} centroids"
    )
    what = "passages" if len(collection.index) > len(collection) else "documents"
    for target, survivors in needs.items():
        print_line(f"  --overlap {target}: {_said(calibration, k, target, survivors, what)}")
    overlap = min(0.99, most_overlap(calibration.n_queries))
    exact, calibrated = (seconds_of(collection, calibration, policy, k) for policy in (CERTIFIED, Calibrated(overlap)))
    faster = f"{exact / calibrated:.1f} times as fast" if exact > calibrated else "not faster: too few documents"
    print_line(
        f"  a search for {k} takes {milliseconds(calibrated)} with --overlap {overlap:g}, "
        f"{milliseconds(exact)} without: {faster}"
    )
    if where is None:
        print_line(f"  {use_of(collection)['said']}")


def _survivors(calibration: Calibration, k: int, target: str) -> int | None:
    """How many documents, or passages of them, are followed up; None if there are too few queries to say."""
    overlap, kind = Fraction(target), [*calibration.hits][-1]
    if not calibration.enough_for(overlap):
        return None
    return min(max(k, calibration.depth(k, overlap, kind=kind)), calibration.documents)


def _said(calibration: Calibration, k: int, target: str, survivors: int | None, what: str) -> str:
    if survivors is not None:
        return f"{survivors:,} of {calibration.documents:,} {what} are followed up for a top {k}"
    needed = queries_needed(Fraction(target))
    return f"needs {needed} queries, {needed - calibration.n_queries} more than there are"
