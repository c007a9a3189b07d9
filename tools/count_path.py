"""Counts the Python functions and files of maxsieve that run from `Collection.search` to the engine.

python tools/count_path.py                the search of a small collection, and of one in shards if Ray is installed
python tools/count_path.py COLLECTION     the search of a collection that is there

Functions of encoders are left out: they are not on the way. So are properties, which are read like attributes. A
generator expression or a lambda counts with the function that it is written in. The first search fills caches; the
second one is counted.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import maxsieve
from maxsieve.text import Collection

ROOT = Path(maxsieve.__file__).parent
AT_MOST = {"one collection": (20, 10), "in shards": (30, 14)}
"""Limits on functions and files. tests/docs/test_path.py and tests/cluster/test_path.py hold them."""

LAST = {("searcher.py", "LocalSearch.best"), ("cluster/actors.py", "ActorPool.start")}
"""The functions that call the engine, in this process or in another one."""


class Way(NamedTuple):
    """The functions that ran before the engine was called, and the functions on the stack when it was."""

    ran: set[tuple[str, str]]
    stack: list[tuple[str, str]]

    def is_within(self, limits: tuple[int, int]) -> bool:
        """Whether there are at most so many functions, in so many files."""
        functions, files = limits
        return len(self.ran) <= functions and len({file for file, _ in self.ran}) <= files


class Words:
    """An encoder of a few words, so that no model is needed."""

    name, dim, fingerprint = "words", 16, {"kind": "words"}

    def encode_documents(self, texts: Any, *, progress: bool = False) -> Any:
        """One row per word."""
        return [np.eye(16, dtype=np.float32)[[sum(map(ord, word)) % 16 for word in text.split()]] for text in texts]

    def encode_queries(self, texts: Any) -> Any:
        """As documents."""
        return self.encode_documents(texts)


def count(collection: Collection, query: str) -> Way:
    """What runs in a search, until it calls the engine in this process or another one."""
    collection.search(query)
    ran: set[tuple[str, str]] = set()
    deepest: list[tuple[str, str]] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        name = named(frame)
        if event == "call" and name is not None and not deepest:
            ran.add(name)
        if event == "call" and name in LAST:
            deepest = deepest or stack_of(frame)

    sys.setprofile(watch)
    try:
        collection.search(query)
    finally:
        sys.setprofile(None)
    return Way(ran, deepest)


def stack_of(frame: FrameType | None) -> list[tuple[str, str]]:
    """The functions of maxsieve on the stack, outermost first, each once."""
    found: dict[tuple[str, str], None] = {}
    while frame is not None:
        if (name := named(frame)) is not None:
            found[name] = None
        frame = frame.f_back
    return [*reversed(found)]


def named(frame: FrameType) -> tuple[str, str] | None:
    """The file and the function; None if it is not of maxsieve, or of an encoder."""
    file = Path(frame.f_code.co_filename)
    if ROOT not in file.parents or "encoders" in file.parts:
        return None
    name = re.sub(r"\.<locals>.*", "", getattr(frame.f_code, "co_qualname", frame.f_code.co_name))
    return None if is_property(frame, name) else (file.relative_to(ROOT).as_posix(), name)


def is_property(frame: FrameType, name: str) -> bool:
    """Whether the code is that of a property of a class in its module."""
    owner, _, attribute = name.rpartition(".")
    kind = vars(frame.f_globals.get(owner, object)).get(attribute)
    return isinstance(kind, (property, cached_property))


def count_small(folder: Path, **options: Any) -> Way:
    """What runs in a search of a small collection, which is made in a new folder with these options."""
    with Collection.create(folder, Words(), **options) as collection:
        collection.add(["a fox", "a hare and a fox", "the crow"])
        return count(collection, "the fox")


def show(what: str, found: Way, verbose: bool) -> None:
    """Prints the figures."""
    functions, files = AT_MOST[what]
    print(
        f"{what}: {len(found.ran)} functions in {len({file for file, _ in found.ran})} files run before the engine "
        f"(at most {functions} in {files}), "
        f"{len(found.stack)} of them in {len({file for file, _ in found.stack})} files are on the stack"
    )
    for file, name in sorted(found.ran) if verbose else ():
        print(f"    {file}: {name}")


def main() -> None:
    """Counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", nargs="?", help="the folder of a collection with a built-in encoder")
    parser.add_argument("--verbose", action="store_true", help="print the names")
    given = parser.parse_args()
    if given.collection:
        with Collection.open(given.collection) as collection:
            what = "in shards" if "shards" in collection.info() else "one collection"
            show(what, count(collection, "a question"), given.verbose)
        return
    with tempfile.TemporaryDirectory() as folder:
        kinds: dict[str, dict[str, Any]] = {"one collection": {}}
        try:
            import ray  # noqa: F401
        except ImportError:
            pass
        else:
            kinds["in shards"] = {"shards": 2}
        for what, options in kinds.items():
            show(what, count_small(Path(folder) / what, **options), given.verbose)


if __name__ == "__main__":
    main()
