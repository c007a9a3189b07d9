"""What one run of the benchmark is to measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import Entry


@dataclass(frozen=True)
class Plan:
    """What to run: the command line's options, and the peers that work."""

    shape: list[str]
    method: list[str]
    entries: list[Entry]
    k: list[int]
    isa: list[str]
    threads: list[int]
    batch: list[int]
    queries: int
    repeat: int
    seconds: float
    clock: str
    memory: float
    quick: bool
    out: Path
    documents: int | None = None
    """Of the shapes on disk, if not as many as usual."""
