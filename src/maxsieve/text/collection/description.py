"""The description of a collection: how its vectors are made. Its folder is created completely or not at all.

`collection.json` is written last and makes a folder a collection. `projection.npy` is the matrix that reduces vectors.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import MAX_DIM
from maxsieve.common.files import (
    check_own_folder,
    opening_folder,
    opening_own_file,
    read_small,
    replacing_as,
    replacing_folder,
    sync_folder,
)
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.index import Index
from maxsieve.storage.lock import NAME as LOCK
from maxsieve.storage.lock import discard_lock, new_folder
from maxsieve.storage.manifest import SHARDS_NAME
from maxsieve.storage.sealed_json import reading_fields
from maxsieve.storage.segments import Store
from maxsieve.text.collection.pictures import FOLDER as PICTURES
from maxsieve.text.encoders.encoder import Encoder, Visual
from maxsieve.text.encoders.pooled import MOST as MOST_POOLED
from maxsieve.text.lexical.word_table import FOLDER as TABLES
from maxsieve.text.passages import sizes_for
from maxsieve.text.splitter import Sizes

NAME = "collection.json"
PROJECTION = "projection.npy"
INDEX = "index"
STAGING = "staging"
"""The folder of encoded batches that are not in a collection in shards yet."""

FOLDERS = (INDEX, STAGING, TABLES, PICTURES, "sync", "queries")
"""Folders that a collection may have inside its own. `sync` and `query_log` write to the last ones."""

FORMAT = "maxsieve collection"
VERSION = 3
"""Collections without pages are written as version 2, and without passages and pooled vectors as version 1."""

MOST_BYTES = 1 << 20
"""Limit on `collection.json`: no description needs as much."""

MOST_TOKENS = 1 << 20
"""Limit on the tokens of a passage."""

MOST_PROJECTION_BYTES = 1 << 30
_NPY_HEADER = 1 << 10
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d{1,9}), (\d{1,9})\), \} *\n",
    re.DOTALL,
)
_LEFT_BEHIND = (NAME + ".tmp", PROJECTION, PROJECTION + ".tmp")
"""Files that a killed creation may have left, besides the index and the lock."""


@dataclass(frozen=True)
class Description:
    """The encoder by name and fingerprint, its own dimension, and how its vectors are reduced to ``dim``.

    ``projection`` is the SHA-256 of `projection.npy`. If it is None and ``dim`` is below the encoder's, the projection
    is not fitted yet, and the collection has no vectors. ``passages`` are the sizes of passages; None if texts are not
    split.
    """

    encoder: str
    fingerprint: dict[str, str]
    encoder_dim: int
    dim: int
    projection: str | None = None
    pool: int = 1
    """How many times fewer vectors a document has than tokens; left out of the file if it is 1."""
    passages: Sizes | None = None
    pages: bool = False
    """Whether each page of a file is a document, with a picture; left out of the file if not."""

    @property
    def pending(self) -> bool:
        """Whether the projection is still to be fitted."""
        return self.projection is None and self.dim < self.encoder_dim

    def fits(self, given: Encoder) -> bool:
        """Whether an encoder's vectors can be compared with those in the collection.

        If there is a fingerprint, it decides: a model that was moved has another name.
        """
        fingerprint = dict(given.fingerprint)
        same = fingerprint == self.fingerprint if fingerprint or self.fingerprint else given.name == self.encoder
        return same and given.dim == self.encoder_dim

    def check_encoder(self, given: Encoder, path: Path) -> None:
        """Refuses an encoder whose vectors can't be compared with those in the collection."""
        if self.fits(given):
            return
        fingerprint = dict(given.fingerprint)
        keys = sorted(self.fingerprint.keys() | fingerprint.keys())
        differing = [key for key in keys if self.fingerprint.get(key) != fingerprint.get(key)]
        first, second = _describe(self.encoder, self.encoder_dim), _describe(given.name, given.dim)
        details = "".join(
            f"; its {key} is {_short(self.fingerprint.get(key))} there and {_short(fingerprint.get(key))} here"
            for key in differing[:2]
        )
        raise ValueError(
            f"{path} was made with the encoder {first}, but {second} was given{details}. "
            "Vectors of two encoders can't be compared: open the collection with its own encoder, or make a new one"
        )


