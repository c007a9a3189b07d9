"""`maxsieve delete`, `info`, `verify` and `compact`."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.collections import bytes_text, id_reader, open_collection
from maxsieve.cli.console import emit, print_answer, print_line, shows_progress
from maxsieve.cli.fast_path import searches_text
from maxsieve.cli.options import AsJson, CollectionPath, Progress
from maxsieve.storage.codebook import DRIFTED
from maxsieve.text.collection.answers import basis, changes_text
from maxsieve.text.collection.disk_usage import PARTS
from maxsieve.text.inputs.lines import decoded, numbered
from maxsieve.text.inputs.reading import STDIN, opened

if TYPE_CHECKING:
    from maxsieve.storage.calibration import Calibration


def delete(
    collection: CollectionPath,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids to delete; - reads one per line.", show_default="standard input"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents by id. If one of the ids is unknown, nothing is deleted."""
    if not ids and sys.stdin.isatty():
        raise typer.BadParameter("give an ID, or pipe ids into standard input")
    with open_collection(collection) as found:
        if not ids or ids == [STDIN]:
            with opened(STDIN) as lines:
                ids = [decoded(line, place).strip() for place, line in numbered(lines, "standard input")]
        wanted = list(dict.fromkeys(map(id_reader(found), ids)))
        found.delete(wanted)
        print_answer(
            {"collection": str(collection), "deleted": len(wanted), "documents": len(found)},
            f"{collection}: {len(wanted):,} deleted, {len(found):,} documents left",
            as_json=as_json,
        )


def info(collection: CollectionPath, as_json: AsJson = False) -> None:
    """Show what a collection contains and how its vectors are made."""
    with open_collection(collection) as found:
        facts, calibration = found.info(), found.index.storage.snapshot.calibration
        searches = searches_text(found)
    if as_json:
        emit(facts)
        return
    encoder, filters = facts["encoder"], facts["calibrated_filters"]
    deleted = f" ({facts['deleted']:,} deleted)" if facts["deleted"] else ""
    counted = {name: f"{facts[name]:,}" for name in ("documents", "passages") if facts[name] is not None}
    unit = "passage" if (facts["passages"] or 0) > facts["documents"] else "document"
    rows = {
        **counted,
        [*counted][-1]: [*counted.values()][-1] + deleted,
        "tokens": f"{facts['tokens']:,}",
        "size": _size(facts),
        **{f"  {PARTS[part]}": _share(size, facts["room"]) for part, size in _largest(facts["room"]["parts"])},
        "vectors": f"{facts['dim']} dimensions, {facts['store']}" + pooled_text(facts["pool"]) + _byte_codes(facts),
        "projection": _short(facts["projection"] or "none"),
        "encoder": f"{encoder['name']}, {encoder['dim']} dimensions",
        **{f"  {key}": _short(value) for key, value in encoder["fingerprint"].items()},
        "codebook": _codebook(facts["codebook"]) if facts["codebook"] else "none",
        "calibration": "none" if calibration is None else _calibration(calibration, facts["calibration"], unit),
        **({"  for filters": ", ".join(json.dumps(one["where"]) for one in filters)} if filters else {}),
        "searches": searches,
        **({"shards": _shards(facts["shards"])} if "shards" in facts else {}),
        "folder": facts["path"],
    }
    margin = max(map(len, rows)) + 2
    for name, value in rows.items():
        print_line(f"{name:<{margin}}{value}")


def verify(collection: CollectionPath, progress: Progress = None, as_json: AsJson = False) -> None:
    """Read all files and compare checksums. The exit code is 3 if something is damaged."""
    with open_collection(collection) as found:
        found.verify(progress=shows_progress(progress))
        codebook = found.info()["codebook"] or {}
        drifted = {"drift": codebook["drift"]} if "drift" in codebook else {}
        aged = f"; {_codebook(codebook)}" if drifted else ""
        print_answer(
            {"collection": str(collection), "damaged": False, "documents": len(found), **drifted},
            f"{collection}: {len(found):,} documents, all checksums agree{aged}",
            as_json=as_json,
        )


