"""`maxsieve demo`."""

from __future__ import annotations

import typer

from maxsieve.cli.demo.command import demo


def register(app: typer.Typer) -> None:
    """Puts the command into the tree."""
    app.command(epilog="Example:  maxsieve demo")(demo)
