"""Indexing is interrupted at a moment that the test chooses; the same command then continues it."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

import maxsieve as ms
from cli.support import TIMEOUT, CommandLine

COUNT = 2500
"""Documents: two batches that are committed, and some that wait for a full batch."""


def documents() -> bytes:
    return b"".join(json.dumps({"id": f"d{i}", "text": f"fox {i}"}).encode() + b"\n" for i in range(COUNT))


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_the_same_command_goes_on(line: CommandLine, blow: signal.Signals) -> None:
    line.write("it.jsonl", documents())
    process = line.start(
        "index", "it.ms", "-", "--dim", "0", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(documents())
    process.stdin.flush()  # it stays open, and waits for more
    kept = _wait_for_commit(line, process)
    process.send_signal(blow)
    out, err = process.communicate(timeout=TIMEOUT)
    assert out == b""
    if blow == signal.SIGINT:
        assert process.returncode == 130
        assert b"it.ms is valid and has " in err
        assert b"run the same command again to continue" in err
        assert err.count(b"\n") == 1
    kept = line.json("verify", "it.ms")[0]["documents"]
    assert 0 < kept < COUNT
    done = line.json("index", "it.ms", "it.jsonl", "--dim", "0")[0]
    assert (done["skipped"], done["added"], done["documents"]) == (kept, COUNT - kept, COUNT)
    assert line.json("search", "it.ms", f"fox {COUNT - 1}", "-k", "1")[0]["report"]["documents"] == COUNT


def _wait_for_commit(line: CommandLine, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            with ms.Index.open(line.folder / "it.ms" / "index") as index:
                if len(index):
                    return len(index)
        except FileNotFoundError:
            pass
        time.sleep(0.02)
    raise AssertionError("nothing was committed")
