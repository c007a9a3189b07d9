"""If a step fails, its command fails, and later steps are not run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for POSIX")

APT_CACHE = """
for package; do [ "$package" = known ] && exit 0; done
exit 100
"""
"""Like the real one: of several packages, it succeeds if it knows one."""


def program(path: Path, code: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60
    )


def test_requirements_that_can_not_be_listed_are_not_taken_for_none(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "native/nothing", "tools/requirements.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    program(tmp_path / ".venv" / "bin" / "python", "exit 1")
    program(tmp_path / ".venv" / "bin" / "pip", "exit 0")
    assert run("make", ".venv/test.packages", cwd=tmp_path, MAKEFLAGS="").returncode != 0
    assert not (tmp_path / ".venv" / "test.packages").exists()
    program(tmp_path / ".venv" / "bin" / "python", "echo numpy")
    assert run("make", ".venv/test.packages", cwd=tmp_path, MAKEFLAGS="").returncode == 0
    assert (tmp_path / ".venv" / "test.packages").exists()


def test_nothing_is_run_under_sanitizers_after_a_build_that_failed(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "sanitize.sh", tmp_path / "tools")
    for name in ("sanitize", "tsan"):
        program(tmp_path / "build" / f"{name}-venv" / "bin" / "pip", "exit 1")
        program(tmp_path / "build" / f"{name}-venv" / "bin" / "python", f'[ "$1" != -m ] || touch {tmp_path}/ran')
    assert run("bash", "tools/sanitize.sh", cwd=tmp_path, CXX="true").returncode != 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may install packages")
@pytest.mark.parametrize(("packages", "known"), [(["known"], True), (["known", "other"], False), (["other"], False)])
def test_debian_must_have_every_package(tmp_path: Path, packages: list[str], known: bool) -> None:
    program(tmp_path / "apt-get", "exit 0")
    program(tmp_path / "apt-cache", APT_CACHE)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    code = f"source tools/debian.sh; can_install {' '.join(packages)}"
    assert (run("bash", "-c", code, cwd=ROOT, PATH=path).returncode == 0) == known
