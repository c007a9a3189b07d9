"""Metrics for Prometheus, at ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from maxsieve.service.open_collections import OpenCollections

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counts of one service; names are those of docs/service.md."""

    def __init__(self, collections: OpenCollections, requests_in_progress: Callable[[], int]) -> None:
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
        registry.register(_Audits(collections))

    def group(self, what: str, size: int, seconds: float) -> None:
        """Records a processed group."""
        self._group_size.labels(what).observe(size)
        self._group_seconds.labels(what).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _Audits(Collector):
    """What the live audits of the collections have found."""

    def __init__(self, collections: OpenCollections) -> None:
        self._collections = collections

    def collect(self) -> Iterator[Metric]:
        """The audits' results now."""
        labels = ("collection", "overlap", "where")
        searches = GaugeMetricFamily(
            "maxsieve_audited_searches", "Searches repeated exactly since the calibration.", labels=labels
        )
        overlap = GaugeMetricFamily(
            "maxsieve_audited_overlap",
            "The mean overlap of these, and the limits of its 99 % interval.",
            labels=(*labels, "limit"),
        )
        broken = GaugeMetricFamily(
            "maxsieve_audit_broken", "1 if the mean overlap is below the one that was promised.", labels=labels
        )
        skipped = CounterMetricFamily(
            "maxsieve_audit_skipped", "Searches of the sample that were not repeated.", labels=labels[:1]
        )
        for name, collection in self._collections.items():
            if (audit := collection.audit) is None:
                continue
            skipped.add_metric([name], audit.skipped)
            for one in audit.results:
                key = [name, f"{one.policy.overlap:g}", one.where or ""]
                searches.add_metric(key, one.searches)
                broken.add_metric(key, one.broken)
                for limit in ("mean", "lower", "upper"):
                    value = one.overlap if limit == "mean" else getattr(one, limit)
                    overlap.add_metric([*key, limit], value)
        yield from (searches, overlap, broken, skipped)
