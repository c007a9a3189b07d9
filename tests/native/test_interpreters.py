"""Where the engine can't work, its import says so: in a subinterpreter, in a Python without the GIL."""

from __future__ import annotations

import sys

import pytest

import child

SUBINTERPRETER = """
import _xxsubinterpreters as subinterpreters
FIRST
subinterpreters.run_string(subinterpreters.create(), '''
try:
    import maxsieve
except ImportError as problem:
    print(problem, flush=True)
''')
import numpy as np, maxsieve
print(maxsieve.Index.build([np.eye(2)] * 9, threads=2).search(np.eye(2), 1).ids)
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the module that makes subinterpreters has another name")
@pytest.mark.parametrize("first", ["", "import maxsieve"], ids=["alone", "after the main interpreter"])
def test_subinterpreter(first: str) -> None:
    """It is refused, and the main interpreter continues."""
    said = child.run(SUBINTERPRETER.replace("FIRST", first), prologue="").splitlines()
    assert said == [
        "maxsieve can't be used in a subinterpreter: import it in the main interpreter, or in a process of its own",
        "[0]",
    ]


def test_free_threaded_python() -> None:
    """Such a Python has a `t` in its ABI flags; here they are faked."""
    code = """
import sys
sys.abiflags = getattr(sys, "abiflags", "") + "t"  # Windows has had them since 3.14
try:
    import maxsieve
except ImportError as problem:
    print(problem)
"""
    assert child.run(code, prologue="") == (
        "maxsieve does not support free-threaded Python (3.13t, 3.14t): use the usual build, with the GIL\n"
    )
