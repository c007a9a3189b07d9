"""`maxsieve calibrate`: prepares a collection for `search --policy calibrated`."""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from maxsieve.cli import options
from maxsieve.cli.collections import open_collection
from maxsieve.cli.console import emit, print_line, shows_progress
from maxsieve.cli.queries import read_queries
from maxsieve.storage.calibration import queries_needed
from maxsieve.text.collection.answers import basis
from maxsieve.text.inputs.reading import STDIN, opened

if TYPE_CHECKING:
    from maxsieve.storage.calibration import Calibration
    from maxsieve.text import Collection

TARGETS = ("0.99", "0.95", "0.9")
"""Overlaps for which the report says how many documents must be followed up."""

SHOWN_K = 10
DEFAULT_K = 100


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
    again: Annotated[bool, typer.Option("--again", help="Use the queries of the last calibration.")] = False,
    encoder: options.EncoderName = None,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Prepare a collection for search --policy calibrated.

    Measures on queries how many documents must be followed up. An overlap of 0.99 needs 99 queries, 0.95 needs 19.
    """
    if again and (queries or k):
        raise typer.BadParameter(
            "--again uses the queries and the k of the last calibration: leave out --queries and --k"
        )
    with open_collection(collection, encoder) as found:
        texts = None if queries is None else _texts(queries)
        started = perf_counter()
        if again:
            options.check_calibrated(found)
            found.recalibrate(progress=shows_progress(progress))
        else:
            found.calibrate(texts, k or DEFAULT_K, progress=shows_progress(progress))
        _report(found, str(collection), perf_counter() - started, as_json=as_json)


def _texts(name: str) -> list[str]:
    source = "standard input" if name == STDIN else name
    with opened(name) as lines:
        texts = [query.text for query in read_queries(lines, source)]
    if not texts:
        raise ValueError(f"there is no query in {source}")
    return texts


def _report(collection: Collection, name: str, seconds: float, *, as_json: bool) -> None:
    state = collection.index.storage.snapshot
    calibration, book = state.calibration, state.codebook
    if calibration is None or book is None:
        raise AssertionError("it was calibrated")
    k = min(SHOWN_K, calibration.k)
    needs = {target: _survivors(calibration, k, target) for target in TARGETS}
    if as_json:
        emit(
            {
                "collection": name,
                "calibrated_on": calibration.origin,
                "queries": calibration.n_queries,
                "k": calibration.k,
                "centroids": book.centroids,
                "survivors": {"k": k, **needs},
                "seconds": round(seconds, 3),
            }
        )
        return
    print_line(
        f"{name}: calibrated on {basis(calibration)} for k up to {calibration.k:,} in {seconds:.1f} s; codebook: "
        f"{book.centroids:,} centroids"
    )
    what = "passages" if len(collection.index) > len(collection) else "documents"
    for target, survivors in needs.items():
        print_line(f"  --overlap {target}: {_said(calibration, k, target, survivors, what)}")


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
