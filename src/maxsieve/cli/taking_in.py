"""Documents from an intake into a collection, so that it can be interrupted and gone on with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, tee
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from maxsieve.cli.console import emit, say, shows_progress
from maxsieve.cli.opening import describe_size, id_reader
from maxsieve.text.inputs import Intake, Record

if TYPE_CHECKING:
    from maxsieve.text import Collection


def take_in(
    collection: Callable[[], Collection],
    path: Path,
    intake: Intake,
    *,
    replace: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Adds all documents of the intake; the collection is made only when the first of them has proved readable."""
    started = perf_counter()
    records = iter(intake)
    first = next(records, None)
    with collection() as target:
        try:
            columns = _columns(chain([first] if first else [], records), intake, target)
            added = target.add(**columns, replace=replace, progress=shows_progress(progress))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {path} is valid and has {len(target):,} documents: the same command goes on from there"
            ) from None
        except ValueError as problem:
            raise ValueError(str(problem).replace("replace=True", "--replace")) from problem
        added = added._replace(skipped=added.skipped + intake.repeated)
        seconds = perf_counter() - started
        if intake.bad:
            say(f"skipped {intake.bad:,} that are no documents; the first: {intake.first_bad}")
        if as_json:
            counts = {**added._asdict(), "bad": intake.bad, "documents": len(target), "tokens": target.index.tokens}
            emit({"collection": str(path), **counts, "seconds": round(seconds, 3)})
        else:
            parts = [f"{count:,} {what}" for what, count in added._asdict().items() if count or what == "added"]
            print(f"{path}: {', '.join(parts)} in {seconds:.1f} s; {describe_size(target)}")


class _Expected:
    """A column that says how long it will be, for the progress bar."""

    def __init__(self, column: Iterable[str], length: int) -> None:
        self._column, self._length = column, length

    def __iter__(self) -> Iterator[str]:
        return iter(self._column)

    def __len__(self) -> int:
        return self._length


def _columns(records: Iterable[Record], intake: Intake, collection: Collection) -> dict[str, Any]:
    """Texts, ids and metadata side by side, read as they are needed."""
    texts, ids, metadata = tee(records, 3)
    to_id = id_reader(collection)
    column: Iterable[str] = (record.text for record in texts)
    expected = intake.count()
    return {
        "texts": column if expected is None else _Expected(column, expected),
        "ids": (to_id(record.id or "") for record in ids) if intake.has_ids else None,
        "metadata": (record.metadata for record in metadata),
    }
