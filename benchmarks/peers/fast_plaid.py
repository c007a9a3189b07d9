"""fast-plaid: inverted lists of centroids and 4-bit residuals, in an environment of its own (it needs torch 2.11).

A process there answers one query at a time on one thread (`plaid_worker`). Handing a query over takes a fraction of a
millisecond, which counts as its time. It selects documents by their centroids and scores those from 4-bit codes.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.one_thread import POOLS
from benchmarks.peers.protocol import F32, Answer, Method
from benchmarks.vectors.shapes import Shape

HOME = Path(__file__).parents[2]
PYTHON = HOME / ".venv-plaid" / "bin" / "python"
WORKER = "benchmarks.peers.plaid_worker"
LAST_CHARACTERS = 400  # characters of the output of a worker that ended


class Peer:
    """A process with an index made by its documented defaults."""

    note = "scores are those of 4-bit residuals; the size is that on disk"
    most_tokens = 700_000

    def __init__(self) -> None:
        if not PYTHON.is_file():
            raise FileNotFoundError("it has an environment of its own, which is not there: make bench-plaid")

    def estimate(self, shape: Shape) -> int:
        """The vectors again, and their copies while it makes its index."""
        return 4 * shape.rows.nbytes

    def prepare(self, shape: Shape) -> None:
        """Passes the vectors as files, and waits until they are indexed."""
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        np.save(folder / "rows.npy", shape.rows)
        np.save(folder / "lengths.npy", shape.lengths)
        self._errors = open(folder / "errors", "w+")  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [PYTHON, "-m", WORKER, folder],
            cwd=HOME,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | dict.fromkeys(POOLS, "1"),
        )
        self.nbytes = int(self._hear()["bytes"])

    @property
    def methods(self) -> list[Method]:
        """Its search."""
        return [Method("fast-plaid", self._search, selects=True)]

    def close(self) -> None:
        """End the process, and remove its files."""
        if (process := getattr(self, "_process", None)) is None:
            return
        process.kill()
        process.communicate()
        self._errors.close()
        self._folder.cleanup()
        del self._process

    def __del__(self) -> None:
        self.close()

    def _search(self, query: F32, k: int) -> Answer:
        assert self._process.stdin is not None
        asked = {"query": base64.b64encode(np.ascontiguousarray(query)).decode(), "k": k}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found = self._hear()
        return np.array(found["positions"], np.int64), np.array(found["scores"], np.float64)

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            heard: dict[str, Any] = json.loads(line)
            return heard
        self._errors.seek(0)
        raise ChildProcessError(f"its process ended: {self._errors.read()[-LAST_CHARACTERS:].strip()}")
