"""One line about an answer: what it guarantees, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxsieve.policies import Bandit, Policy

if TYPE_CHECKING:
    from maxsieve.text import TextHits


def report_line(hits: TextHits, policy: Policy | None = None, first_stage: str | None = None) -> str:
    """The line below the hits."""
    report = hits.report
    among = f"among {hits.documents:,} {_of(hits, first_stage)}"
    coverage = f" · {report.coverage:.0%} of cells revealed" if isinstance(policy, Bandit) else ""
    return (
        f"{_guarantee(report.guarantee, policy)} {among}{coverage} · {report.rescored:,} rescored"
        f" · {milliseconds(hits.encode_seconds)} encoding, {milliseconds(hits.search_seconds)} search"
    )


def milliseconds(seconds: float) -> str:
    """A short time.

    >>> milliseconds(0.00123), milliseconds(0.0456)
    ('1.2 ms', '46 ms')
    """
    value = seconds * 1e3
    return f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"


def _guarantee(guarantee: str, policy: Policy | None) -> str:
    if guarantee == "pac":
        delta = policy.delta if isinstance(policy, Bandit) else Bandit().delta
        return f"exact with probability {1 - delta:g}"
    return "exact" if guarantee == "exact" else "no guarantee"


def _of(hits: TextHits, first_stage: str | None) -> str:
    if hits.scope == "all":
        return "document" if hits.documents == 1 else "documents"
    return f"candidates of {first_stage}" if first_stage else "candidates"
