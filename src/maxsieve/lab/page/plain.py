"""The page in Markdown, its charts in files beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

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
from maxsieve.lab.results import Result


def markdown_page(results: Sequence[Result], images_folder: str | Path = "") -> str:
    """One page of results; its charts are SVG files that `save` wrote, in ``images_folder`` as seen from the page."""
    images = f"{Path(images_folder).as_posix()}/" if str(images_folder) not in ("", ".") else ""
    parts = [f"# {TITLE}", ABOUT, _contents(results), *_measured(results)]
    for experiment, some in ordered(results):
        parts.append(f"## {heading(experiment)}")
        for result in some:
            parts.append(result.markdown(3, images).rstrip())
            if line := settings(result):
                parts.append(f"<sub>{line}</sub>")
    parts += [f"## {NOT_REPRODUCIBLE}", _gaps()]
    return "\n\n".join(parts) + "\n"


def _contents(results: Sequence[Result]) -> str:
    lines = []
    for experiment, some in ordered(results):
        corpora = ", ".join(_link(result.corpus, f"{experiment}: {result.corpus}") for result in some)
        lines.append(f"- {_link(heading(experiment), heading(experiment))} ({corpora})")
    return "\n".join([*lines, f"- {_link(NOT_REPRODUCIBLE, NOT_REPRODUCIBLE)}"])


def _measured(results: Sequence[Result]) -> list[str]:
    parts = ["## Measured on"] * bool(machines(results))
    parts += ["\n".join(f"- {name}: {value}" for name, value in one.items()) for one in machines(results)]
    if commands(results):
        parts += ["With:", "\n".join(f"    {command}" for command in commands(results))]
    return parts


def _gaps() -> str:
    return "\n".join(f"- **{gap.what}** ({', '.join(f'`{label}`' for label in gap.labels)}): {gap.why}" for gap in GAPS)


def _link(text: str, target: str) -> str:
    return f"[{text}](#{slug(target)})"


def slug(title: str) -> str:
    """A heading's anchor, as GitHub makes it.

    >>> slug("k-sensitivity: Time, coverage")
    'k-sensitivity-time-coverage'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
