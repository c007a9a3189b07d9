"""Prints what some dependency groups of pyproject.toml need, a requirement a line: `requirements.py test,lint`.

With this, pip installs packages while the core is being built, and pips before 25.1, which have no `--group`, can
install a group.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: pip has the same
    from pip._vendor import tomli as tomllib

OWN = re.compile(r"maxsieve\[([^]]*)]")
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
Known = Mapping[str, Sequence[str | Mapping[str, str]]]


def requirements(names: Sequence[str], known: Known) -> Iterator[str]:
    """What these groups and extras need, with those that they include.

    >>> list(requirements(["a"], {"a": ["maxsieve[b,c]", "x>=1"], "b": ["y"], "c": [{"include-group": "b"}]}))
    ['y', 'y', 'x>=1']
    """
    for name in names:
        for line in known[name]:
            if isinstance(line, str):
                included = OWN.match(line)
                yield from requirements(included[1].split(","), known) if included else [line]
            else:
                yield from requirements([line["include-group"]], known)


def group(*names: str) -> list[str]:
    """What these groups need, each once."""
    known = {**PROJECT["project"]["optional-dependencies"], **PROJECT["dependency-groups"]}
    return list(dict.fromkeys(requirements(names, known)))


if __name__ == "__main__":
    print("\n".join([*PROJECT["project"]["dependencies"], *group(*sys.argv[1].split(","))]))