def describe(encoder: Encoder, dim: int, pool: int = 1, *, split: bool, pages: bool = False) -> Description:
    """The description of a new collection. A visual model encodes whole pages, so these are not split."""
    visual = isinstance(encoder, Visual)
    passages = sizes_for(encoder) if split and not visual else None
    named = encoder.name, dict(encoder.fingerprint), encoder.dim
    return Description(*named, dim, pool=pool, passages=passages, pages=pages or visual)


def read_description(folder: Path) -> Description:
    """The description in a collection's folder, checked."""
    path = folder / NAME
    with opening_folder(folder, "a collection", NAME):
        text = _read(path, MOST_BYTES)
    with reading_fields(path):
        content = json.loads(text)
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise DamagedIndexError(f"{path} does not describe a collection")
        version = content.pop("version")
        if type(version) is int and version > VERSION:
            raise MaxsieveError(f"{path} has format version {version}; this maxsieve reads up to {VERSION}")
        if content.get("passages") is not None:
            content["passages"] = Sizes(**content["passages"])
        description = Description(**content)
        _check(description)
    return description


def write_description(folder: Path, description: Description) -> None:
    """Replaces the description durably: after a crash there is either the old one or the new one."""
    content = {"format": FORMAT, "version": VERSION, **asdict(description)}
    if description.passages is not None:
        content["passages"] = description.passages._asdict()
    else:
        del content["passages"]
    if description.pool == 1:
        del content["pool"]
    if not description.pages:
        del content["pages"]
        content["version"] = 2 if {"passages", "pool"} & content.keys() else 1  # so that older maxsieves can read it
    _replace(folder / NAME, json.dumps(content, indent=1).encode() + b"\n")


