"""Tries each peer on a few documents in another process, so that a crash does not end the benchmark."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.peers import ENTRIES, Entry

WORKS, FAILS = "works", "fails"
TIMEOUT = 600  # seconds for all peers


def probe(entries: tuple[Entry, ...]) -> dict[str, str]:
    """Why peers can't run here, by the name of their first method. Peers that can run are not in it."""
    reasons: dict[str, str] = {}
    left = [entry.methods[0] for entry in entries]
    while left:
        command = [sys.executable, "-m", "benchmarks.peers.probe", *left]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=TIMEOUT)
        for line in done.stdout.splitlines():
            word, _, rest = line.partition(" ")
            name, _, reason = rest.partition(" ")
            if word == FAILS:
                reasons[name] = reason
            if word in (WORKS, FAILS):
                left.remove(name)
        if done.returncode and left:
            reasons[left.pop(0)] = _ending(done.returncode)
    return reasons


def _ending(status: int) -> str:
    return f"crashes ({signal.Signals(-status).name})" if status < 0 else f"ends its process with status {status}"


def _outcome(name: str) -> tuple[str, ...]:
    try:
        _try(name)
    except Exception as error:
        return FAILS, name, f"{type(error).__name__}: {error}".splitlines()[0]
    return WORKS, name


def _try(name: str) -> None:
    """Imports, prepares and searches. The answer must have the document first that the query was made of."""
    from benchmarks.vectors.shapes import STRUCTURED, load

    shape = load("tiny", 1, lambda documents, count: documents)
    peer = next(entry for entry in ENTRIES if entry.methods[0] == name).make()
    peer.prepare(shape)
    for method in peer.methods:
        first = int(method.search(shape.queries[0], 5)[0][0])
        if first != STRUCTURED["tiny"].source(0):
            raise ValueError(f"{method.name} finds document {first} where another is best by far")


def _main(names: list[str]) -> None:
    for name in names:
        print(*_outcome(name), flush=True)


if __name__ == "__main__":
    from benchmarks.peers import one_thread  # noqa: F401

    _main(sys.argv[1:])
