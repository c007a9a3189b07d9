"""Answers: hits for people, with what they guarantee, and the same as programs read it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from maxsieve.cli.show.snippet import ELLIPSIS, STYLES, marks_of, snippet
from maxsieve.common.printable import printable
from maxsieve.policies import Bandit, Calibrated, Policy

if TYPE_CHECKING:
    from maxsieve.storage.calibration import Calibration
    from maxsieve.text import TextHits
    from maxsieve.text.hits import HybridScores
    from maxsieve.text.passages import Passage

WIDEST = 100
"""Longer lines are tiring to read, however wide the terminal is."""

SNIPPET_LINES = 2


def show_answer(console: Console, hits: TextHits, *, policy: Policy | None = None) -> None:
    """The hits and the report."""
    if not len(hits):
        console.print("no hits")
    show_hits(console, hits)
    console.print(Text(report_line(hits, policy), "dim"), soft_wrap=True)


def show_hits(console: Console, hits: TextHits, *, lines: int = SNIPPET_LINES) -> None:
    """A heading and a snippet for each hit."""
    width = min(console.width, WIDEST)
    margin = len(str(len(hits)))
    scores = [f"{score:.{2 if hits.hybrid is None else 4}f}" for score in hits.scores]
    score_width = max(map(len, scores), default=0)
    indent = margin + score_width + 4
    for rank, score in enumerate(scores):
        hit = hits.hit(rank)
        marks = marks_of(hits.explain(rank))
        name, skip = heading(hit.id, hit.text, hit.metadata, hit.passage)
        title = Text(_cut(name, max(8, width - indent)), "bold")
        for mark in marks:
            if mark.end < skip:
                title.stylize(STYLES[mark.grade], mark.start, mark.end)
        line = Text.assemble((f"{rank + 1:>{margin}}", "dim"), "  ", (f"{score:>{score_width}}", "green"), "  ", title)
        console.print(line, soft_wrap=True)
        body = snippet(hit.text, marks, max(16, width - margin - 2), lines, skip=skip)
        for row in body.split("\n"):
            if row.plain.strip():
                console.print(Text(" " * (margin + 2)).append_text(row), soft_wrap=True)


def heading(identity: Any, text: str, metadata: Any, passage: Passage | None = None) -> tuple[str, int]:
    r"""What to call a document (its title, else its id), and how many characters of its text say the same again.

    >>> heading("d1", "Alpha\nThe first letter.", {"title": "Alpha"})
    ('Alpha (d1)', 6)
    >>> heading("notes/a.md", "The first letter.", None)
    ('notes/a.md', 0)
    """
    where = "" if passage is None else place_of(passage)
    title = metadata.get("title") if isinstance(metadata, dict) else None
    if not isinstance(title, str) or not title.strip():
        return f"{identity}{where}", 0
    title = title.strip()
    skip = len(title) + 1 if text.startswith(f"{title}\n") else 0
    return (title if title == str(identity) else f"{title} ({identity})") + where, skip


def place_of(passage: Passage) -> str:
    """Where a passage stands in its document; nothing if it is all of it.

    >>> from maxsieve.text.passages import Passage
    >>> place_of(Passage("Not too hot.", 1, 4, 30, "Tea > Green", 2))
    ' · Tea > Green · page 2'
    """
    if passage.of == 1:
        return ""
    parts = [passage.heading, "" if passage.page is None else f"page {passage.page}"]
    if not any(parts):
        parts = [f"passage {passage.number + 1} of {passage.of}"]
    return "".join(f" · {part}" for part in parts if part)


def _cut(name: str, cells: int) -> str:
    name = printable(name)
    cut = set_cell_size(name, cells).rstrip()
    return name if cut == name else set_cell_size(name, cells - 1).rstrip() + ELLIPSIS


def report_line(hits: TextHits, policy: Policy | None = None) -> str:
    """What an answer guarantees, and what it took."""
    report = hits.report
    coverage = f" · {report.coverage:.0%} of cells revealed" if isinstance(policy, Bandit) else ""
    if isinstance(policy, Calibrated) and report.guarantee != "exact":
        found = _calibrated(hits, policy)
    else:
        found = f"{_guarantee(report.guarantee, policy)} among {hits.documents:,} {_searched(hits)}"
    if hits.hybrid is not None:
        found += f" · {_fusion(hits.hybrid)}"
    return (
        f"{found}{coverage} · {report.rescored:,} rescored"
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


def _fusion(hybrid: HybridScores) -> str:
    """What the scores are, of which something is guaranteed."""
    if hybrid.fusion == "rrf":
        return f"by rank among the {hybrid.depth:,} best of BM25 and of late interaction"
    return f"by BM25 ({hybrid.fusion:g}) and late interaction ({1 - hybrid.fusion:g})"


def _calibrated(hits: TextHits, policy: Calibrated) -> str:
    """What a calibrated answer promises, or why it does not."""
    report, calibration = hits.report, hits.snapshot.calibration
    among = f"{hits.documents:,} {_searched(hits)}"
    followed = f"{report.survivors:,} {'passages ' * hits.has_passages}of {among} followed up"
    if calibration is None:
        return f"no guarantee; {followed}"
    changed = changes_text(report.added, report.deleted)
    if report.guarantee == "calibrated":
        like = "sentences" if calibration.origin == "own sentences" else "queries"
        number = f"{len(calibration.ranks):,}" + (" of its own" if like == "sentences" else "")
        return (
            f"calibrated: at least {percent(policy.target)} of the true top {len(hits)} on average, "
            f"over {like} like the {number} it was calibrated on{changed and f'; {changed} since'}; {followed}"
        )
    if hits.hybrid is not None:
        reason = "the calibration is about late interaction alone"
    elif hits.scope != "all":
        reason = "the calibration is about all documents"
    elif not calibration.holds_after(hits.snapshot.changes):
        reason = f"{changed} since it was calibrated"
    else:
        reason = "too much is excluded"
    return f"no guarantee ({reason}); {followed}"


def changes_text(added: int, deleted: int) -> str:
    """What has changed since a calibration; nothing if nothing has.

    >>> changes_text(1200, 1), changes_text(0, 3), changes_text(0, 0)
    ('1,200 documents added and 1 deleted', '3 documents deleted', '')
    """
    parts = [f"{count:,} {what}" for what, count in (("added", added), ("deleted", deleted)) if count]
    if not parts:
        return ""
    count, what = parts[0].split()
    return " and ".join([f"{count} {'document' if count == '1' else 'documents'} {what}", *parts[1:]])


def basis(calibration: Calibration) -> str:
    """What a collection was calibrated on."""
    count = len(calibration.ranks)
    if calibration.origin == "own sentences":
        return f"{count:,} {'sentence' if count == 1 else 'sentences'} of its documents"
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def percent(share: Fraction) -> str:
    """A share as people write it.

    >>> percent(Fraction("0.99")), percent(Fraction("0.995"))
    ('99 %', '99.5 %')
    """
    return f"{float(share * 100):g} %"


def _searched(hits: TextHits) -> str:
    one = hits.documents == 1
    condition = "" if hits.where is None else f" that {'matches' if one else 'match'} the filter"
    if hits.scope == "candidates":
        named = "candidate" if one else "candidates"
        return f"{named}{f' of {hits.first_stage}' * bool(hits.first_stage)}{condition}"
    return f"{'document' if one else 'documents'}{condition}"


def to_plain(hits: TextHits, *, explain: bool = False) -> dict[str, Any]:
    """The hits and the report. With ``explain``, each hit has the matches of the query's words."""
    found = []
    for rank in range(len(hits)):
        hit = hits.hit(rank)
        one: dict[str, Any] = {"rank": rank + 1, "id": hit.id, "score": hit.score, "text": hit.text}
        if hits.hybrid is not None:
            one |= {"late_score": float(hits.hybrid.late[rank]), "bm25_score": float(hits.hybrid.bm25[rank])}
        if hit.metadata is not None:
            one["metadata"] = hit.metadata
        if hit.passage.of > 1:
            one["passage"] = {name: value for name, value in hit.passage._asdict().items() if name != "text"}
        if explain:
            one["matches"] = [match._asdict() for match in hits.explain(rank)]
        found.append(one)
    return {"query": hits.query, "hits": found, "report": report_of(hits)}


def report_of(hits: TextHits) -> dict[str, Any]:
    """What the answer guarantees, among which documents, and what it took."""
    report = hits.report
    return {
        "guarantee": report.guarantee,
        "scope": hits.scope,
        "documents": hits.documents,
        **({} if hits.where is None else {"where": hits.where}),
        **({"first_stage": hits.first_stage, "depth": hits.depth} if hits.first_stage else {}),
        **({"hybrid": hits.hybrid.fusion, "depth": hits.hybrid.depth} if hits.hybrid else {}),
        "coverage": report.coverage,
        "survivors": report.survivors,
        **_calibration_of(hits),
        "rescored": report.rescored,
        "isa": report.isa,
        "encode_seconds": hits.encode_seconds,
        "search_seconds": hits.search_seconds,
    }


def _calibration_of(hits: TextHits) -> dict[str, Any]:
    """What the policy `Calibrated` rests on; nothing for the others."""
    report, calibration = hits.report, hits.snapshot.calibration
    if report.calibrated_on is None or calibration is None:
        return {}
    return {
        "calibrated_on": report.calibrated_on,
        "calibration_queries": len(calibration.ranks),
        "added": report.added,
        "deleted": report.deleted,
    }
