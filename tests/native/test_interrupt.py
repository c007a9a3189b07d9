"""Ctrl-C ends a long call: each of these would run for minutes, far beyond the limit given to the child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from child import takes_ctrl_c

SETUP = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have been started with it ignored
import numpy as np
import maxsieve as ms
rng = np.random.default_rng(0)
ready = lambda: print("ready", flush=True)
"""
CALLS = {
    "exhaustive": """
index = ms.Index.build([rng.standard_normal((2000, 512), np.float32)])
query = rng.standard_normal((4096, 512), np.float32)
ready()
while True: index.search(query, policy=ms.Exhaustive(), threads=THREADS)
""",
    "certified": """
index = ms.Index.build([rng.standard_normal((2000, 512), np.float32)] * 8)
query = rng.standard_normal((4096, 512), np.float32)
ready()
index.search_many([query] * 1000, threads=THREADS)
""",
    "bandit": """
index = ms.Index.build([rng.standard_normal((2000, 512), np.float32)] * 20)
query = rng.standard_normal((4096, 512), np.float32)
ready()
index.search_many([query] * 1000, policy=ms.Bandit(block=4096, alpha=1), threads=THREADS)
""",
    "one huge document": """
row = rng.standard_normal((20_000, 1024), np.float32)
query = rng.standard_normal((4096, 1024), np.float32)
ready()
ms.maxsim(query, [row], threads=THREADS)
""",
    "build": """
def documents():
    row = rng.standard_normal((500, 512), np.float32)
    for i in range(10**9):
        if i == 10: ready()
        yield row[:0] if i % 100 else row
ms.Index.build(documents(), threads=THREADS)
""",
}


@takes_ctrl_c
@pytest.mark.parametrize("isa", ["scalar", ""])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c(call: str, threads: int, isa: str) -> None:
    command = [sys.executable, "-c", SETUP + CALLS[call].replace("THREADS", str(threads))]
    environment = {**os.environ, "MAXSIEVE_ISA": isa}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            started = time.monotonic()
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=30)
            print(f"ended after {time.monotonic() - started:.2f} s")
        finally:
            child.kill()
    assert "KeyboardInterrupt" in errors
    assert child.returncode != 0
