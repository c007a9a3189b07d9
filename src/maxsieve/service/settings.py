"""The settings of a service, and the limits on requests."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

DOCUMENTS = 1000
"""Limit on the documents of one request, for reranking or adding."""

IDS = 10_000
"""Limit on the ids of one request: candidates, excluded ids, ids to delete."""

CHARACTERS = 2_000_000
"""Limit on the total characters of all texts of one request."""

QUERY_CHARACTERS = 16_384

QUERY_TOKENS = 1024
"""Limit on the rows of a query that is sent as vectors."""

DIMENSIONS = 4096
"""Limit on the numbers in such a row."""

HITS = 1000

MATCHES = 50_000
"""Limit on the hits times the query's tokens, if hits list their matches."""

MAPS = 4_000_000
"""Limit on the patches of all maps of one answer. Hits beyond it have none."""

TRACED_TOKENS = 128
"""Limit on the tokens of a query whose search is traced: a trace may have a round for each."""

LONG_QUERY, LONG_QUERY_TOKENS = 1000, 128
"""A query with more characters is encoded by itself, and with more tokens searched by itself, in turns with others."""

MANY_HITS = 100
"""A search for more hits is done by itself, too."""

VALUES = 100_000
"""Limit on the JSON values of a body, besides the numbers of vectors."""

DEPTH = 10_000
"""Limit on the candidates of a first stage."""

CHUNK = 16
"""How many texts of a request are encoded before other requests get their turn."""

TOGETHER = 64
"""The most requests that are answered as one group."""


@dataclass(frozen=True)
class Settings:
    """The settings of a service.

    api_key
        the key that requests must send; None if they need none.
    writable
        whether documents may be added and deleted.
    waiting, waiting_bytes
        limits on the requests at a time, and on the bytes of their bodies; further requests are answered with 429.
    body_bytes
        limit on the body of one request.
    deadline
        seconds after which a request is cancelled.
    patience
        seconds that a client may take to send its headers, to send its body, or to read its answer.
    connections
        limit on open connections; further ones are closed immediately.
    drain
        seconds that running requests have left when the service is shut down.
    threads
        threads of a search; None for one per CPU.
    audit
        the share of the searches by `Calibrated` that is repeated exactly in the background; None for no audit.
    log_queries
        whether a random sample of the queries is kept in the folder of each collection, to calibrate on.
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
    audit: float | None = None
    log_queries: bool = False


def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org", "")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
