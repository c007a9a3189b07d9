"""Prints what extras of pyproject.toml need, one requirement per line: `requirements.py test,lint`.

With this, pip installs packages while the core is built. (`pip install .[test]` does one after the other.)
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


def requirements(extras: Sequence[str], known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What these extras need, with those that they include.

    >>> list(requirements(["a"], {"a": ["maxsieve[b,c]", "x>=1"], "b": ["y"], "c": ["maxsieve[b]"]}))
    ['y', 'y', 'x>=1']
    """
    for extra in extras:
        for line in known[extra]:
            included = OWN.match(line)
            yield from requirements(included[1].split(","), known) if included else [line]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = requirements(sys.argv[1].split(","), project["optional-dependencies"])
    print("\n".join(dict.fromkeys([*project["dependencies"], *wanted])))
