"""The page in HTML: one file that needs no other, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from maxsieve.lab.page.outline import (
    ABOUT,
    GAPS,
    NOT_REPRODUCIBLE,
    TITLE,
    commands,
    heading,
    machines,
    ordered,
    settings,
)
from maxsieve.lab.page.style import STYLE
from maxsieve.lab.page.svg import inline_svg
from maxsieve.lab.results import Result, Table

HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(TITLE)}</title>
<style>{STYLE}</style>
</head>
<body>
"""
GAPS_ID = "not-reproducible"


def html_page(results: Sequence[Result]) -> str:
    """One page of results, charts and all."""
    parts = [_element("h1", TITLE), _element("p", ABOUT), _contents(results), *_measured(results)]
    for experiment, some in ordered(results):
        parts.append(_element("h2", heading(experiment), id=_id(experiment)))
        for result in some:
            parts += _result(result)
    parts += [_element("h2", NOT_REPRODUCIBLE, id=GAPS_ID), _gaps()]
    return HEAD + "\n".join(parts) + "\n</body>\n</html>\n"


def _contents(results: Sequence[Result]) -> str:
    lines = []
    for experiment, some in ordered(results):
        corpora = ", ".join(_link(result.corpus, _id(experiment, result.corpus)) for result in some)
        lines.append(f"<li>{_link(heading(experiment), _id(experiment))} ({corpora})</li>")
    lines.append(f"<li>{_link(NOT_REPRODUCIBLE, GAPS_ID)}</li>")
    return _wrap("nav", [_wrap("ul", lines)])


def _measured(results: Sequence[Result]) -> list[str]:
    parts = [_element("h2", "Measured on")] * bool(machines(results))
    for one in machines(results):
        parts.append(_wrap("dl", [_element("dt", name) + _element("dd", value) for name, value in one.items()]))
    if commands(results):
        parts += [_element("p", "With:"), f"<pre><code>{escape(chr(10).join(commands(results)))}</code></pre>"]
    return parts


def _result(result: Result) -> list[str]:
    place = _id(result.experiment, result.corpus)
    parts = [_element("h3", f"{result.experiment}: {result.corpus}", id=place), _prose("p", result.summary)]
    parts += [_table(table) for table in result.tables]
    for chart in result.charts:
        parts.append(_wrap("figure", [inline_svg(chart, f"{place}-{_id(chart.name)}")]))
    if result.remarks:
        parts.append(_wrap("ul", [_prose("li", remark) for remark in result.remarks]))
    if line := settings(result):
        parts.append(_element("p", line, class_="settings"))
    return parts


def _table(table: Table) -> str:
    label = f" <code>{escape(table.label)}</code>" if table.label else ""
    sides = ["" if table.is_text(place) else "number" for place in range(len(table.columns))]
    heads = [_element("th", column.name, class_=side) for column, side in zip(table.columns, sides, strict=True)]
    rows = [
        "<tr>" + "".join(_element("td", cell, class_=side) for cell, side in zip(row, sides, strict=True)) + "</tr>"
        for row in table.text_rows()
    ]
    lines = [f"<caption>{escape(table.title)}{label}</caption>", f"<thead><tr>{''.join(heads)}</tr></thead>"]
    whole = _wrap("table", [*lines, _wrap("tbody", rows)])
    return f'<div class="wide">{whole}</div>' + (_prose("p", table.note, class_="note") if table.note else "")


def _gaps() -> str:
    lines = []
    for gap in GAPS:
        labels = ", ".join(_element("code", label) for label in gap.labels)
        lines.append(f"<li>{_element('strong', gap.what)} ({labels}): {escape(gap.why)}</li>")
    return _wrap("ul", lines)


def _prose(name: str, text: str, **attributes: str) -> str:
    """Text in which backticks mark code, as in Markdown."""
    inner = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return f"<{name}{_attributes(attributes)}>{inner}</{name}>"


def _element(name: str, text: str, **attributes: str) -> str:
    return f"<{name}{_attributes(attributes)}>{escape(text)}</{name}>"


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items() if value)


def _wrap(name: str, parts: Iterable[str]) -> str:
    return "\n".join([f"<{name}>", *parts, f"</{name}>"])


def _link(text: str, target: str) -> str:
    return f'<a href="#{escape(target)}">{escape(text)}</a>'


def _id(*words: str) -> str:
    """What can stand in an id and in a link."""
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(words))
