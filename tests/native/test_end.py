"""Python exits while daemon threads are in the engine: the process ends normally."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading, time
import numpy as np
import maxsieve as ms

class SlowEnd:  # threads go on while Python ends
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

end = SlowEnd()
rng = np.random.default_rng(0)
docs = [rng.standard_normal((50, 64)).astype(np.float32) for _ in range(500)]
index = ms.Index.build(docs)
at_work = threading.Semaphore(0)

def again_and_again():
    while True:
        {work}
        at_work.release()

for _ in range(3):
    threading.Thread(target=again_and_again, daemon=True).start()
"""

SHORT = {
    "search": "index.search(docs[0][:8], k=5, threads=2)",
    "many": "index.search_many([docs[0][:8], docs[1][:3]], k=5, policy=ms.Bandit())",
    "build": "ms.Index.build(docs[:20])",
    "maxsim": "ms.maxsim(docs[0][:4], docs[:30])",
}
HOURS = """
        at_work.release()
        index.search_many([np.tile(docs[0], (20, 1))] * 2000, k=5, policy=ms.Exhaustive(), threads=2)
"""


def run(program: str) -> tuple[int, str, str]:
    environment = os.environ | {"MAXSIEVE_ISA": "scalar"}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("work", SHORT.values(), ids=SHORT)
def test_short_work(work: str) -> None:
    wait = "\nfor _ in range(12): at_work.acquire()\nprint('end')"
    assert run(PROGRAM.format(work=work) + wait) == (0, "end\n", "")


def test_work_of_hours_is_ended() -> None:
    wait = "\nfor _ in range(3): at_work.acquire()\ntime.sleep(0.2)\nprint('end')"
    assert run(PROGRAM.format(work=HOURS) + wait) == (0, "end\n", "")


def test_work_of_the_main_thread_at_the_end() -> None:
    """Functions that are registered for the exit run in reverse order, some of them after the engine's own."""
    before = "import atexit\natexit.register(lambda: print(index.search(docs[3][:8], k=1).ids))\n"
    assert run(before + PROGRAM.format(work=SHORT["search"])) == (0, "[3]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    fork = """
for _ in range(3): at_work.acquire()
if (child := os.fork()) == 0:
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(PROGRAM.format(work=HOURS) + fork) == (0, "7\n", "")
