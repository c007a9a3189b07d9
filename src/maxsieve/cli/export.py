"""`maxsieve export`: vectors for other programs, or texts as JSON Lines that `maxsieve index` can read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.collections import open_single
from maxsieve.cli.console import emit, say, shows_progress
from maxsieve.cli.options import AsJson, CollectionPath, Progress
from maxsieve.common.files import replacing
from maxsieve.common.progress import progress_bar
from maxsieve.text.inputs.reading import STDIN

if TYPE_CHECKING:
    from maxsieve.text import Collection


def export(
    collection: CollectionPath,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="Vectors: .npy, .npz, .safetensors, .arrow, .parquet, or a folder. Texts: JSON Lines, or - for "
            "standard output.",
            show_default=False,
        ),
    ],
    texts: Annotated[bool, typer.Option("--texts", help="Write ids, texts and metadata, not vectors.")] = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Write a collection's vectors, or its texts, to a file."""
    if target == STDIN and (not texts or as_json):
        raise typer.BadParameter("only --texts, without --json, can go to standard output")
    with open_single(collection) as found:
        if not texts:
            from maxsieve import exchange

            exchange.write(found.index, target)
        elif target == STDIN:
            sys.stdout.flush()
            _write_texts(found, emit, progress=False)
        else:
            with replacing(target) as file:
                _write_texts(
                    found,
                    lambda line: file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n"),
                    progress=shows_progress(progress),
                )
        if as_json:
            emit({"collection": str(collection), "target": target, "documents": len(found)})
        elif target != STDIN:
            say(f"{len(found):,} documents written to {Path(target)}")


def _write_texts(collection: Collection, write: Callable[[dict[str, Any]], object], *, progress: bool) -> None:
    with progress_bar("exporting", len(collection), shown=progress, unit="documents") as advance:
        for doc_id in collection.ids:
            write(_line(doc_id, collection.text(doc_id), collection.metadata(doc_id)))
            advance(1)


def _line(doc_id: Any, text: str, metadata: Any) -> dict[str, Any]:
    """A document as `maxsieve index` reads it. Metadata become fields beside the text, as they were in the source.

    >>> _line("a", "Alpha", {"title": "Alpha"})
    {'id': 'a', 'text': 'Alpha', 'title': 'Alpha'}
    """
    if isinstance(metadata, dict) and not {"_id", "id", "text"} & metadata.keys():
        return {"id": doc_id, "text": text, **metadata}
    return {"id": doc_id, "text": text} if metadata is None else {"id": doc_id, "text": text, "metadata": metadata}
