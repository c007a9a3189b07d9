"""The time to only read the codes: the limit for every method that reads each of them.

The loop is C, compiled for this CPU when it is first needed. Without a C compiler, NumPy's maximum of int8 is used,
which is vectorised, too. It takes up to a quarter longer.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

import maxsieve as ms

Read = Callable[[npt.NDArray[np.int8]], int]


def codes(index: ms.Index) -> list[npt.NDArray[np.int8]]:
    """The arrays of codes that a search of the whole index reads."""
    return [segment.codes for segment in index.storage.snapshot.segments]


def resident_bytes(index: ms.Index) -> int:
    """Bytes that a scan reads: codes, offsets and bounds, without the stored rows, of which few are rescored."""
    return sum(segment.nbytes - segment.rows.nbytes for segment in index.storage.snapshot.segments)


@cache
def reader() -> tuple[str, Read]:
    """What reads, by name, and the function."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return "read limit (NumPy)", lambda array: int(array.max())
    source = Path(__file__).with_suffix(".c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "readlimit.so")
        subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
        function = ctypes.CDLL(str(library)).read_limit
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_uint64
    return "read limit", lambda array: int(function(array.ctypes.data, array.nbytes))
