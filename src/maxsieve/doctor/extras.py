"""The packages of all extras, from maxsieve's own metadata, and of adapters. None of them is imported."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, requires

from maxsieve.common.machine import installed

HOSTS = (
    "colpali-engine",
    "haystack-ai",
    "langchain-core",
    "llama-index-core",
    "mteb",
    "pylate",
    "pyterrier",
    "qdrant-client",
    "rerankers",
    "torch",
)
"""Packages that adapters are for; no extra has them."""
REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)\s*(\[(?P<extras>[^]]*)])?.*;.*\bextra *== *[\"'](?P<extra>[\w.-]+)[\"']")


def packages() -> dict[str, str | None]:
    """NumPy, every package of an extra and those that adapters are for, with the version; None if it is missing."""
    names = {name for some in _extras().values() for name in some}.union(HOSTS)
    return {name: installed(name) for name in ["numpy", *sorted(names, key=str.lower)]}


def missing_by_extra() -> dict[str, list[str]]:
    """The missing packages of each extra; an empty list if it is complete."""
    return {extra: sorted(name for name in names if installed(name) is None) for extra, names in _extras().items()}


@lru_cache(maxsize=1)
def _extras() -> dict[str, set[str]]:
    """The packages of each extra, including those of extras that it includes; `all` says nothing new."""
    own: dict[str, set[str]] = {}
    included: dict[str, set[str]] = {}
    for line in _requirements():
        if found := REQUIREMENT.match(line):
            extra = found["extra"]
            own.setdefault(extra, set())
            included.setdefault(extra, set())
            if found["name"] == "maxsieve":
                included[extra].update(re.split(r"\s*,\s*", found["extras"] or ""))
            else:
                own[extra].add(found["name"])

    def whole(extra: str) -> set[str]:
        return own.get(extra, set()).union(*(whole(other) for other in included.get(extra, ())))

    return {extra: whole(extra) for extra in sorted(own.keys() - {"all"})}


def _requirements() -> list[str]:
    try:
        return requires("maxsieve") or []
    except PackageNotFoundError:  # maxsieve is not installed, but run from its sources
        return []
