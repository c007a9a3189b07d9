"""`maxsieve index` and `maxsieve add`: documents in, batch by batch, so that both can be gone on with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, tee
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.opening import describe_size, id_reader, is_collection, open_collection
from maxsieve.cli.options import AsJson, CollectionPath, EncoderName, Progress, StoreName
from maxsieve.text.encoder import DEFAULT_ENCODER, DEFAULT_STORE
from maxsieve.text.inputs import STDIN, DocumentReader, Fields, Format, Input, InputDocument

if TYPE_CHECKING:
    from maxsieve.text import Collection

Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Files (.jsonl, .csv, .tsv, .parquet, .txt, .md), folders of .txt and .md, or - for standard input.",
        show_default="standard input",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="How the sources are written.", show_default="by suffix, or by the first line"),
]
IdField = Annotated[str | None, typer.Option(help="The field with the id.", show_default="_id or id, if there is one")]
TextField = Annotated[str, typer.Option(help="The field with the text.")]
TitleField = Annotated[str, typer.Option(help="The field with the title, if there is one: put before the text.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD", help="Keep this field as metadata; repeat it for more.", show_default="all other fields"
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip and count what is no document.")]


def register(app: typer.Typer) -> None:
    """Puts the commands into the tree."""
    app.command(epilog="Example:  maxsieve index docs.ms corpus.jsonl --text-field body")(index)
    app.command(epilog="Example:  echo 'A new note.' | maxsieve add docs.ms")(add)


def index(
    collection: CollectionPath,
    sources: Sources = None,
    format_: FormatOption = None,
    id_field: IdField = None,
    text_field: TextField = "text",
    title_field: TitleField = "title",
    keep: Keep = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="minilm, a folder with an ONNX model, or st:NAME.", show_default=DEFAULT_ENCODER),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option(min=0, help="Dimensions to reduce to; 0: the model's own.", show_default="0"),
    ] = None,
    store: Annotated[StoreName | None, typer.Option(help="Type of stored vectors.", show_default=DEFAULT_STORE)] = None,
    pool: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Keep so many times fewer vectors, means of similar tokens.", show_default="1"
        ),
    ] = None,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a collection from documents.

    Run the same command again after an interruption: it goes on where it stopped.
    """
    documents = _reader(
        sources, format_, Fields(id_field, text_field, title_field, tuple(keep) if keep else None), skip_bad
    )

    def made() -> Collection:
        from maxsieve.text import Collection

        if is_collection(collection):
            with open_collection(collection) as found:
                _check_unchanged(found, encoder, dim, store, pool)
            found = open_collection(collection, encoder)
            say(f"{collection} exists, with {len(found):,} documents: going on")
            return found
        kept = DEFAULT_STORE if store is None else store.value
        return Collection.create(collection, encoder or DEFAULT_ENCODER, dim or None, store=kept, pool=pool or 1)

    _add(made, collection, documents, replace=False, progress=progress, as_json=as_json)


def add(
    collection: CollectionPath,
    sources: Sources = None,
    format_: FormatOption = None,
    id_field: IdField = None,
    text_field: TextField = "text",
    title_field: TitleField = "title",
    keep: Keep = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents whose id is in already.")] = False,
    encoder: EncoderName = None,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Add documents to a collection.

    Those that are in already, unchanged, are skipped, so that the same command goes on after an interruption.
    """
    documents = _reader(
        sources, format_, Fields(id_field, text_field, title_field, tuple(keep) if keep else None), skip_bad
    )
    found = open_collection(collection, encoder)
    _add(lambda: found, collection, documents, replace=replace, progress=progress, as_json=as_json)


def _reader(names: list[str] | None, format_: Format | None, fields: Fields, skip_bad: bool) -> DocumentReader:
    if not names and sys.stdin.isatty():
        raise typer.BadParameter("name a SOURCE, or pipe documents in")
    return DocumentReader([Input(name, format_) for name in names or [STDIN]], fields, skip_bad=skip_bad)


def _check_unchanged(
    collection: Collection, encoder: str | None, dim: int | None, store: StoreName | None, pool: int | None
) -> None:
    """Options that were given must say what the collection is; they can't be changed any more."""
    facts = collection.info()
    made = facts["encoder"]
    for option, given, found in (
        ("--encoder", encoder, made["name"]),
        ("--dim", None if dim is None else min(dim or made["dim"], made["dim"]), facts["dim"]),
        ("--store", store and store.value, facts["store"]),
        ("--pool", pool, facts["pool"]),
    ):
        if given is not None and given != found and not _same_folder(given, found):
            raise ValueError(f"{collection.path} was made with {option} {found}, which can't be changed to {given}")


def _same_folder(given: object, found: object) -> bool:
    return isinstance(given, str) and isinstance(found, str) and Path(given).absolute() == Path(found).absolute()


def _add(
    collection: Callable[[], Collection],
    path: Path,
    reader: DocumentReader,
    *,
    replace: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Adds all documents that are read; the collection is made only when the first of them has proved readable."""
    started = perf_counter()
    documents = iter(reader)
    first = next(documents, None)
    with collection() as target:
        try:
            columns = _columns(chain([first] if first else [], documents), reader, target)
            added = target.add(**columns, replace=replace, progress=shows_progress(progress))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {path} is valid and has {len(target):,} documents: the same command goes on from there"
            ) from None
        except ValueError as problem:
            raise ValueError(str(problem).replace("replace=True", "--replace")) from problem
        added = added._replace(skipped=added.skipped + reader.repeated)
        seconds = perf_counter() - started
        if reader.bad:
            say(f"skipped {reader.bad:,} that are no documents; the first: {reader.first_bad}")
        if as_json:
            counts = {**added._asdict(), "bad": reader.bad, "documents": len(target), "tokens": target.index.tokens}
            emit({"collection": str(path), **counts, "seconds": round(seconds, 3)})
        else:
            parts = [f"{count:,} {what}" for what, count in added._asdict().items() if count or what == "added"]
            print_line(f"{path}: {', '.join(parts)} in {seconds:.1f} s; {describe_size(target)}")


class _Expected:
    """A column that says how long it will be, for the progress bar."""

    def __init__(self, column: Iterable[str], length: int) -> None:
        self._column, self._length = column, length

    def __iter__(self) -> Iterator[str]:
        return iter(self._column)

    def __len__(self) -> int:
        return self._length


def _columns(documents: Iterable[InputDocument], reader: DocumentReader, collection: Collection) -> dict[str, Any]:
    """Texts, ids and metadata side by side, read as they are needed."""
    texts, ids, metadata = tee(documents, 3)
    to_id = id_reader(collection)
    column: Iterable[str] = (document.text for document in texts)
    expected = reader.count()
    return {
        "texts": column if expected is None else _Expected(column, expected),
        "ids": (to_id(document.id or "") for document in ids) if reader.has_ids else None,
        "metadata": (document.metadata for document in metadata),
    }
