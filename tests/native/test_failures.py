"""The first failure of a call is reported, from whichever thread or nested crew. Nothing aborts."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import child
from long_form import scaled

# Each of these has threads within threads: several groups of queries, or several queries of one group, run at once.
POLICIES = ["ms.Certified()", "ms.Bandit()", "ms.Bandit(alpha=1, radius='serfling')", "ms.Exhaustive()"]

DAMAGED = """
count = 300_000
index = ms.Index.build(rng.standard_normal((count, 8), np.float32), lengths=np.ones(count, np.int64))
bad = index.storage.snapshot.segments[-1].BLOCK
bad.flags.writeable = True
bad[-1] = np.nan
queries = [rng.standard_normal((1, 8), np.float32) for _ in range(100)]
for _ in range(TRIES):
    try:
        index.search_many(queries, policy=POLICY, threads=2)
    except ms.errors.DamagedIndexError as problem:
        assert "damaged" in str(problem)
    else:
        raise AssertionError("an answer from damaged data")
"""


# Large blocks are taken from the system and given back each time. This takes long enough for another thread's failure
# to come first, and keeps memory close to the limit.
FRESH_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


@pytest.mark.parametrize("policy", POLICIES)
def test_damage(policy: str) -> None:
    block = "rows" if "Exhaustive" in policy else "scale"
    tries = 1 if child.SANITIZED else scaled(6)
    code = DAMAGED.replace("BLOCK", block).replace("POLICY", policy).replace("TRIES", str(tries))
    child.run(code, **FRESH_MEMORY)


# Four groups of two long queries. The limit allows a second thread, but not the memory of each thread's group.
NO_MEMORY = """
import resource
count = 200_000
index = ms.Index.build(rng.standard_normal((count, 2), np.float32), lengths=np.ones(count, np.int64))
queries = [rng.standard_normal((512, 2), np.float32) for _ in range(8)]
index.storage.snapshot.corpus, index.storage.snapshot.searchable
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (11 << 20), resource.RLIM_INFINITY))
refused = 0
for _ in range(5):
    try:
        index.search_many(queries, 1, policy=POLICY, threads=2)
    except MemoryError:
        refused += 1
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
index.search_many(queries[:2], 1, policy=POLICY, threads=2)
print(refused)
"""


@child.not_sanitized
@pytest.mark.skipif(child.glibc() is None, reason="the limit counts on the memory that glibc takes for a thread")
@pytest.mark.parametrize("policy", POLICIES[:3])
def test_no_memory(policy: str) -> None:
    """A MemoryError, and the next search works."""
    assert child.run(NO_MEMORY.replace("POLICY", policy), **FRESH_MEMORY) == "5\n"


INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)
index = ms.Index.build([rng.standard_normal((4, 64), np.float32) for _ in range(20_000)])
queries = [rng.standard_normal((32, 64), np.float32) for _ in range(64)]
for _ in range(10):
    try:
        print("searching", flush=True)
        while True:
            index.search_many(queries, policy=POLICY, threads=2)
    except KeyboardInterrupt:
        pass
print("ended")
"""


@child.takes_ctrl_c
@pytest.mark.parametrize("policy", POLICIES)
def test_ctrl_c_again_and_again(policy: str) -> None:
    """Each is a KeyboardInterrupt, at any point, and the next search works."""
    command = [sys.executable, "-c", child.PROLOGUE + INTERRUPTED.replace("POLICY", policy)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            for _ in range(10):
                assert process.stdout.readline() == "searching\n", process.stderr.read()
                process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "ended\n", process.stderr.read()
        finally:
            process.kill()
