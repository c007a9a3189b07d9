"""Options that the lab's commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CorpusNames = Annotated[
    list[str],
    typer.Option(
        "--corpus",
        metavar="CORPUS",
        help="A folder in BEIR form, an .npz of ready-made embeddings, or a name: of a folder or file in "
        "MAXSIEVE_CORPORA, or of ir_datasets. Repeat it for more.",
        show_default=False,
    ),
]
Encoder = Annotated[str, typer.Option(help="minilm, a folder with an ONNX model, or st:NAME.")]
Dim = Annotated[int, typer.Option(min=1, help="Dimensions to reduce to.")]
Queries = Annotated[int | None, typer.Option(min=1, help="Only the first so many queries.", show_default="all")]
Quick = Annotated[bool, typer.Option("--quick", help="Few queries and settings: to see that it works.")]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results are written.")]

DEFAULT_ENCODER, DEFAULT_DIM = "minilm", 128
DEFAULT_OUT = Path("lab-results")
