"""`maxsieve rerank`: candidates on standard input, the best of them out."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxsieve.cli import options
from maxsieve.cli.console import Output, emit, say
from maxsieve.cli.show import show_answer, to_plain
from maxsieve.policies import Policy
from maxsieve.text.cuts import naming_cuts
from maxsieve.text.encoder import DEFAULT_ENCODER
from maxsieve.text.inputs import STDIN, DocumentReader, Fields, Format, Input, InputDocument

if TYPE_CHECKING:
    from maxsieve.text import Encoder, TextHits


def register(app: typer.Typer) -> None:
    """Puts the command into the tree."""
    app.command(epilog="Example:  printf 'tea\\ncoffee\\nbread' | maxsieve rerank 'a hot drink' -k 2")(rerank)


def rerank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the best should be about.", show_default=False)],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The candidates: a file, or standard input.")] = STDIN,
    format_: Annotated[
        Format | None, typer.Option("--format", help="How they are written.", show_default="by the first line")
    ] = None,
    id_field: Annotated[str | None, typer.Option(help="The field with the id.", show_default="_id or id")] = None,
    text_field: Annotated[str, typer.Option(help="The field with the text.")] = "text",
    title_field: Annotated[str, typer.Option(help="The field with the title, if there is one.")] = "title",
    encoder: Annotated[str, typer.Option(help="minilm, a folder with an ONNX model, or st:NAME.")] = DEFAULT_ENCODER,
    k: options.K = 10,
    policy: options.PolicyOption = options.PolicyName.CERTIFIED,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip and count what is no document.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Find the best of some texts, without a collection.

    Plain lines, or JSON Lines with a text and perhaps an id; lines without an id are numbered from 1.
    """
    if not query.strip():
        raise typer.BadParameter("the query is empty")
    if policy is options.PolicyName.CALIBRATED:
        raise typer.BadParameter("--policy calibrated belongs to search, which has a collection that was calibrated")
    chosen = options.to_policy(policy)
    reader = DocumentReader([Input(source, format_)], Fields(id_field, text_field, title_field), skip_bad=skip_bad)
    candidates = list(reader)
    if reader.bad:
        say(f"skipped {reader.bad:,} that are no documents; the first: {reader.first_bad}")
    from maxsieve.text import load_encoder

    hits = _rerank(load_encoder(encoder), query, candidates, k, chosen)
    if as_json:
        emit(to_plain(hits))
    else:
        show_answer(Output(), hits, policy=chosen)


def _rerank(encoder: Encoder, query: str, candidates: list[InputDocument], k: int, policy: Policy) -> TextHits:
    """As a collection with this encoder does it, with the ids and metadata that the candidates brought along."""
    from maxsieve import Index
    from maxsieve.text.hits import TextHits

    started = perf_counter()
    [rows] = encoder.queries([query])
    if not len(rows):
        raise ValueError(f"in the query {query!r} there is nothing to search for")
    ids = [one.id or str(number) for number, one in enumerate(candidates, start=1)]
    with naming_cuts(dict(zip((one.text for one in candidates), ids, strict=True))):
        documents = encoder.documents([one.text for one in candidates])
    encoded = perf_counter()
    index = Index.create(encoder.dim)
    index.add(documents, ids)
    hits = index.search(rows, k, policy=policy)
    searched = perf_counter()
    found = dict(zip(index.ids, candidates, strict=True))

    def read() -> list[Any]:
        return [{"text": found[one].text, "metadata": found[one].metadata} for one in hits.ids]

    return TextHits(query, encoded - started, searched - encoded, "candidates", len(candidates), hits, encoder, read)