def write_projection(folder: Path, description: Description, matrix: NDArray[np.float32]) -> Description:
    """Writes the matrix durably, and returns a description that names it; the caller must write that."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(matrix, np.float32), allow_pickle=False)
    _replace(folder / PROJECTION, buffer.getvalue())
    return replace(description, projection=hashlib.sha256(buffer.getvalue()).hexdigest())


def read_projection(folder: Path, description: Description) -> NDArray[np.float32]:
    """The matrix [encoder's dim, dim] that the description names."""
    path = folder / PROJECTION
    shape = description.encoder_dim, description.dim
    try:
        content = _read(path, min(_NPY_HEADER + 4 * shape[0] * shape[1], MOST_PROJECTION_BYTES))
    except FileNotFoundError:
        raise DamagedIndexError(f"{path} is missing") from None
    if hashlib.sha256(content).hexdigest() != description.projection:
        raise DamagedIndexError(f"{path} does not have the SHA-256 that {NAME} names")
    try:
        return _to_matrix(content, shape)
    except ValueError as problem:
        raise DamagedIndexError(f"{path} is not a projection: {problem}") from None


def _to_matrix(content: bytes, shape: tuple[int, int]) -> NDArray[np.float32]:
    """The matrix in an .npy file as `write_projection` writes it. NumPy's own reader would evaluate the header."""
    header = _NPY.match(content)
    if header is None:
        raise ValueError("it is not an .npy file of float32")
    found = int(header[1]), int(header[2])
    if found != shape:
        raise ValueError(f"it has the shape {found}, not {shape}")
    values = content[header.end() :]
    if len(values) != 4 * shape[0] * shape[1]:
        raise ValueError(f"its matrix has {len(values)} bytes, not {4 * shape[0] * shape[1]}")
    matrix: NDArray[np.float32] = np.frombuffer(values, "<f4").reshape(shape)
    if not np.isfinite(matrix).all():
        raise ValueError("it holds NaN or infinity")
    return matrix


def index_folder(folder: Path) -> Path:
    """The folder of a collection's index: inside the collection's folder, or that itself if the index is in shards."""
    return folder if (folder / SHARDS_NAME).exists() else check_own_folder(folder / INDEX)


def create_folder(
    folder: Path, description: Description, matrix: NDArray[np.float32] | None, store: Store, shards: int | None
) -> None:
    """Creates a collection without documents in a new or empty folder. A failure leaves the folder as it was."""
    if shards is not None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(folder) as made:
            Index.create(description.dim, path=made, store=store, shards=shards).close()
            _describe_folder(made, description, matrix)
        return
    with new_folder(folder, "a collection", _check_empty, _remove_all):
        _discard_index(folder)  # what a creation left behind that was killed
        Index.create(description.dim, path=folder / INDEX, store=store).close()
        _describe_folder(folder, description, matrix)


def _describe_folder(folder: Path, description: Description, matrix: NDArray[np.float32] | None) -> None:
    if matrix is not None:
        description = write_projection(folder, description, matrix)
    write_description(folder, description)


def _check_empty(folder: Path) -> None:
    """Refuses a folder that is not empty. Files that a killed creation left do not count."""
    if folder.exists() and any(path.name not in (INDEX, LOCK, *_LEFT_BEHIND) for path in folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; Collection.open opens an existing collection")


def _discard_index(folder: Path) -> None:
    """Removes an index without documents. An index with documents stays, and then no collection can be created."""
    with suppress(OSError, MaxsieveError), Index.open(folder / INDEX) as index:
        index.storage.discard_if_empty()


def _remove_all(folder: Path) -> None:
    """Removes everything that was created, the lock last. The caller holds the lock."""
    _discard_index(folder)
    with suppress(OSError):
        (folder / INDEX).rmdir()
    for name in (NAME, *_LEFT_BEHIND):
        with suppress(OSError):
            (folder / name).unlink()
    discard_lock(folder)


def _check(description: Description) -> None:
    """Raises `ValueError` for values that maxsieve never writes."""
    strings = [description.encoder, *description.fingerprint.keys(), *description.fingerprint.values()]
    if not all(type(text) is str for text in strings):
        raise ValueError("the encoder is not named by strings")
    if not all(type(number) is int and 1 <= number <= MAX_DIM for number in (description.dim, description.encoder_dim)):
        raise ValueError("a dimension is out of range")
    if description.projection is None and description.dim > description.encoder_dim:
        raise ValueError(f"{description.dim} dimensions of {description.encoder_dim}")
    if (sizes := description.passages) is not None and not (
        all(type(size) is int for size in sizes)
        and 1 <= sizes.whole <= MOST_TOKENS
        and 0 <= sizes.overlap < sizes.passage <= MOST_TOKENS
    ):
        raise ValueError(f"the sizes of passages are {sizes!r}")
    if description.projection is not None and type(description.projection) is not str:
        raise ValueError(f"the projection is {description.projection!r}")
    if type(description.pool) is not int or not 1 <= description.pool <= MOST_POOLED:
        raise ValueError(f"vectors are pooled by {description.pool!r}")
    if type(description.pages) is not bool:
        raise ValueError(f"pages is {description.pages!r}")


def _read(path: Path, at_most: int) -> bytes:
    """The bytes of a regular file; a link, a pipe, a device or a file that is too large is damage."""
    with opening_own_file(path):
        return read_small(path, at_most=at_most)


def _replace(path: Path, content: bytes) -> None:
    with replacing_as(path.with_name(path.name + ".tmp"), path) as file:
        file.write(content)
    sync_folder(path.parent)


def _describe(name: str, dim: int) -> str:
    return f"{name!r} ({dim} dimensions)"


def _short(value: Any) -> str:
    return "absent" if value is None else value if len(value) <= 20 else f"{value[:12]}..."
