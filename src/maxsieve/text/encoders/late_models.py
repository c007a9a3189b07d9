"""Late-interaction models on the hub: short names for some, and any other repository with an ONNX model.

A repository is pinned to the commit that was found when it was fetched. Only data files are downloaded, each compared
with the digest that the hub states for it, and their digests are recorded. What is loaded later are these files.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from maxsieve.common.cache import cache_folder, once
from maxsieve.errors import Argument, Function, ModelFetchError, ModelMissingError, hinted
from maxsieve.text.encoders.carriers import sha256


@dataclass(frozen=True)
class LateModel:
    """A late-interaction model: where it is, and what its authors published about it."""

    repository: str
    """Owner and name on the hub, and the ONNX file if it has several or another name than ``model.onnx``."""
    parameters: int
    dim: int
    licence: str
    quality: float
    """nDCG@10 on NanoBEIR, as published."""
    size: int
    """Bytes of the ONNX model, about."""


LATE_MODELS = {
    "answerai-colbert-small": LateModel(
        "answerdotai/answerai-colbert-small-v1/vespa_colbert.onnx", 33_000_000, 96, "Apache-2.0", 0.655, 134_000_000
    ),
    "mxbai-edge-colbert-32m": LateModel(
        "lightonai/mxbai-edge-colbert-v0-32m-onnx", 32_000_000, 64, "Apache-2.0", 0.652, 130_000_000
    ),
    "mxbai-edge-colbert-17m": LateModel(
        "mixedbread-ai/mxbai-edge-colbert-v0-17m", 17_000_000, 48, "Apache-2.0", 0.641, 70_000_000
    ),
    "gte-moderncolbert": LateModel(
        "lightonai/GTE-ModernColBERT-v1", 149_000_000, 128, "Apache-2.0", 0.672, 600_000_000
    ),
    "lateon-regularized": LateModel("lightonai/LateOn-regularized", 149_000_000, 128, "Apache-2.0", 0.690, 600_000_000),
}
RECOMMENDED = "answerai-colbert-small"
"""What ``maxsieve model fetch`` takes: the best of the small ones by published quality, with a free licence."""

_NAME = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[\w.-]+))?(/(?P<file>[\w./-]+\.onnx))?")
_DATA = re.compile(
    r"(tokenizer|tokenizer_config|special_tokens_map|config|onnx_config|config_sentence_transformers|modules"
    r"|sentence_bert_config)\.json|artifact\.metadata|\d+_\w+/(config\.json|model\.safetensors)"
)
_COMMIT = re.compile("[0-9a-f]{40}")
_RECORD = "maxsieve.json"


class _Name(NamedTuple):
    repository: str
    revision: str | None
    file: str | None

    @property
    def folder(self) -> Path:
        """Where its revisions are."""
        kept = [self.repository, *([self.file] if self.file else [])]
        return cache_folder() / "models" / "hub" / "--".join(kept).replace("/", "--")


def is_late_model(name: str) -> bool:
    """Whether a name is a short name, or could be a repository of the hub."""
    return name in LATE_MODELS or _NAME.fullmatch(name) is not None


def find_late_model(name: str) -> Path:
    """The folder of a model that was fetched, after its files were checked; nothing is downloaded."""
    asked = _parse(name)
    revision = _pinned(asked)
    if revision is None:
        raise _to_fetch(ModelMissingError(f"the model {name} was not fetched"), name)
    folder = asked.folder / revision
    for file, digest in _record(folder).items():
        path = folder / file
        if not path.is_file() or sha256(path) != digest:
            raise _to_fetch(ModelMissingError(f"{path} is missing or damaged"), name)
    return folder


def is_fetched(name: str) -> bool:
    """Whether a model was fetched; its files are checked when it is loaded."""
    asked = _parse(name)
    return (revision := _pinned(asked)) is not None and bool(_record(asked.folder / revision))


def full_name(name: str) -> str:
    """The name that a collection records: a short name, or the repository with its revision."""
    if name in LATE_MODELS:
        return name
    asked = _parse(name)
    file = f"/{asked.file}" if asked.file else ""
    return f"{asked.repository}@{_pinned(asked)}{file}"


def fetch_late_model(name: str) -> Path:
    """Downloads a model, unless it was fetched and is undamaged; an interrupted download is resumed.

    ``owner/name@revision`` asks for another revision than the pinned one, and pins that.
    """
    asked = _parse(name)
    if asked.revision is None and is_fetched(name):
        try:
            return find_late_model(name)
        except ModelMissingError:
            asked = asked._replace(revision=_pinned(asked))
    from maxsieve.text.encoders.hub import repository_files

    revision, files = repository_files(asked.repository, asked.revision)
    wanted = _choose(asked, files)
    folder = asked.folder / revision

    def make(scratch: Path) -> None:
        _download(asked.repository, revision, {file: files[file] for file in wanted}, scratch)

    once(folder, make, is_whole=_is_whole, resume=True)
    (asked.folder / "pinned").write_text(revision, encoding="ascii")
    return folder


def _to_fetch(error: ModelMissingError, name: str) -> ModelMissingError:
    if name in LATE_MODELS:
        return hinted(error, ": {} downloads it", Function("fetch_model", (Argument("", name),)))
    ending = f": {{}} downloads it; for a checkpoint of Sentence Transformers, give 'st:{name}'"
    return hinted(error, ending, Function("fetch_model", (Argument("", name),)))


def _parse(name: str) -> _Name:
    whole = LATE_MODELS[name].repository if name in LATE_MODELS else name
    found = _NAME.fullmatch(whole)
    if found is None or ".." in PurePosixPath(whole).parts:
        raise ValueError(f"{name!r} is no name on the hub: owner/name is expected, or one of {', '.join(LATE_MODELS)}")
    return _Name(found["repository"], found["revision"], found["file"])


def _pinned(asked: _Name) -> str | None:
    """The revision that was fetched last, or the one in the name."""
    if asked.revision is not None and _COMMIT.fullmatch(asked.revision):
        return asked.revision
    path = asked.folder / "pinned"
    revision = path.read_text(encoding="ascii", errors="replace").strip() if path.is_file() else ""
    return revision if _COMMIT.fullmatch(revision) else None


def _record(folder: Path) -> dict[str, str]:
    try:
        content = json.loads((folder / _RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _is_whole(folder: Path) -> bool:
    record = _record(folder)
    return bool(record) and all(
        (folder / file).is_file() and sha256(folder / file) == digest for file, digest in record.items()
    )


def _choose(asked: _Name, files: dict[str, Any]) -> list[str]:
    """The files to download: what describes the model, and one ONNX file with its weights."""
    for file in files:
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or re.search(r"[\\:\0-\x1f\x7f]", file) or not path.parts:
            raise ModelFetchError(f"refused: {asked.repository} has a file with the name {file!r:.80}")
    graphs = [file for file in files if file.endswith(".onnx")]
    standard = [file for file in ("model.onnx", "onnx/model.onnx") if file in graphs]
    chosen = asked.file or (standard or graphs if len(graphs) == 1 or standard else [None])[0]
    if not graphs:
        raise ModelFetchError(
            f"{asked.repository} has no ONNX model: export its checkpoint 'st:{asked.repository}', with torch"
        )
    if chosen not in graphs:
        raise ModelFetchError(
            f"{asked.repository} has these ONNX models: {', '.join(graphs)}; name one: {asked.repository}/{graphs[0]}"
        )
    return [file for file in files if _DATA.fullmatch(file) or file.startswith(chosen)]


def _download(repository: str, revision: str, files: dict[str, Any], scratch: Path) -> None:
    """Downloads into a folder, checks every digest, and tries whether the model can be opened."""
    from maxsieve.text.encoders.encoder import open_folder
    from maxsieve.text.encoders.hub import download_file

    record = {}
    for file, stated in files.items():
        path = download_file(repository, revision, file, scratch)
        if not _matches(path, stated):
            path.unlink()
            raise ModelFetchError(f"refused: {file} of {repository} is not the file that the hub lists at {revision}")
        record[file] = sha256(path)
    shutil.rmtree(scratch / ".cache", ignore_errors=True)  # the hub's own records of its downloads
    try:
        open_folder(scratch, threads=1)
    except (ValueError, OSError) as problem:
        raise ModelFetchError(f"{repository} was downloaded, but it can't be used: {problem}") from None
    (scratch / _RECORD).write_text(json.dumps(record, indent=2), encoding="utf-8")


def _matches(path: Path, stated: Any) -> bool:
    """Whether a file is what the hub states: SHA-256 for large files, git's own digest for others."""
    if stated.lfs is not None:
        return bool(sha256(path) == stated.lfs.sha256)
    content = path.read_bytes()
    return bool(hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == stated.blob_id)
