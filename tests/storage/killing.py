"""Processes that are killed while they write."""

from __future__ import annotations

import random
import subprocess
import time


def kill_soon(
    process: subprocess.Popen[str], rng: random.Random, most_lines: int, most_seconds: float
) -> list[list[str]]:
    """The words of each line that it prints before it is killed: after some lines and a short time."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(rng.randint(1, most_lines))]
    time.sleep(rng.uniform(0, most_seconds))
    process.kill()
    lines += process.stdout.read().splitlines()
    process.stdout.close()
    process.wait()
    reports = [line.split() for line in lines if line.strip()]
    assert reports, "the writer could not start"
    return reports
