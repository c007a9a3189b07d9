"""Downloads from the hub: checkpoints for Sentence Transformers, and built-in models at a fixed revision."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from maxsieve.common.optional import optional
from maxsieve.errors import Argument, Function, ModelFetchError, ModelMissingError, hinted
from maxsieve.text.encoders.builtin import MODELS, HubRepository

_OTHER_FRAMEWORKS = ["*.onnx", "*.onnx_data", "*.h5", "*.msgpack", "*.ot", "*.tflite", "openvino/*", "coreml/*"]

PATIENCE = 5
"""Timeout of the hub, in seconds; after it, another source is tried."""


class Checkpoint(NamedTuple):
    """A checkpoint on this machine."""

    name: str
    """The name that finds it again; with the revision, if it comes from the hub."""
    folder: Path
    revision: str | None
    """The hub's commit; None for a folder or a built-in model."""


def find_checkpoint(name: str) -> Checkpoint:
    """The checkpoint of that name (a name on the hub may end in ``@`` and a revision); nothing is downloaded."""
    from maxsieve.text.encoders.models import model_path

    if name in MODELS:
        if MODELS[name].onnx:
            raise ValueError(f"{name} is not for Sentence Transformers: its encoder is called {name!r}")
        return Checkpoint(name, model_path(name), None)
    folder = Path(name).absolute()
    if folder.is_dir():
        return Checkpoint(str(folder), folder, None)
    try:
        found = _snapshot(name, local_files_only=True)
    except ValueError as problem:
        raise ValueError(f"{name!r} is neither a folder nor a name on the hub: {problem}") from None
    except FileNotFoundError:
        missing = ModelMissingError(f"{name} is neither a folder nor in the hub's cache")
        raise hinted(missing, ": {} downloads it", Function("fetch_model", (Argument("", f"st:{name}"),))) from None
    return Checkpoint(f"{name.partition('@')[0]}@{found.name}", found, found.name)


def fetch_checkpoint(name: str) -> Path:
    """Downloads a checkpoint into the cache of `huggingface_hub`, at its newest revision or the one after ``@``."""
    try:
        return _snapshot(name, local_files_only=False)
    except (OSError, ValueError) as problem:
        raise ModelFetchError(
            f"the hub could not provide {name}: {problem}\n"
            "A folder with the checkpoint's files also works: 'st:FOLDER'."
        ) from None


def download_files(repository: HubRepository, names: Iterable[str], folder: Path) -> None:
    """Downloads files of a repository into a folder; `ModelFetchError` if the hub can't be reached."""
    try:
        with _asking(repository.name) as (hub, _):
            for name in names:
                hub.hf_hub_download(
                    repository.name, name, revision=repository.revision, local_dir=folder, etag_timeout=PATIENCE
                )
    finally:
        shutil.rmtree(folder / ".cache", ignore_errors=True)  # the hub's own records of its downloads


def repository_files(repository: str, revision: str | None) -> tuple[str, dict[str, Any]]:
    """The commit of a repository, and its files with what the hub states about each: size, ``blob_id`` and ``lfs``."""
    with _asking(repository) as (hub, endpoint):
        info = hub.HfApi(endpoint=endpoint).model_info(repository, revision=revision, files_metadata=True)
        if not re.fullmatch("[0-9a-f]{40}", info.sha or ""):
            raise ModelFetchError(f"the hub states no commit of {repository}")
        return info.sha, {sibling.rfilename: sibling for sibling in info.siblings or []}


def download_file(repository: str, revision: str, name: str, folder: Path) -> Path:
    """One file of a repository in a folder; what an interrupted download left there is used."""
    with _asking(repository) as (hub, endpoint):
        found = hub.hf_hub_download(repository, name, revision=revision, local_dir=folder, endpoint=endpoint)
        return Path(found)


@contextmanager
def _asking(repository: str) -> Iterator[tuple[Any, str]]:
    """`huggingface_hub` and the hub's address; an error inside becomes a `ModelFetchError`."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ModelFetchError("the hub was not asked: HF_HUB_OFFLINE is set")
    hub = optional("huggingface_hub", "text")
    endpoint = hub_address()
    _reach(endpoint)
    try:
        yield hub, endpoint
    except ModelFetchError:
        raise
    except Exception as problem:  # its errors have no other common base class
        reason = str(problem).strip().partition("\n")[0] or type(problem).__name__
        raise ModelFetchError(f"the hub could not provide {repository}: {reason}") from None


def hub_address() -> str:
    """The hub's address: the environment variable ``HF_ENDPOINT``, or the public one."""
    return str(optional("huggingface_hub.constants", "text").ENDPOINT)


def _reach(endpoint: str) -> None:
    """Raises an error if the hub does not answer: its own library would retry for half a minute."""
    import urllib.error
    import urllib.request

    try:
        urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return  # it answers
    except (OSError, ValueError) as problem:
        raise ModelFetchError(f"the hub can't be reached at {endpoint}: {problem}") from None


def _snapshot(name: str, *, local_files_only: bool) -> Path:
    hub = optional("huggingface_hub", "st")
    repository, _, revision = name.partition("@")
    which = {"revision": revision or None, "ignore_patterns": _OTHER_FRAMEWORKS}
    return Path(hub.snapshot_download(repository, local_files_only=local_files_only, **which))
