"""`maxsieve index` and `maxsieve add`: add documents in batches, so that both can continue after an interruption."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from maxsieve.cli.collections import (
    DEFAULT_SHARDS,
    bytes_text,
    cluster_options,
    describe_encoded,
    describe_size,
    id_reader,
    is_collection,
    open_collection,
)
from maxsieve.cli.console import emit, print_line, say, shows_progress
from maxsieve.cli.failures import ExitCode, report_bad, report_left_out, typed
from maxsieve.cli.fast_path import Calibrate, make_fast, report_fast
from maxsieve.cli.options import AsJson, CollectionPath, EncoderName, Progress, StoreName
from maxsieve.cli.remembered import encoder_for, remember
from maxsieve.errors import Argument, explain
from maxsieve.storage.codebook import tokens_of_centroid
from maxsieve.text.collection.description import read_description
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, MINILM, Measuring, Visual
from maxsieve.text.encoders.visual import is_visual
from maxsieve.text.inputs.columns import as_columns
from maxsieve.text.inputs.document import Fields, InputDocument
from maxsieve.text.inputs.reading import STDIN, DocumentReader, Format, Input
from maxsieve.text.pages.ocr import decide_ocr

if TYPE_CHECKING:
    from maxsieve.storage.segments import Layout
    from maxsieve.text import Collection

Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Files with many documents (.jsonl, .json, .csv, .tsv, .parquet) or with one (text, .md, .pdf, .html, "
        ".docx, source code and so on; with --pages also pictures), folders of such files, or - for standard input.",
        show_default="standard input",
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="PATTERN", help="Of a folder, also read files like '*.conf', as text. Can be repeated."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first file that can't be read.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip documents that can't be read, and count them.")]


SAMPLED, READ_CHARACTERS = 32, 20_000
"""How many documents, and how much of each, are read to say how large the collection will be."""

WORTH_SAYING = 50_000_000
SMALL_DIM = 128
STORED_BYTES = {"int8": 1, "float16": 3, "float32": 5}
"""Bytes of a number: its code, and the vector itself."""

RESIDUAL_BYTES = 6
"""Bytes of a token besides the bits of its residual: its centroid, two factors, and its entry in lists."""

OcrOption = Annotated[
    bool | None,
    typer.Option(
        "--ocr/--no-ocr",
        help="Read pages without text by OCR.",
        show_default="if maxsieve[pages] is installed, and the model is not visual",
    ),
]


class ReadPages(Enum):
    """Whether pages are documents of their own; with a visual model, there are no others."""

    NO = "no"
    ALSO = "also"
    ONLY = "only"

    @classmethod
    def of(cls, path: Path, pages: bool | None, encoder: str | None) -> ReadPages:
        """As the collection at a path was made, or as a new one is to be made."""
        if is_collection(path):
            made = read_description(path)
            pages, encoder = made.pages, encoder or made.encoder
        if not pages:
            return cls.NO
        return cls.ONLY if encoder and is_visual(encoder) else cls.ALSO


class Reading(NamedTuple):
    """The options that say how documents are read."""

    format_: Annotated[
        Format | None,
        typer.Option("--format", help="The format of the sources.", show_default="by suffix, or by the first line"),
    ] = None
    id_field: Annotated[
        str | None, typer.Option(help="The field with the id.", show_default="_id or id, if there is one")
    ] = None
    text_field: Annotated[str, typer.Option(help="The field with the text.")] = "text"
    title_field: Annotated[
        str, typer.Option(help="The field with the title, if there is one. It is put before the text.")
    ] = "title"
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Keep this field as metadata. Repeat the option for more fields.",
            show_default="all other fields",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            help="The character between the columns of a CSV file.", show_default="comma, semicolon, tab or bar"
        ),
    ] = None

    prefix: Annotated[
        str | None,
        typer.Option(help="Put this before the ids of files.", show_default="of several folders, their names"),
    ] = None
    include: Include = None
    strict: Strict = False
    ocr: OcrOption = None

    def reader(self, names: list[str] | None, pages: ReadPages, *, skip_bad: bool) -> DocumentReader:
        """A reader of the documents in these sources, or on standard input."""
        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
            if len(delimiter) != 1 or delimiter in '\r\n"':
                raise typer.BadParameter("--delimiter must be one character, or tab")
        if not names and sys.stdin.isatty():
            raise typer.BadParameter("give a SOURCE, or pipe documents into standard input")
        fields = Fields(self.id_field, self.text_field, self.title_field, tuple(self.keep) if self.keep else None)
        folders = [name for name in names or [] if name != STDIN and Path(name).is_dir()]
        ocr, only = decide_ocr(self.ocr, visual=pages is ReadPages.ONLY), pages is ReadPages.ONLY
        options: dict[str, Any] = {"pages": pages is not ReadPages.NO, "ocr": ocr, "include": tuple(self.include or ())}
        inputs = [
            Input(name, self.format_, delimiter, prefix=self._prefix(name, folders), **options)
            for name in names or [STDIN]
        ]
        return DocumentReader(inputs, fields, skip_bad=skip_bad, strict=self.strict, pages_only=only)

    def _prefix(self, name: str, folders: list[str]) -> str:
        """What is put before the ids of an input: of several folders, the name of each."""
        if self.prefix is not None or len(folders) < 2 or name not in folders:
            return self.prefix or ""
        return f"{Path(name).as_posix().strip('/')}/"


class New(NamedTuple):
    """The options of a new collection."""

    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="A model of `maxsieve model list`, a folder, or st:NAME.",
            show_default="the recommended model if it was fetched, else minilm",
        ),
    ] = None
    dim: Annotated[
        int | None,
        typer.Option(
            "--dim", min=0, help="Reduce vectors to this many dimensions; 0 keeps the model's.", show_default="0"
        ),
    ] = None
    store: Annotated[
        StoreName | None,
        typer.Option(
            "--store",
            help="Type of stored vectors.",
            show_default="residual1; with fewer than 256 dimensions residual2, below 128 residual4",
        ),
    ] = None
    pool: Annotated[
        int | None,
        typer.Option(
            "--pool", min=1, max=64, help="Pool similar tokens: store this many times fewer vectors.", show_default="1"
        ),
    ] = None
    split: Annotated[
        bool | None, typer.Option("--split/--no-split", help="Cut long texts into passages.", show_default="split")
    ] = None
    pages: Annotated[
        bool | None,
        typer.Option(
            "--pages/--no-pages", help="Each page of a PDF and each picture is a document.", show_default="no-pages"
        ),
    ] = None


def index(
    collection: CollectionPath,
    sources: Sources = None,
    *,
    reading: Reading,
    new: New,
    calibrate: Calibrate = None,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Make a collection from documents.

    After an interruption, run the same command again: it continues where it stopped.
    """
    documents = reading.reader(sources, ReadPages.of(collection, new.pages, new.encoder), skip_bad=skip_bad)

    def made() -> Collection:
        exists = is_collection(collection)
        found = create_or_open(collection, new)
        if exists:
            say(f"{collection} exists, with {len(found):,} documents: continuing")
        return found

    folders = [name for name in sources or [] if Path(name).is_dir()]
    command = ["maxsieve", "sync", str(collection), *folders[:1], "--adopt"]
    advice = shlex.join(command) if folders else "maxsieve add --replace"
    _add(
        made,
        collection,
        documents,
        replace=False,
        advice=advice,
        calibrate=calibrate,
        progress=progress,
        as_json=as_json,
    )


