"""Fuzzes the loader for a short time: it must find nothing. ``python tests/storage/fuzz_open.py 3600`` runs longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxsieve as ms
from long_form import scaled

from . import fuzz_open

SECONDS = scaled(60)


@pytest.mark.full
def test_guided() -> None:
    source = os.path.dirname(os.path.dirname(ms.__file__))
    # A process starts with the peak memory of the process that forked it, and the fuzzer would count that as its own.
    # So a small shell is between it and the tests.
    done = subprocess.run(
        ["sh", "-c", '"$0" "$@"; exit $?', sys.executable, fuzz_open.__file__, str(SECONDS)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, f"exit code {done.returncode}: {done.stdout}\n{done.stderr}"


def test_unguided(tmp_path: Path, isa: str) -> None:
    fuzz_open.unguided(fuzz_open.Target(tmp_path), scaled(400))
