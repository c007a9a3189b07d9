"""`maxsieve search`."""

from __future__ import annotations

import typer

from maxsieve.cli.search.command import search


def register(app: typer.Typer) -> None:
    """Puts the command into the tree."""
    app.command(epilog="Example:  maxsieve search docs.ms how do I split a path")(search)