def add(
    collection: CollectionPath,
    sources: Sources = None,
    *,
    reading: Reading,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace documents whose id is already in the collection.")
    ] = False,
    encoder: EncoderName = None,
    skip_bad: SkipBad = False,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Add documents to a collection.

    Documents that are already there, unchanged, are skipped. So the same command continues after an interruption.
    """
    documents = reading.reader(sources, ReadPages.of(collection, None, encoder), skip_bad=skip_bad)
    found = open_collection(collection, encoder_for(collection, encoder))
    _add(
        lambda: found,
        collection,
        documents,
        replace=replace,
        advice="--replace",
        calibrate=False,
        progress=progress,
        as_json=as_json,
    )


def create_or_open(path: Path, new: New) -> Collection:
    """Opens the collection, which must match the options, or creates a new one."""
    from maxsieve.text import Collection, load_encoder

    if is_collection(path):
        with open_collection(path) as found:
            _check_unchanged(found, new)
        return open_collection(path, encoder_for(path, new.encoder))
    encoder = load_encoder(new.encoder or DEFAULT_ENCODER)
    if new.encoder is None and encoder.name == MINILM:
        say("minilm is used: it was not trained for late interaction, and knows English only; "
            "`maxsieve model fetch` gets a model that was")  # fmt: skip
    options: dict[str, Any] = {
        "encoder": encoder,
        "dim": new.dim or None,
        "store": None if new.store is None else new.store.value,
        "pool": new.pool or 1,
        "split": new.split is not False,
        "pages": bool(new.pages),
    }
    if isinstance(encoder, Visual) and not new.pages:
        raise ValueError(f"{encoder.name} is a visual model: its documents are pages; give --pages")
    if (cluster := cluster_options()) is not None:
        options |= {"shards": cluster.shards or DEFAULT_SHARDS, "cluster": cluster.cluster}
    made = Collection.create(path, **options)
    if new.encoder is not None:
        remember(path, new.encoder)
    return made


def report_ocr(pages: int) -> None:
    """Says how many pages were read by OCR, if any were."""
    if pages:
        say(f"{pages:,} {'page' if pages == 1 else 'pages'} without text: read by OCR")


def _check_unchanged(collection: Collection, new: New) -> None:
    """Raises an error if an option differs from what the collection was made with: that can't be changed later."""
    facts = collection.info()
    made, cluster = facts["encoder"], cluster_options()
    if cluster is not None and "shards" not in facts:
        raise ValueError(f"{collection.path} is one collection, without shards; maxsieve index adds to it")
    for option, given, found in (
        ("--encoder", new.encoder, made["name"]),
        ("--dim", None if new.dim is None else min(new.dim or made["dim"], made["dim"]), facts["dim"]),
        ("--store", new.store and new.store.value, facts["store"]),
        ("--pool", new.pool, facts["pool"]),
        ("--shards", cluster.shards if cluster else None, len(facts["shards"]) if "shards" in facts else None),
    ):
        if given is not None and given != found and not _same_folder(given, found):
            how = f"can't be changed to {given}" if option != "--shards" else "maxsieve cluster rebalance changes"
            raise ValueError(f"{collection.path} was made with {option} {found}, which {how}")
    if new.pages is not None and new.pages != collection.has_pages:
        made_with, given = ("--no-pages", "--pages") if new.pages else ("--pages", "--no-pages")
        raise ValueError(f"{collection.path} was made with {made_with}, which can't be changed to {given}")
    if new.split is not None and new.split != collection.keys.passages:
        made_with, given = ("--no-split", "--split") if new.split else ("--split", "--no-split")
        raise ValueError(f"{collection.path} was made with {made_with}, which can't be changed to {given}")


