"""Objects that exist until the interpreter ends are not reported as leaks; objects without references are freed.

nanobind counts its objects after the interpreter has ended, and reports all that are left as leaks. Examples are an
index in a daemon thread, or in a library that never releases it. So the count is off unless a test asks for it.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNTED = "from maxsieve import _core; _core.set_leak_warnings(True)\n"

BUILT = """
import numpy as np, maxsieve as ms
rng = np.random.default_rng(0)
index = ms.Index.build(rng.standard_normal((400, 8)), lengths=[4] * 100)
"""

DAEMON = """
import threading
def wait(held, started=threading.Event()):
    started.set()
    threading.Event().wait()
thread = threading.Thread(target=wait, args=(index,), daemon=True)
thread.start()
"""

HELD_OUTSIDE = """
import ctypes
ctypes.pythonapi.Py_IncRef(ctypes.py_object(index))  # as a library in C may hold it, or a component that is never freed
"""

EVERYTHING = """
import gc, pickle, tempfile, threading
query = rng.standard_normal((3, 8))
with tempfile.TemporaryDirectory() as folder:
    stored = ms.Index.build(rng.standard_normal((400, 8)), lengths=[4] * 100, path=folder, metadata=[1] * 100)
    for each in (index, stored):
        each.add([np.ones((2, 8))], [1000])
        each.delete([3])
        each.calibrate(rng.standard_normal((20, 3, 8)), k=10)
        policies = [ms.Certified(), ms.Exhaustive(), ms.Bandit(), ms.Calibrated(overlap=0.9)]
        kept = [each.search(query, policy=policy) for policy in policies]
        kept += each.search_many([query] * 5, candidates=[1, 2, 1000])
        for hits in kept:
            hits.report, hits.explain(0), hits.metadata
        threads = [threading.Thread(target=each.search, args=(query,)) for _ in range(4)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        for bad in (np.ones((3, 9)), np.full((3, 8), np.nan)):
            try:
                each.search(bad)
            except ValueError as problem:
                pass
        each.compact()
    stored.close()
    del kept, hits  # which hold on to files that Windows could not remove
ms.rerank(query, [np.ones((2, 8))]).explain(0), ms.maxsim([query], [np.ones((2, 8))])
del index, stored, each, threads
"""


def stderr_of(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("holder", [DAEMON, HELD_OUTSIDE], ids=["a daemon thread", "another library"])
def test_an_index_that_lives_until_the_end_is_no_leak(holder: str) -> None:
    assert stderr_of(BUILT + holder) == ""


def test_a_leak_would_be_counted() -> None:
    assert "nanobind: leaked" in stderr_of(COUNTED + BUILT + HELD_OUTSIDE)


def test_nothing_leaks() -> None:
    assert stderr_of(COUNTED + BUILT + EVERYTHING) == ""
