"""`maxsieve rerank`: ranks candidates from standard input or a file, and prints the best."""

from __future__ import annotations

from typing import Annotated

import typer

from maxsieve.cli import options
from maxsieve.cli.answers import show_answer
from maxsieve.cli.console import emit
from maxsieve.cli.failures import report_bad
from maxsieve.cli.policy_options import with_policy
from maxsieve.cli.terminal import Output
from maxsieve.policies import CERTIFIED, Calibrated, Policy
from maxsieve.text.collection.answers import to_plain
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER
from maxsieve.text.inputs.document import Fields
from maxsieve.text.inputs.reading import STDIN, DocumentReader, Format, Input


@with_policy
def rerank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.", show_default=False)],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The candidates: a file, or standard input.")] = STDIN,
    format_: Annotated[
        Format | None, typer.Option("--format", help="The format of the candidates.", show_default="by the first line")
    ] = None,
    id_field: Annotated[str | None, typer.Option(help="The field with the id.", show_default="_id or id")] = None,
    text_field: Annotated[str, typer.Option(help="The field with the text.")] = "text",
    title_field: Annotated[str, typer.Option(help="The field with the title, if there is one.")] = "title",
    encoder: Annotated[str, typer.Option(help="A model's name, a folder, or st:NAME.")] = DEFAULT_ENCODER,
    k: options.K = 10,
    policy: Policy = CERTIFIED,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip documents that can't be read, and count them.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Rank texts by a query, without a collection.

    Texts are plain lines, or JSON Lines with a text and an optional id. Lines without an id are numbered from 1.
    """
    if not query.strip():
        raise typer.BadParameter("the query is empty")
    if isinstance(policy, Calibrated):
        raise typer.BadParameter(
            "--policy calibrated works only with maxsieve search, on a collection that was calibrated"
        )
    reader = DocumentReader([Input(source, format_)], Fields(id_field, text_field, title_field), skip_bad=skip_bad)
    candidates = list(reader)
    report_bad(reader.bad, reader.problems)
    from maxsieve.text import rerank as rerank_texts

    hits = rerank_texts(
        query,
        [candidate.text for candidate in candidates],
        k,
        ids=[candidate.id or str(number) for number, candidate in enumerate(candidates, start=1)],
        metadata=[candidate.metadata for candidate in candidates],
        encoder=encoder,
        policy=policy,
    )
    if as_json:
        emit(to_plain(hits))
    else:
        show_answer(Output(), hits, policy=policy)
