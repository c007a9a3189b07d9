"""The sdist has what a build needs, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BESIDE = {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "THIRD-PARTY-LICENSES.txt", "pyproject.toml"}
# Files of a working tree that must not be in the sdist.
LITTER = [
    "src/maxsieve/_core.pyi",
    "src/maxsieve/_core.so",
    "src/maxsieve/__pycache__/index.pyc",
    "notes.txt",
]


def _tracked(*folders: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    tree, made = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("sdist")
    for name in _tracked("."):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for name in LITTER:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    program = f"from scikit_build_core.build import build_sdist; build_sdist({str(made)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=tree, check=True)
    (file,) = made.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        return {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}


def test_every_source_is_there(names: set[str]) -> None:
    assert _tracked("src", "native") <= names
    assert names >= BESIDE


def test_nothing_else_is(names: set[str]) -> None:
    assert names == _tracked("src", "native") | BESIDE