def forecast(collection: Collection, documents: list[Any], count: int) -> str:
    """The size of a collection of so many documents like these, and how it could be smaller; empty if it is small."""
    texts, encoder = [document.text for document in documents if document is not None], collection.encoder
    if not texts or not isinstance(encoder, Measuring):
        return ""
    tokens = sum(encoder.count_tokens([text[:READ_CHARACTERS] for text in texts]))
    characters = sum(map(len, texts)) / max(1, sum(len(text[:READ_CHARACTERS]) for text in texts))
    layout, pool = collection.index.storage.layout, collection.info()["pool"]
    each = _bytes_a_token(layout) / pool
    size = int(tokens * characters / len(texts) * count * each)
    if size < WORTH_SAYING:
        return ""
    smaller = [f"--pool 2 takes {bytes_text(size // 2)}"] if pool == 1 else []
    if layout.dim > SMALL_DIM:
        smaller.append(f"--dim {SMALL_DIM} {bytes_text(size * SMALL_DIM // layout.dim)}")
    choices = f"; of a new collection, {', '.join(smaller)} (docs/text.md says what that costs)" if smaller else ""
    return f"{count:,} documents will take about {bytes_text(size)}, {each:,.0f} bytes a token{choices}"


def _bytes_a_token(layout: Layout) -> float:
    """The bytes of a token of a large collection, with its share of a centroid."""
    if not layout.bits:
        return layout.dim * STORED_BYTES[layout.store]
    return layout.dim * (layout.bits / 8 + 1 / tokens_of_centroid(layout.dim)) + RESIDUAL_BYTES


