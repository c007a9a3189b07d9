"""`maxsieve cluster`: commands for a collection in shards, on the nodes of a Ray cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import typer

from maxsieve.cli import calibrate, index, maintenance, serve
from maxsieve.cli.collections import ClusterOptions, open_collection, using_cluster
from maxsieve.cli.console import print_answer
from maxsieve.cli.options import AsJson, CollectionPath, with_groups, with_parameters
from maxsieve.cli.search import search
from maxsieve.common.optional import optional

HELP = "Collections in shards, on the machines of a Ray cluster. Answers are those of one collection."

COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "index": (index.index, "maxsieve cluster index corpus.ms corpus.jsonl --shards 16"),
    "add": (index.add, "maxsieve cluster add corpus.ms more.jsonl --address auto"),
    "search": (search, "maxsieve cluster search corpus.ms how do I split a path"),
    "serve": (serve.serve, "maxsieve cluster serve corpus.ms --replicas 2"),
    "calibrate": (calibrate.calibrate, "maxsieve cluster calibrate corpus.ms"),
    "info": (maintenance.info, "maxsieve cluster info corpus.ms"),
    "delete": (maintenance.delete, "maxsieve cluster delete corpus.ms d17 d18"),
    "verify": (maintenance.verify, "maxsieve cluster verify corpus.ms"),
    "compact": (maintenance.compact, "maxsieve cluster compact corpus.ms"),
}
"""The commands that a single collection and a collection in shards share, with an example of each."""

ONLY_OF = {"shards": ("index",), "partial": ("search",), "timeout": ("search",)}
"""Cluster options that only these commands have. All commands have the other cluster options."""


def register(app: typer.Typer) -> None:
    """Registers the commands."""
    group = typer.Typer(no_args_is_help=True, help=HELP)
    for name, (command, example) in COMMANDS.items():
        fields = [field for field in ClusterOptions._fields if name in ONLY_OF.get(field, (name,))]
        group.command(name, epilog=f"Example:  {example}")(clustered(with_groups(command), fields))
    options = [field for field in ClusterOptions._fields if field not in ONLY_OF]
    group.command("rebalance", epilog="Example:  maxsieve cluster rebalance corpus.ms --shards 32")(
        clustered(rebalance, options)
    )
    app.add_typer(group, name="cluster")


def rebalance(
    collection: CollectionPath,
    shards: Annotated[int, typer.Option(min=1, help="The new number of shards.")],
    as_json: AsJson = False,
) -> None:
    """Distribute the documents over another number of shards. Answers stay the same."""
    with open_collection(collection) as found:
        found.rebalance(shards)
        print_answer(
            {"collection": str(collection), "shards": shards, "documents": len(found)},
            f"{collection}: {len(found):,} documents in {shards:,} shards",
            as_json=as_json,
        )


def clustered(command: Callable[..., None], fields: list[str]) -> Callable[..., None]:
    """A command with the cluster options added. While it runs, collections in shards are opened with these options."""
    own = signature(command, eval_str=True)
    hints = get_type_hints(ClusterOptions, include_extras=True)
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=ClusterOptions._field_defaults[name], annotation=hints[name])
        for name in fields
    ]
    parameters = [*(parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own.parameters.values()), *added]

    def run(**given: Any) -> None:
        optional("ray", "ray")
        chosen = ClusterOptions(**{name: given.pop(name) for name in fields})
        logging.getLogger("ray").setLevel(logging.ERROR)  # errors are reported as in other commands
        with using_cluster(chosen):
            command(**given)

    return with_parameters(run, command, parameters)
