"""What a service is started with, and the limits that every request meets."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

DOCUMENTS = 1000
"""Documents of one request, to be reranked or added."""

IDS = 10_000
"""Ids of one request: candidates, ids that must not be hits, ids to be deleted."""

CHARACTERS = 2_000_000
"""Of all texts of one request together."""

QUERY_CHARACTERS = 16_384

QUERY_TOKENS = 1024
"""Rows of a query that comes as vectors."""

DIMENSIONS = 4096
"""Numbers in such a row."""

HITS = 1000

DEPTH = 10_000
"""Candidates of a first stage."""

CHUNK = 16
"""Texts of a request that are encoded before others have their turn."""

TOGETHER = 64
"""Requests that are answered as one group."""


@dataclass(frozen=True)
class Settings:
    """What whoever starts a service decides.

    api_key
        what requests must carry; None if they need none.
    writable
        whether documents may be added and deleted.
    waiting, waiting_bytes
        requests that may be under way at a time, and the bytes of their bodies; more are answered with 429.
    body_bytes
        of one request.
    deadline
        seconds after which a request is given up.
    patience
        seconds that a client may take to send its headers, to send the rest, or to take what it is sent.
    connections
        open at a time; more are closed at once.
    drain
        seconds that requests under way have left when the service is told to end.
    threads
        for a search; None for all CPUs.
    """

    api_key: str | None = None
    writable: bool = False
    waiting: int = 256
    waiting_bytes: int = 256 << 20
    body_bytes: int = 16 << 20
    deadline: float = 30.0
    patience: float = 20.0
    connections: int = 1024
    drain: float = 30.0
    threads: int | None = None


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org", "")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
