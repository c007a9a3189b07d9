"""Many results as one page: one self-contained HTML file without scripts, or Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from maxsieve.common.optional import optional
from maxsieve.lab.charts import draw
from maxsieve.lab.experiments import SUMMARIES
from maxsieve.lab.paper import GAPS
from maxsieve.lab.results import Chart, ExperimentResult, join

__all__ = ["html_page", "markdown_page"]

TITLE = "Col-Bandit's experiments with maxsieve"
ABOUT = (
    "The experiments of the Col-Bandit paper, and some that it doesn't have, run by the lab of maxsieve. A label like "
    "tab:wallclock_cpu names the paper's table or figure that a table can be laid beside."
)
NOT_REPRODUCIBLE = "Not reproducible here"


def html_page(results: Sequence[ExperimentResult]) -> str:
    """One page of results, with their charts."""
    return _rendered("page.html.jinja", results)


def markdown_page(results: Sequence[ExperimentResult], images_folder: str | Path = "") -> str:
    """One page of results; its charts are SVG files that `save` wrote, in ``images_folder`` as seen from the page."""
    images = f"{Path(images_folder).as_posix()}/" if str(images_folder) not in ("", ".") else ""
    return _rendered("page.md.jinja", results, images=images)


def _rendered(template: str, results: Sequence[ExperimentResult], **more: str) -> str:
    jinja2 = optional("jinja2", "lab")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=lambda name: ".html" in str(name),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(anchor=anchor, heading=heading, inline_svg=inline_svg, link=link, settings=settings)
    environment.filters["prose"] = prose
    text: str = environment.get_template(template).render(
        title=TITLE,
        about=ABOUT,
        missing=NOT_REPRODUCIBLE,
        gaps=GAPS,
        sections=(sections := ordered(results)),
        in_short=[result for _, some in sections for result in some if result.remarks],
        machines=machines(results),
        commands=list(dict.fromkeys(str(result.facts["command"]) for result in results if "command" in result.facts)),
        **more,
    )
    return text


def ordered(results: Sequence[ExperimentResult]) -> list[tuple[str, list[ExperimentResult]]]:
    """Results by experiment, in the order of the list of experiments; those of the same experiment as they come."""
    places = {name: place for place, name in enumerate(SUMMARIES)}
    return join(sorted(results, key=lambda result: places.get(result.experiment, len(places))))


def heading(experiment: str) -> str:
    """An experiment's name, and what it is about.

    >>> heading("block")
    'block: Bandit with rounds of 1 to 32 tokens'
    """
    return f"{experiment}: {SUMMARIES[experiment].rstrip('.')}" if experiment in SUMMARIES else experiment


def machines(results: Sequence[ExperimentResult]) -> list[dict[str, str]]:
    """The machines and versions that results were measured with, each once; usually one."""
    found: list[dict[str, str]] = []
    for result in results:
        own = {**_words(result.facts.get("machine")), **_words(result.facts.get("versions"))}
        own.pop("encoder", None)  # it is among the settings of each result
        if own and own not in found:
            found.append(own)
    return found


def settings(result: ExperimentResult) -> str:
    """A line below a result: when and with which settings."""
    words = [str(result.facts["date"])] if "date" in result.facts else []
    return ", ".join(words + [f"{name} {value}" for name, value in _words(result.facts.get("settings")).items()])


def _words(facts: Any) -> dict[str, str]:
    given = facts if isinstance(facts, dict) else {}
    return {str(name): str(value) for name, value in given.items() if value is not None}


def prose(text: str) -> Any:
    """Text in which backticks mark code, as in Markdown, as HTML."""
    return optional("markupsafe", "lab").Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))


def anchor(*words: str) -> str:
    """A text as it can be used in an id and in a link.

    >>> anchor("k-sensitivity", "beir/scifact")
    'k-sensitivity-beir-scifact'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(words))


def link(text: str, target: str = "") -> str:
    """A link in Markdown to a heading, which is its text unless another is given."""
    return f"[{text}](#{slug(target or text)})"


def slug(title: str) -> str:
    """A heading's anchor, as GitHub makes it.

    >>> slug("k-sensitivity: Time, coverage")
    'k-sensitivity-time-coverage'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def inline_svg(chart: Chart, prefix: str) -> Any:
    """The chart as SVG inside HTML: without what belongs to a file, its ids made unique in the page by ``prefix``."""
    drawn = io.BytesIO()
    draw(chart, drawn, "svg")
    whole = re.sub(r"<!--.*?-->|<style.*?</style>", "", drawn.getvalue().decode("utf-8"), flags=re.DOTALL)
    body = whole[whole.index("<svg") :].strip()
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{prefix}-", body)
    size = re.compile(r'<svg[^>]*?(viewBox="[^"]*")[^>]*>')
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" \\1 role="img" aria-label="{escape(chart.title)}">'
    return optional("markupsafe", "lab").Markup(size.sub(lambda at: opening.replace("\\1", at[1]), body, count=1))
