"""Runs one experiment on one corpus and records how to reproduce it; or finds a saved result that is still valid."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import maxsieve
from maxsieve import __version__
from maxsieve.common.machine import cpu, installed, system, total_bytes
from maxsieve.common.threads import thread_count
from maxsieve.lab.corpora.corpus import digest
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options, find
from maxsieve.lab.results import ExperimentResult, load

PACKAGES = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "sentence-transformers",
    "torch",
    "scipy",
    "matplotlib",
    "bm25s",
    "PyStemmer",
)
"""The packages that take part in an experiment, besides maxsieve itself."""


def facts(*, encoder: str = "", packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Everything a reader needs to judge a figure, and to reproduce it.

    >>> list(facts())
    ['machine', 'versions', 'date', 'command']
    """
    return {
        "machine": machine(),
        "versions": versions(packages, encoder=encoder),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command(sys.argv),
    }


def machine() -> dict[str, str]:
    """CPU, the number of CPUs that this process may use, the kernel in use, and memory."""
    return {
        "CPU": cpu(),
        "CPUs to use": str(thread_count(None)),
        "kernel": maxsieve.isa(),
        "memory": f"{total_bytes() / 2**30:.1f} GiB",
        "system": system(),
    }


def versions(packages: Sequence[str] = PACKAGES, *, encoder: str = "") -> dict[str, str]:
    """Versions of maxsieve and of the packages that are installed, and the encoder's name.

    >>> list(versions(["numpy", "no-such-package"]))
    ['maxsieve', 'numpy']
    """
    known = {"maxsieve": version("maxsieve"), **{name: found for name in packages if (found := installed(name))}}
    return {**known, "encoder": encoder} if encoder else known


@lru_cache(maxsize=1)
def build() -> str:
    """Distinguishes this build of maxsieve from others of the same version."""
    library = find_spec("maxsieve._core")
    if library is None or library.origin is None:
        raise FileNotFoundError("the native library of maxsieve is not in a file")
    return digest_of_build(Path(maxsieve.__file__).parent, Path(library.origin))[:12]


def digest_of_build(package: Path, library: Path) -> str:
    """SHA-256 of a package's files and its native library, without the command line, which does not affect results."""
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*") if path.is_file()}
    unwanted = ("__pycache__", "cli")
    kept = {name: path for name, path in files.items() if not any(part in unwanted for part in name.split("/"))}
    return digest(sorted({**kept, library.name: library}.items()))


def command(arguments: Sequence[str]) -> str:
    """The command line as one would type it.

    >>> command(["/somewhere/maxsieve/cli/__main__.py", "lab", "list"]), command(["/bin/maxsieve", "a b"])
    ('python -m maxsieve.cli lab list', "maxsieve 'a b'")
    """
    program = Path(arguments[0])
    words = ["python", "-m", "maxsieve.cli"] if program.name == "__main__.py" else [program.name]
    return shlex.join([*words, *arguments[1:]])


def run(name: str, dataset: Dataset, options: Options) -> ExperimentResult:
    """Runs an experiment. The result's facts are the settings, the machine, the date and the command."""
    result = find(name)(dataset, options)
    own = {"settings": settings(dataset, options), **facts(encoder=dataset.encoder), **computed_by(dataset)}
    return replace(result, facts={**result.facts, **own})


def reusable(name: str, dataset: Dataset, options: Options, folder: Path) -> ExperimentResult | None:
    """The saved result, if it was made by the same build from the same corpus, with the same settings and machine."""
    path = folder / f"{ExperimentResult(name, dataset.name, '', []).stem}.json"
    if not path.is_file():
        return None
    found = load(path)
    wanted = {"settings": settings(dataset, options), **computed_by(dataset)}
    return found if all(found.facts.get(key) == value for key, value in wanted.items()) else None


def settings(dataset: Dataset, options: Options) -> dict[str, Any]:
    """The user's settings."""
    return {
        "maxsieve": __version__,
        "corpus": dataset.digest[:12],
        "encoder": dataset.encoder or "ready-made",
        "dim": dataset.chosen,
        "queries": options.queries,
        "threads": options.threads,
        "quick": options.quick,
    }


def computed_by(dataset: Dataset) -> dict[str, Any]:
    """What else a result depends on: sources, machine, versions, and the contents of the model's files."""
    return {
        "build": build(),
        "machine": machine(),
        "versions": versions(encoder=dataset.encoder),
        "encoder": dataset.fingerprint,
    }
