"""Other libraries that score by MaxSim, each behind the same few methods (see `protocol`).

A peer's module imports its library, so it is imported only when the peer is wanted and has been probed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from benchmarks.peers.protocol import Peer


@dataclass(frozen=True)
class Entry:
    """Where a peer is, and the names of its methods."""

    distribution: str
    module: str
    methods: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    own_process: bool = False
    """It runs in another process, whose CPU time is not known here."""

    def make(self) -> Peer:
        """Import the library."""
        return cast("Peer", import_module(f"benchmarks.peers.{self.module}").Peer(*self.arguments))


ENTRIES = (
    Entry("colbandit", "colbandit", ("colbandit-0.2", "colbandit-1", "colbandit-full")),
    Entry("numkong", "numkong", ("numkong-f32",), ("f32",)),
    Entry("numkong", "numkong", ("numkong-bf16",), ("bf16",)),
    Entry("maxsim-cpu", "maxsim_cpu", ("maxsim-cpu",)),
    Entry("torch", "torch", ("torch",)),
    Entry("sentence-transformers", "sentence_transformers", ("sentence-transformers",)),
    Entry("pylate", "pylate", ("pylate",)),
    Entry("qdrant-client", "qdrant", ("qdrant-local",)),
    Entry("qdrant-edge-py", "qdrant_edge", ("qdrant-edge",)),
    Entry("lancedb", "lancedb", ("lancedb", "lancedb-refine-10", "lancedb-thorough")),
    Entry("fast-plaid", "fast_plaid", ("fast-plaid",), own_process=True),
)
METHODS = [method for entry in ENTRIES for method in entry.methods]
