"""`maxsieve doctor`: what a bug report needs."""

from __future__ import annotations

import typer

from maxsieve.cli.console import emit, print_line
from maxsieve.cli.options import AsJson
from maxsieve.doctor import described, examine


def register(app: typer.Typer) -> None:
    """Puts the command into the tree."""
    app.command(epilog="Example:  maxsieve doctor")(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Show what a bug report needs: machine, kernels, threads, cache, models, versions.

    It names neither you nor your files.
    """
    report = examine()
    if as_json:
        emit(report)
    else:
        print_line(described(report))
