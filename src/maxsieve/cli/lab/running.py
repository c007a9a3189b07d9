"""One experiment on one corpus, with all that is needed to get the same figures again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxsieve.lab.experiment import Options
    from maxsieve.lab.results import Result
    from maxsieve.lab.source import Source


def run(name: str, source: Source, options: Options) -> Result:
    """Runs it; the result's facts say with which settings, on what machine, when, and by which command."""
    from maxsieve.lab.experiments import find
    from maxsieve.lab.facts import facts

    result = find(name).run(source, options)
    return replace(
        result, facts={**result.facts, "settings": settings(source, options), **facts(encoder=source.encoder)}
    )


def reusable(name: str, source: Source, options: Options, folder: Path) -> Result | None:
    """The result in the folder, if it was made of the same corpus with the same settings and version."""
    from maxsieve.lab.results import Result, load

    path = folder / f"{Result(name, source.name, '', []).stem}.json"
    if not path.is_file():
        return None
    found = load(path)
    return found if found.facts.get("settings") == settings(source, options) else None


def settings(source: Source, options: Options) -> dict[str, Any]:
    """What a result depends on, besides the machine."""
    from maxsieve import __version__

    return {
        "maxsieve": __version__,
        "corpus": digest_of(source)[:12],
        "encoder": source.encoder or "ready-made",
        "dim": source.dim or None,
        "queries": options.queries,
        "threads": options.threads,
        "quick": options.quick,
    }


def digest_of(source: Source) -> str:
    """SHA-256 of the corpus, or of the file of embeddings and its judgements."""
    from maxsieve.exchange.sidecars import beside
    from maxsieve.lab.corpora.digest import digest
    from maxsieve.lab.corpora.ready import EXCLUSIONS, JUDGEMENTS

    if source.path is None:
        return source.texts("a digest").digest
    sidecars = [beside(source.path, template) for template in (JUDGEMENTS, EXCLUSIONS)]
    return digest([(path.name, path) for path in (source.path, *sidecars) if path.is_file()])