def read_ahead(documents: Iterator[InputDocument], reader: DocumentReader) -> list[InputDocument]:
    """Some documents for the forecast. It stops where OCR begins: an interruption would lose minutes of work."""
    some: list[InputDocument] = []
    while not reader.by_ocr and len(some) < SAMPLED - 1 and (document := next(documents, None)) is not None:
        some.append(document)
    return some


def _same_folder(given: object, found: object) -> bool:
    return isinstance(given, str) and isinstance(found, str) and Path(given).absolute() == Path(found).absolute()


def _add(
    collection: Callable[[], Collection],
    path: Path,
    reader: DocumentReader,
    *,
    replace: bool,
    advice: str,
    calibrate: bool | None,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Adds all documents. A new collection is created only after the first document was read without an error."""
    started = perf_counter()
    documents = iter(reader)
    first = next(documents, None)
    with collection() as target:
        try:
            to_id = id_reader(target) if reader.has_ids else None
            count, some = reader.count(), list[Any]()
            if count is not None and not (as_json or target.has_pages):
                some = read_ahead(documents, reader)
                if not reader.by_ocr and (said := forecast(target, [first, *some], count)):
                    say(said)
            columns = as_columns(chain([first] if first else [], some, documents), count, to_id)
            added = target.add(**columns, replace=replace, progress=shows_progress(progress))
            encoded = target.encode_store(progress=shows_progress(progress))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {path} is valid and has {len(target):,} documents: "
                "run the same command again to continue"
            ) from None
        except ValueError as problem:
            replace_it = Argument("replace", True)
            said = explain(problem, lambda named: advice if named == replace_it else typed(named))
            raise ValueError(said) from problem
        added = added._replace(skipped=added.skipped + reader.repeated)
        seconds = perf_counter() - started
        report_bad(reader.bad, reader.problems, reader.encodings)
        report_ocr(reader.by_ocr)
        for source in reader.inputs:
            report_left_out(source.survey() if source.is_folder else None)
        calibrated = partial(make_fast, target, calibrate, seconds, progress=shows_progress(progress))
        if as_json:
            counts = {**added._asdict(), "bad": reader.bad, "documents": len(target), "tokens": target.index.tokens}
            counts |= {"by_ocr": reader.by_ocr} if reader.by_ocr else {}
            counts |= {"encoded": True} if encoded else {}
            counts |= {"calibration": facts} if (facts := calibrated()) else {}
            emit({"collection": str(path), **counts, "seconds": round(seconds, 3)})
        else:
            parts = [f"{count:,} {what}" for what, count in added._asdict().items() if count or what == "added"]
            print_line(f"{path}: {', '.join(parts)} in {seconds:.1f} s; {describe_size(target)}")
            if encoded:
                print_line(f"  {describe_encoded(target)}")
            report_fast(calibrated())
    if reader.bad and not reader.skip_bad:
        raise typer.Exit(ExitCode.SKIPPED)