def compact(collection: CollectionPath, progress: Progress = None, as_json: AsJson = False) -> None:
    """Free the space of deleted documents and merge small files."""
    with open_collection(collection) as found:
        before = found.index.nbytes
        found.compact(progress=shows_progress(progress))
        after = found.index.nbytes
    print_answer(
        {"collection": str(collection), "bytes_before": before, "bytes_after": after},
        f"{collection}: {bytes_text(after)}, {bytes_text(before)} before",
        as_json=as_json,
    )


def _byte_codes(facts: dict[str, Any]) -> str:
    enough = facts["byte_codes_until"]
    return "" if enough is None else f"; byte codes until there are {enough:,} tokens"


def _calibration(calibration: Calibration, facts: dict[str, Any], unit: str) -> str:
    age = f"{duration(int(time.time()) - facts['made'])} old"
    changed = changes_text(facts["added"], facts["deleted"], unit)
    since = f"; {changed} since" if changed else "; no documents changed since"
    advice = "" if facts["holds"] else ", so searches are exact: maxsieve calibrate --again"
    return f"on {basis(calibration)}, k up to {facts['k']:,}, {age}{since}{advice}"


def duration(seconds: int) -> str:
    """How long ago something was, for people.

    >>> duration(30), duration(60), duration(7300), duration(200_000), duration(-5)
    ('0 minutes', '1 minute', '2 hours', '2 days', '0 minutes')
    """
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size or unit == "minute":
            count = max(0, seconds) // size
            break
    return f"{count:,} {unit}" + ("" if count == 1 else "s")


def _codebook(facts: dict[str, Any]) -> str:
    """A codebook, and how far documents are from what it was trained on.

    >>> _codebook({"centroids": 4096, "drift": 1.52, "tokens": 90000})
    '4,096 centroids of 90,000 tokens; residuals are 1.52 times as large as expected (1.4 or more: hits are lost)'
    """
    if "drift" not in facts:
        return f"{facts['centroids']:,} centroids"
    risk = f" ({DRIFTED} or more: hits are lost)" if facts["drift"] >= DRIFTED else ""
    size = f"residuals are {facts['drift']:.2f} times as large as expected{risk}"
    return f"{facts['centroids']:,} centroids of {facts['tokens']:,} tokens; {size}"


def _size(facts: dict[str, Any]) -> str:
    room = facts["room"]
    times = f", {room['times_texts']:,.1f} times the texts" if room["times_texts"] else ""
    deleted = (
        f"; {bytes_text(room['deleted'])} belong to deleted documents (maxsieve compact frees them)"
        if room["deleted"]
        else ""
    )
    return f"{bytes_text(room['total'])} in {facts['segments']:,} segments{times}{deleted}"


def _shards(shards: list[dict[str, int]]) -> str:
    """How many shards there are, and how evenly filled.

    >>> _shards([{"documents": 9, "tokens": 70}, {"documents": 12, "tokens": 88}])
    '2, with 9 to 12 documents or passages each'
    """
    sizes = [shard["documents"] for shard in shards]
    return f"{len(sizes):,}, with {min(sizes):,} to {max(sizes):,} documents or passages each"


def _largest(parts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(((part, size) for part, size in parts.items() if size), key=lambda pair: -pair[1])


def _share(size: int, room: dict[str, Any]) -> str:
    return f"{bytes_text(size)}, {size / room['total']:.1%}"


def pooled_text(factor: int) -> str:
    """How pooled vectors are described.

    >>> pooled_text(1), pooled_text(2)
    ('', ', one for every 2 tokens (pooled)')
    """
    return "" if factor == 1 else f", one for every {factor} tokens (pooled)"


def _short(digest: str) -> str:
    """The first characters of a digest, enough to tell it from others. ``--json`` has all of it."""
    return f"{digest[:16]}…" if len(digest) == 64 else digest
