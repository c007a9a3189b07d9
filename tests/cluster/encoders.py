"""Encoders that workers on all nodes can import. They log what they encode in a file that all nodes see."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from text.support import ShortSighted, WordEncoder

IMPORTABLE = {"runtime_env": {"env_vars": {"PYTHONPATH": os.fspath(Path(__file__).parents[1])}}}
"""Options for workers, so that they can import the modules of tests."""


class LoggingEncoder(ShortSighted):
    """Appends each text that it encodes as a document to a file, with the id of the process."""

    def __init__(
        self, log: Path, dim: int = 16, *, kill_at: str = "", always: bool = False, seconds: float = 0.0
    ) -> None:
        super().__init__(dim, name="logging", seen=self._write)
        self._log, self._kill_at, self._always, self._seconds = log, kill_at, always, seconds

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._log, self.dim, self._kill_at, self._always, self._seconds)

    def _write(self, text: str) -> None:
        if self._seconds:
            time.sleep(self._seconds)
        with self._log.open("a") as file:
            file.write(f"{os.getpid()} {text}\n")
        if self._kill_at and self._kill_at in text:
            marker = self._log.with_suffix(".killed")
            if self._always or not marker.exists():  # once
                marker.touch()
                os.kill(os.getpid(), 9)


def _again(log: Path, dim: int, kill_at: str, always: bool, seconds: float) -> LoggingEncoder:
    return LoggingEncoder(log, dim, kill_at=kill_at, always=always, seconds=seconds)


class LargeEncoder(LoggingEncoder):
    """Has a size of a megabyte when it is sent to a worker, like an encoder with its model."""

    def __reduce__(self) -> tuple[object, ...]:
        return _large, (self._log, self._kill_at, os.urandom(1 << 20))


def _large(log: Path, kill_at: str, _: bytes) -> LargeEncoder:
    return LargeEncoder(log, kill_at=kill_at)


def logged(log: Path) -> list[str]:
    """The texts that were encoded, in the order of the file."""
    return [line.partition(" ")[2] for line in log.read_text().splitlines()] if log.exists() else []


class HeavyEncoder(WordEncoder):
    """Long vectors: encoded documents are much larger than their texts."""

    def __init__(self) -> None:
        super().__init__(dim=512, name="heavy", seen=lambda _: None)

    def __reduce__(self) -> tuple[object, ...]:
        return HeavyEncoder, ()

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [np.ones((8, 512), np.float32) * np.float32(1 + len(text) % 7) for text in texts]
