"""`maxsieve index` and `maxsieve add`: documents in, batch by batch, so that both can be gone on with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maxsieve.cli.console import say
from maxsieve.cli.opening import is_collection, open_collection
from maxsieve.cli.options import AsJson, CollectionPath, Progress, StoreName
from maxsieve.cli.taking_in import take_in
from maxsieve.text.inputs import STDIN, Fields, Format, Intake, Source

if TYPE_CHECKING:
    from maxsieve.text import Collection

DEFAULT_ENCODER, DEFAULT_DIM = "minilm", 128

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
        typer.Option(min=0, help="Dimensions to reduce to; 0: the model's own.", show_default=str(DEFAULT_DIM)),
    ] = None,
    store: Annotated[StoreName | None, typer.Option(help="Type of stored vectors.", show_default="float16")] = None,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a collection from documents.

    Run the same command again after an interruption: it goes on where it stopped.
    """
    intake = _intake(
        sources, format_, Fields(id_field, text_field, title_field, tuple(keep) if keep else None), skip_bad
    )

    def made() -> Collection:
        from maxsieve.text import Collection

        if is_collection(collection):
            found = open_collection(collection)
            _check_unchanged(found, encoder, dim, store)
            say(f"{collection} exists, with {len(found):,} documents: going on")
            return found
        wanted = DEFAULT_DIM if dim is None else dim
        kept = StoreName.FLOAT16 if store is None else store
        return Collection.create(collection, encoder or DEFAULT_ENCODER, wanted or None, store=kept.value)

    take_in(made, collection, intake, replace=False, progress=progress, as_json=as_json)


def add(
    collection: CollectionPath,
    sources: Sources = None,
    format_: FormatOption = None,
    id_field: IdField = None,
    text_field: TextField = "text",
    title_field: TitleField = "title",
    keep: Keep = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents whose id is in already.")] = False,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Add documents to a collection.

    Those that are in already, unchanged, are skipped, so that the same command goes on after an interruption.
    """
    intake = _intake(
        sources, format_, Fields(id_field, text_field, title_field, tuple(keep) if keep else None), skip_bad
    )
    found = open_collection(collection)
    take_in(lambda: found, collection, intake, replace=replace, progress=progress, as_json=as_json)


def _intake(names: list[str] | None, format_: Format | None, fields: Fields, skip_bad: bool) -> Intake:
    if not names and sys.stdin.isatty():
        raise typer.BadParameter("name a SOURCE, or pipe documents in")
    return Intake([Source(name, format_) for name in names or [STDIN]], fields, skip_bad=skip_bad)


def _check_unchanged(collection: Collection, encoder: str | None, dim: int | None, store: StoreName | None) -> None:
    """Options that were given must say what the collection is; they can't be changed any more."""
    facts = collection.info()
    made = facts["encoder"]
    for option, given, found in (
        ("--encoder", encoder, made["name"]),
        ("--dim", None if dim is None else min(dim or made["dim"], made["dim"]), facts["dim"]),
        ("--store", store and store.value, facts["store"]),
    ):
        if given is not None and given != found and not _same_folder(given, found):
            raise ValueError(f"{collection.path} was made with {option} {found}, which can't be changed to {given}")


def _same_folder(given: object, found: object) -> bool:
    return isinstance(given, str) and isinstance(found, str) and Path(given).absolute() == Path(found).absolute()
