"""What an answer guarantees, as a sentence; and answers as JSON-compatible data."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from maxsieve.policies import Bandit, Calibrated, Policy
from maxsieve.text.collection.fast_path import PROMISED

if TYPE_CHECKING:
    from maxsieve.storage.calibration import Calibration
    from maxsieve.text.collection.hits import TextHit, TextHits
    from maxsieve.text.lexical.hybrid import HybridScores


def guarantee_sentence(hits: TextHits, policy: Policy | None = None) -> str:
    """What the answer guarantees, and among which documents."""
    report = hits.report
    if report.missing:
        numbers = ", ".join(map(str, report.missing))
        return f"no guarantee: nobody answered for {'shard' if len(report.missing) == 1 else 'shards'} {numbers}"
    if policy is None and report.calibrated_on is not None:
        policy = PROMISED
    if isinstance(policy, Calibrated) and report.guarantee != "exact":
        found = _calibrated(hits, policy)
    else:
        found = f"{_guarantee(report.guarantee, policy)} among {_searched(hits)}"
    return found if hits.hybrid is None else f"{found} · {_fusion(hits.hybrid)}"


def _guarantee(guarantee: str, policy: Policy | None) -> str:
    if guarantee == "pac":
        delta = policy.delta if isinstance(policy, Bandit) else Bandit().delta
        return f"exact with probability {1 - delta:g}"
    return "exact" if guarantee == "exact" else "no guarantee"


def _fusion(scores: HybridScores) -> str:
    """How the scores of the guarantee were fused."""
    if scores.fusion == "rrf":
        return f"by rank among the {scores.depth:,} best of BM25 and of late interaction"
    return f"by BM25 ({scores.fusion:g}) and late interaction ({1 - scores.fusion:g})"


def _calibrated(hits: TextHits, policy: Calibrated) -> str:
    """What a calibrated answer guarantees, or why it guarantees nothing."""
    report, calibration = hits.report, _used(hits)
    counted = "passages " if hits.has_passages and hits.by == "document" else ""
    followed = f"{report.survivors:,} {counted}of {_searched(hits)} followed up"
    if calibration is None:
        return f"no guarantee; {followed}"
    changed = changes_text(report.added, report.deleted, "passage" if hits.has_passages else "document")
    if report.guarantee in ("calibrated", "calibrated on sentences"):
        like = "sentences" if calibration.origin == "own sentences" else "queries"
        number = f"{calibration.n_queries:,}" + (" of its own" if like == "sentences" else "")
        whom = "on average, over" if policy.tail is None else f"for {percent(policy.tail)} of"
        where = "" if calibration.where is None else " with this filter"
        top = f"{len(hits)} passages" if hits.by == "passage" else len(hits)
        return (
            f"{report.guarantee}: at least {percent(policy.target)} of the true top {top}{where} {whom} "
            f"{like} like the {number} it was calibrated on{changed and f'; {changed} since'}; {followed}"
        )
    return f"no guarantee (the calibration covers only late interaction); {followed}"


def _used(hits: TextHits) -> Calibration | None:
    """The calibration that an answer is by: the one for its filter, or for all documents."""
    wanted = hits.report.calibrated_for
    found = (
        one
        for one in hits.snapshot.calibrations
        if (None if one.where is None else one.where.given) == wanted and one.origin == hits.report.calibrated_on
    )
    return next(found, None)


def changes_text(added: int, deleted: int, unit: str = "document") -> str:
    """What has changed since a calibration; empty if nothing has.

    >>> changes_text(1200, 1), changes_text(0, 3), changes_text(0, 0)
    ('1,200 documents added and 1 deleted', '3 documents deleted', '')
    >>> changes_text(545, 0, "passage")
    '545 passages added'
    """
    parts = [f"{count:,} {what}" for what, count in (("added", added), ("deleted", deleted)) if count]
    if not parts:
        return ""
    count, what = parts[0].split()
    return " and ".join([f"{count} {unit}{'' if count == '1' else 's'} {what}", *parts[1:]])


def basis(calibration: Calibration) -> str:
    """What a collection was calibrated on."""
    count = calibration.n_queries
    if calibration.origin == "own sentences":
        return f"{count:,} {'sentence' if count == 1 else 'sentences'} of its documents"
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def percent(share: Fraction) -> str:
    """A share as a percentage.

    >>> percent(Fraction("0.99")), percent(Fraction("0.995"))
    ('99 %', '99.5 %')
    """
    return f"{float(share * 100):g} %"


def _searched(hits: TextHits) -> str:
    """What was searched, with its number: documents or passages, candidates, those that match a filter."""
    count = hits.n_documents if hits.n_passages is None else hits.n_passages
    plural = "" if count == 1 else "s"
    condition = "" if hits.where is None else f" that {'matches' if count == 1 else 'match'} the filter"
    if hits.scope != "candidates":
        named, source = f"{hits.by}{plural}", ""
        if hits.n_passages is not None and hits.n_passages > hits.n_documents:
            source = f" of {hits.n_documents:,} {'document' if hits.n_documents == 1 else 'documents'}"
        return f"{count:,} {named}{source}{condition}"
    named = f"candidate{plural}" if hits.n_passages is None else f"candidate passage{plural}"
    return f"{count:,} {named}{f' of {hits.first_stage}' * bool(hits.first_stage)}{condition}"


def to_plain(hits: TextHits, *, explain: bool = False) -> dict[str, Any]:
    """The hits and the report. With ``explain``, each hit has the matches of the query's words."""
    found = []
    for rank in range(len(hits)):
        hit = hits[rank]
        plain: dict[str, Any] = {"rank": rank + 1, "id": hit.id, "score": hit.score, "text": hit.text}
        if hits.hybrid is not None:
            plain |= {"late_score": float(hits.hybrid.late[rank]), "bm25_score": float(hits.hybrid.bm25[rank])}
        if hit.metadata is not None:
            plain["metadata"] = hit.metadata
        plain |= _described(hit, explain=explain)
        if (page := hits.pages[rank]) is not None:
            kind = "patches" if page.grids else "words"
            plain["picture"] = {"width": page.width, "height": page.height, "kind": kind}
        if hits.lists_passages:
            plain["passages"] = [
                {"score": one.score, "text": one.text, **_described(one, explain=explain)} for one in hit.passages
            ]
        found.append(plain)
    return {"query": hits.query, "hits": found, "report": report_of(hits)}


