"""Metrics for Prometheus, at ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counts of one service; names are those of docs/service.md."""

    def __init__(self, collections: Iterable[str], requests_in_progress: Callable[[], int]) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("maxsieve_requests", "Answered requests.", ("route", "status"), registry=registry)
        self.seconds = Histogram(
            "maxsieve_request_seconds", "From request to answer.", ("route",), buckets=SECONDS, registry=registry
        )
        self.refused = Counter(
            "maxsieve_refused", "Requests refused because too many were being handled.", registry=registry
        )
        self.given_up = Counter(
            "maxsieve_given_up",
            "Requests cancelled: the client disconnected, or the deadline passed.",
            ("why",),
            registry=registry,
        )
        self._group_size = Histogram(
            "maxsieve_group_size", "Requests that were processed together.", ("what",), buckets=SIZES, registry=registry
        )
        self._group_seconds = Histogram(
            "maxsieve_group_seconds", "Time for a group.", ("what",), buckets=SECONDS, registry=registry
        )
        self.searches = Counter(
            "maxsieve_searches", "Searches by what they guarantee.", ("collection", "guarantee"), registry=registry
        )
        self.reranked = Counter("maxsieve_reranked_documents", "Documents that were reranked.", registry=registry)
        Gauge("maxsieve_requests_in_progress", "Requests that are not answered yet.", registry=registry).set_function(
            requests_in_progress
        )
        for name in collections:
            self.searches.labels(name, "exact")

    def group(self, what: str, size: int, seconds: float) -> None:
        """Records a processed group."""
        self._group_size.labels(what).observe(size)
        self._group_seconds.labels(what).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
