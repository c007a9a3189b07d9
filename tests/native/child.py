"""Python in a process of its own: for what would end the process, or change its state, if it went wrong."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest


def glibc() -> ctypes.CDLL | None:
    """glibc's library of mathematics, where that is the C library of a Linux: musl has none of this name."""
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
    """What the code prints. It must end by itself, without an error."""
    command = [sys.executable, "-c", prologue + code]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    return done.stdout