def _described(hit: TextHit, *, explain: bool) -> dict[str, Any]:
    """Where a hit is in its document, and the matches of the query's words."""
    plain = place_of(hit)
    if explain:
        plain["matches"] = [match.to_plain() for match in hit.explain()]
    return plain


def place_of(hit: TextHit) -> dict[str, Any]:
    """Where a hit is in its document: heading, page and line of its best-matching words, and its passage, if known."""
    passage = hit.passage
    at = {name: value for name in ("heading", "page", "line") if (value := getattr(hit, name))}
    if passage.of == 1 and not at:
        return {}
    place = {"number": passage.number, "of": passage.of, "start": passage.start, "heading": passage.heading}
    return {**at, "passage": {**place, "pages": passage.pages, "lines": passage.lines}}


def report_of(hits: TextHits) -> dict[str, Any]:
    """What the answer guarantees, among which documents, and what it cost."""
    report = hits.report
    return {
        "guarantee": report.guarantee,
        "scope": hits.scope,
        "documents": hits.n_documents,
        **({} if hits.n_passages is None else {"passages": hits.n_passages}),
        **({} if hits.where is None else {"where": hits.where}),
        **({"first_stage": hits.first_stage, "depth": hits.depth} if hits.first_stage else {}),
        **({"hybrid": hits.hybrid.fusion, "depth": hits.hybrid.depth} if hits.hybrid else {}),
        "coverage": report.coverage,
        "survivors": report.survivors,
        **_calibration_of(hits),
        "rescored": report.rescored,
        **({"missing_shards": list(report.missing)} if report.missing else {}),
        "isa": report.isa,
        "encode_seconds": hits.encode_seconds,
        "search_seconds": hits.search_seconds,
    }


def _calibration_of(hits: TextHits) -> dict[str, Any]:
    """The calibration that a `Calibrated` answer uses; empty for other policies."""
    report, calibration = hits.report, _used(hits)
    if report.calibrated_on is None or calibration is None:
        return {}
    return {
        "calibrated_on": report.calibrated_on,
        "calibration_queries": calibration.n_queries,
        "touched": report.touched,
        "added": report.added,
        "deleted": report.deleted,
    }
