"""What a collection remembers of how its vectors are made: `collection.json` and `projection.npy`."""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import MAX_DIM
from maxsieve.common.files import naming_os_errors, sync_folder
from maxsieve.errors import DamagedIndexError, MaxsieveError

if TYPE_CHECKING:
    from maxsieve.text.encoder import Encoder

NAME = "collection.json"
PROJECTION = "projection.npy"
FORMAT = "maxsieve collection"
VERSION = 1


@dataclass(frozen=True)
class Record:
    """The encoder by name and fingerprint, its own dimension, and how its vectors are reduced to ``dim``.

    ``projection`` is the SHA-256 of `projection.npy`. A record without one whose ``dim`` is below the encoder's own is
    one of a collection whose projection is still to be fitted: no vector is in it yet.
    """

    encoder: str
    fingerprint: dict[str, str]
    encoder_dim: int
    dim: int
    projection: str | None = None

    @property
    def pending(self) -> bool:
        """Whether the projection is still to be fitted."""
        return self.projection is None and self.dim < self.encoder_dim

    def check_encoder(self, given: Encoder, path: Path) -> None:
        """Refuses an encoder whose vectors can't be compared with those in the collection.

        The fingerprint decides where there is one: a model may have been moved, and then has another name.
        """
        fingerprint = dict(given.fingerprint)
        same = fingerprint == self.fingerprint if fingerprint or self.fingerprint else given.name == self.encoder
        if same and given.dim == self.encoder_dim:
            return
        keys = sorted(self.fingerprint.keys() | fingerprint.keys())
        differing = [key for key in keys if self.fingerprint.get(key) != fingerprint.get(key)]
        first, second = _describe(self.encoder, self.encoder_dim), _describe(given.name, given.dim)
        details = "".join(
            f"; its {key} is {_short(self.fingerprint.get(key))} there and {_short(fingerprint.get(key))} here"
            for key in differing[:2]
        )
        raise ValueError(
            f"{path} was made with the encoder {first}, and {second} is another{details}. "
            "Vectors of two encoders can't be compared: open the collection with its own, or make a new one"
        )


def record_of(encoder: Encoder, dim: int) -> Record:
    """The record of a new collection."""
    return Record(encoder.name, dict(encoder.fingerprint), encoder.dim, dim)


def read_record(folder: Path) -> Record:
    """The record in a collection's folder, checked."""
    path = folder / NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        what = f"is no collection: it has no {NAME}" if folder.exists() else "does not exist"
        raise FileNotFoundError(f"{folder} {what}") from None
    except NotADirectoryError:
        raise NotADirectoryError(f"{folder} is no folder; a collection is one") from None
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise DamagedIndexError(f"{path} is no record of a collection")
        version = content.pop("version")
        if type(version) is int and version > VERSION:
            raise MaxsieveError(f"{path} has format version {version}; this maxsieve reads up to {VERSION}")
        record = Record(**content)
        _check(record)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise DamagedIndexError(f"{path} can't be read: {problem!r}") from None
    return record


def write_record(folder: Path, record: Record) -> None:
    """Replaces the record, durably: after a crash there is the old one or this one."""
    content = {"format": FORMAT, "version": VERSION, **asdict(record)}
    _replace(folder / NAME, json.dumps(content, indent=1).encode() + b"\n")


def write_projection(folder: Path, record: Record, matrix: NDArray[np.float32]) -> Record:
    """Writes the matrix, durably, and returns the record that names it, which is still to be written."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(matrix, np.float32), allow_pickle=False)
    _replace(folder / PROJECTION, buffer.getvalue())
    return replace(record, projection=hashlib.sha256(buffer.getvalue()).hexdigest())


def read_projection(folder: Path, record: Record) -> NDArray[np.float32]:
    """The matrix [encoder's dim, dim] that the record names."""
    path = folder / PROJECTION
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DamagedIndexError(f"{path} is missing") from None
    if hashlib.sha256(content).hexdigest() != record.projection:
        raise DamagedIndexError(f"{path} does not have the SHA-256 that {NAME} names")
    matrix: NDArray[np.float32] = np.load(io.BytesIO(content), allow_pickle=False)
    if matrix.shape != (record.encoder_dim, record.dim):
        raise DamagedIndexError(f"{path} has the shape {matrix.shape}, not {(record.encoder_dim, record.dim)}")
    return matrix


def _check(record: Record) -> None:
    """Raises `ValueError` for what no writer writes."""
    strings = [record.encoder, *record.fingerprint.keys(), *record.fingerprint.values()]
    if not all(type(one) is str for one in strings):
        raise ValueError("the encoder is not named by strings")
    if not all(type(one) is int and 1 <= one <= MAX_DIM for one in (record.dim, record.encoder_dim)):
        raise ValueError("a dimension is out of range")
    if record.projection is None and record.dim > record.encoder_dim:
        raise ValueError(f"{record.dim} dimensions of {record.encoder_dim}")
    if record.projection is not None and type(record.projection) is not str:
        raise ValueError(f"the projection is {record.projection!r}")


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with naming_os_errors(temporary), open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def _describe(name: str, dim: int) -> str:
    return f"{name!r} ({dim} dimensions)"


def _short(value: Any) -> str:
    return "absent" if value is None else value if len(value) <= 20 else f"{value[:12]}..."
