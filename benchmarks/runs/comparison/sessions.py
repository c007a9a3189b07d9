"""Which peers are prepared at the same time: as many as fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.peers import Entry
from benchmarks.peers.protocol import Peer
from benchmarks.runs.machine import free_bytes
from benchmarks.vectors.shapes import Shape

GB = 1e9
SPARE = 2 * GB
"""Memory for the rest of the machine."""

Group = list[tuple[Entry, Peer]]


def sessions(entries: Sequence[Entry], shape: Shape, memory: float, leave_out: list[str]) -> Iterator[Group]:
    """Groups of peers, not yet prepared. The caller closes one before it takes the next.

    The first may be empty, and is only for our methods. A peer that needs more than `memory` bytes, or more than there
    are, is left out with a reason.
    """
    group: Group = []
    needed, sent = 0, 0
    for entry in entries:
        peer = entry.make()
        need = peer.estimate(shape)
        where = f"{entry.methods[0]} on {shape.name}"
        if peer.most_tokens is not None and shape.tokens > peer.most_tokens:
            leave_out.append(f"{where}: more than {peer.most_tokens:,} tokens take it too long to take in")
        elif need > memory:
            leave_out.append(f"{where}: needs about {need / GB:.0f} GB, over the {memory / GB:g} that a peer may")
        else:
            if group and needed + need > free_bytes() - SPARE:
                yield group
                sent += 1
                group, needed = [], 0
            if need > free_bytes() - SPARE:
                leave_out.append(f"{where}: needs about {need / GB:.0f} GB, and {free_bytes() / GB:.0f} are free")
            else:
                group.append((entry, peer))
                needed += need
    if group or not sent:
        yield group
