"""Answers as programs read them: what becomes JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxsieve.text import TextHits


def to_plain(hits: TextHits, *, explain: bool = False) -> dict[str, Any]:
    """The hits and the report. With ``explain``, each hit has the matches of the query's words."""
    found = []
    for rank in range(len(hits)):
        hit = hits.hit(rank)
        one: dict[str, Any] = {"rank": rank + 1, "id": hit.id, "score": hit.score, "text": hit.text}
        if hit.metadata is not None:
            one["metadata"] = hit.metadata
        if explain:
            one["matches"] = [match._asdict() for match in hits.explain(rank)]
        found.append(one)
    return {"query": hits.query, "hits": found, "report": report_of(hits)}


def report_of(hits: TextHits) -> dict[str, Any]:
    """What the answer guarantees, and what it took."""
    report = hits.report
    return {
        "guarantee": report.guarantee,
        "scope": hits.scope,
        "documents": hits.documents,
        "coverage": report.coverage,
        "rescored": report.rescored,
        "isa": report.isa,
        "encode_seconds": hits.encode_seconds,
        "search_seconds": hits.search_seconds,
    }
