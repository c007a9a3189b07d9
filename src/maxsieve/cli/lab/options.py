"""Options that the lab's commands share, and the corpora that they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from maxsieve.cli.options import Threads
from maxsieve.lab import DIM
from maxsieve.text.encoder import DEFAULT_ENCODER

if TYPE_CHECKING:
    from maxsieve.lab.dataset import Dataset
    from maxsieve.lab.experiment import Options

CORPORA = "MAXSIEVE_CORPORA"

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
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results are written.")]
DEFAULT_OUT = Path("lab-results")


class Settings(NamedTuple):
    """What every command that runs experiments takes, in the order of its help."""

    encoder: Annotated[str, typer.Option(help="minilm, a folder with an ONNX model, or st:NAME.")] = DEFAULT_ENCODER
    dim: Annotated[int, typer.Option(min=1, help="Dimensions to reduce to.")] = DIM
    queries: Annotated[int | None, typer.Option(min=1, help="Only the first so many queries.", show_default="all")] = (
        None
    )
    threads: Threads = None
    quick: Annotated[bool, typer.Option("--quick", help="Few queries and settings: to see that it works.")] = False

    def options(self, *, progress: bool) -> Options:
        """As experiments take them."""
        from maxsieve.lab.experiment import Options

        return Options(self.queries, self.threads, self.quick, progress)

    def datasets(self, names: Iterable[str], *, progress: bool) -> list[Dataset]:
        """The corpora, read; results are named after them, so that no two may have the same name."""
        require_extra()
        from maxsieve.lab.dataset import Dataset

        found: dict[str, Dataset] = {}
        for name in dict.fromkeys(names):
            dataset = Dataset.of(locate(name), encoder=self.encoder, dim=self.dim, progress=progress)
            if dataset.name in found:
                raise ValueError(f"{name} is the second corpus called {dataset.name!r}: run them one by one")
            found[dataset.name] = dataset
        return list(found.values())


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `Settings` where it has a parameter of that name."""
    hints = get_type_hints(Settings, include_extras=True)
    own = signature(command, eval_str=True)
    defaults = Settings._field_defaults
    expanded = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hints[name])
        for name in Settings._fields
    ]
    parameters: list[Parameter] = []
    for parameter in own.parameters.values():
        if parameter.annotation is Settings:
            parameters += expanded
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    def expanding(**given: Any) -> None:
        settings = Settings(**{name: given.pop(name) for name in Settings._fields})
        command(settings=settings, **given)

    expanding.__name__, expanding.__doc__ = command.__name__, command.__doc__
    expanding.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    expanding.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return expanding


def require_extra() -> None:
    """Says at once what is missing, not after an hour of encoding."""
    from maxsieve.common.optional import optional

    for module in ("matplotlib", "scipy", "jinja2"):
        optional(module, "lab")


def locate(name: str) -> str:
    """A path as it is; a bare name as a folder or ``.npz`` file in the folder that MAXSIEVE_CORPORA names, if there.

    >>> locate("./here"), locate("beir/scifact/test")
    ('./here', 'beir/scifact/test')
    """
    folder = os.environ.get(CORPORA)
    if folder and not Path(name).exists() and Path(name).name == name:
        for candidate in (Path(folder, name), Path(folder, f"{name}.npz")):
            if candidate.exists():
                return str(candidate)
    return name
