"""Runs Python in a separate process: for failures that would end this process, or change its state."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest


def glibc() -> ctypes.CDLL | None:
    """glibc's math library, if that is the C library of this Linux: musl has no such file."""
    try:
        return ctypes.CDLL("libm.so.6") if sys.platform == "linux" else None
    except OSError:
        return None


SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")
not_sanitized = pytest.mark.skipif(SANITIZED, reason="sanitizers need more memory, and more of the stack")
takes_ctrl_c = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a console, not to a process")

PROLOGUE = """
import signal, sys, threading
import numpy as np
import maxsieve as ms
rng = np.random.default_rng(0)
"""


def run(code: str, *, prologue: str = PROLOGUE, **environment: str) -> str:
    """The output of the code. It must end by itself, without an error."""
    command = [sys.executable, "-c", prologue + code]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    return done.stdout
