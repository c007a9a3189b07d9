"""Calibrates a collection at the end of `maxsieve index` and `maxsieve sync`, if that pays, and says what it bought."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve._core import Stop, StoppedError
from maxsieve.cli.console import print_line, say
from maxsieve.common.progress import duration
from maxsieve.options import SearchOptions
from maxsieve.text.collection.answers import basis
from maxsieve.text.collection.description import index_folder
from maxsieve.text.collection.fast_path import QUICK, FollowUp, Outlook

if TYPE_CHECKING:
    from maxsieve.text import Collection

Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate/--no-calibrate",
        help="Calibrate on sentences of the documents, so that searches need not look at most of them.",
        show_default=f"if an exact search takes more than about {QUICK:g} ms",
    ),
]

LEAST = 60.0
"""Calibrating may take so many seconds at the end of a command, or as long as the command took before."""

USUAL_K = 10


def make_fast(collection: Collection, wanted: bool | None, spent: float, *, progress: bool) -> dict[str, Any]:
    """Calibrates if it is wanted or, by counts, pays. Returns facts about it; none if it was not done.

    It is given up if it takes too long, unless it is wanted. The collection stays as it was, except for the steps of an
    update that were done.
    """
    snapshot, limit = collection.index.storage.snapshot, max(LEAST, spent)
    outlook, again = Outlook.of(snapshot), collection.calibrated
    in_shards = index_folder(collection.path) == collection.path
    by_itself = collection.index.recalibration_pays if again else outlook.pays and not in_shards
    if wanted is False or not (by_itself or (wanted and not again)):
        return {}
    later = f"`maxsieve calibrate {collection.path}` does it"
    if not wanted and not again and outlook.seconds > limit:
        say(f"searches stay exact: calibrating takes about {duration(outlook.seconds)}; {later}")
        return {}
    started = perf_counter()
    try:
        with _bounded(None if wanted else limit):
            if again:
                collection.recalibrate(progress=progress)
            else:
                collection.calibrate(progress=progress)
    except KeyboardInterrupt:
        kept = f"{collection.path} is valid and has {len(collection):,} documents"
        raise KeyboardInterrupt(f"calibrating was interrupted; {kept}: {later}") from None
    except StoppedError:
        say(f"calibrating took more than {duration(limit)} and was given up: {later}")
        return {}
    except ValueError:
        if wanted:
            raise
        return {}  # there are no sentences to calibrate on, which nobody asked for
    return {**use_of(collection), "seconds": round(perf_counter() - started, 3)}


def use_of(collection: Collection) -> dict[str, Any]:
    """What a calibrated collection is searched by, if no policy is given, and why."""
    snapshot = collection.index.storage.snapshot
    assert snapshot.calibration is not None
    found = FollowUp.find(SearchOptions(USUAL_K), snapshot, 1, collection.keys.group_by)
    what = "passages" if len(collection.index) > len(collection) else "documents"
    count = None if found is None else f"{found.passages:,} of {found.of:,} {what}"
    quick = Outlook.of(snapshot).milliseconds <= QUICK
    if found is None:
        said = "searches stay exact: there are too few queries or documents to promise 99 %"
    elif not found.is_few:
        said = f"searches stay exact: it bought nothing, because {count} would be followed up"
    elif quick:
        said = f"searches stay exact, because they are quick; --policy calibrated follows up {count}"
    else:
        said = f"searches follow up {count}; exact is --exact"
    return {
        "calibrated_on": basis(snapshot.calibration),
        "followed_up": None if found is None else found.passages,
        "used": found is not None and found.is_few and not quick,
        "said": said,
    }


def searches_text(collection: Collection) -> str:
    """How a collection is searched if no policy is given."""
    if collection.calibrated:
        return str(use_of(collection)["said"]).removeprefix("searches ")
    outlook = Outlook.of(collection.index.storage.snapshot)
    if not outlook.pays:
        return "exact"
    return f"exact, about {outlook.milliseconds:,.0f} ms in one thread; maxsieve calibrate makes them faster"


def report_fast(facts: dict[str, Any]) -> None:
    """Says in one line what was done, if anything was."""
    if facts:
        print_line(f"  calibrated on {facts['calibrated_on']} in {facts['seconds']:.1f} s: {facts['said']}")


@contextmanager
def _bounded(seconds: float | None) -> Iterator[None]:
    """Stops the engine after some time."""
    if seconds is None:
        yield
        return
    stop = Stop()
    timer = threading.Timer(seconds, stop.request)
    timer.daemon = True
    timer.start()
    try:
        with stop:
            yield
    finally:
        timer.cancel()
