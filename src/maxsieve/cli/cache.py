"""`maxsieve cache`: shows and clears the cache folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from maxsieve.cli.collections import bytes_text
from maxsieve.cli.console import emit, print_line, say
from maxsieve.cli.failures import sentence
from maxsieve.cli.maintenance import duration
from maxsieve.cli.options import AsJson
from maxsieve.common.cache import cache_folder
from maxsieve.doctor.cache_entries import KINDS, CacheEntry, InUseError, cache_entries, remove
from maxsieve.errors import MaxsieveError

DESCRIPTIONS = {
    "models": "built-in models; maxsieve model fetch downloads them again",
    "collections": "corpora of the lab with their vectors; encoding them again takes minutes each",
    "folders": "collections of maxsieve grep --index; encoding them again takes minutes each",
    "demo": "the collection of maxsieve demo",
    "vectors": "token vectors of benchmarks and tests",
    "truth": "exact answers of benchmarks",
    "million": "the benchmark of a million documents",
    "history": "lines of earlier interactive sessions of maxsieve search",
}

HELP = "Show what is in the cache folder, or clear it."
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WHAT",
        help=f"A kind ({', '.join(KINDS)}) or a single entry, as KIND/NAME.",
        show_default="everything",
    ),
]


def register(app: typer.Typer) -> None:
    """Registers the commands."""
    group = typer.Typer(invoke_without_command=True, help=HELP)
    group.callback(epilog="Example:  maxsieve cache")(show)
    group.command(epilog="Example:  maxsieve cache clear collections --yes")(clear)
    app.add_typer(group, name="cache")


def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what is in the cache folder, or clear it."""
    if context.invoked_subcommand is not None:
        return
    found = cache_entries()
    if as_json:
        for entry in found:
            emit(_plain(entry))
        return
    width = max((len(entry.key) for entry in found), default=0) + 2
    for kind in KINDS:
        some = [entry for entry in found if entry.kind == kind]
        if some:
            print_line(f"{kind}: {bytes_text(sum(entry.nbytes for entry in some))}; {DESCRIPTIONS[kind]}")
            for entry in some:
                age = duration(int(time.time() - entry.changed))
                print_line(f"  {entry.key:<{width}}{bytes_text(entry.nbytes):>10}  changed {age} ago")
    total = bytes_text(sum(entry.nbytes for entry in found))
    print_line(f"{total} in total in {cache_folder()}; maxsieve cache clear [WHAT] removes it")


def clear(what: What = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove entries from the cache folder: all of them, or those that are named.

    An entry that a running process is writing stays. Files that maxsieve did not put there stay, too.
    """
    chosen = named(what, cache_entries())
    if chosen and not yes:
        _ask(chosen)
    gone = [entry for entry in chosen if _removed(entry)]
    if as_json:
        for entry in gone:
            emit({**_plain(entry), "removed": True})
    else:
        print_line(f"{len(gone):,} removed, {bytes_text(sum(entry.nbytes for entry in gone))} freed")
    if left := len(chosen) - len(gone):
        raise MaxsieveError(f"{left} of {len(chosen)} could not be removed")


def _removed(entry: CacheEntry) -> bool:
    """Removes an entry, or says why it could not be removed."""
    try:
        remove(entry)
    except (InUseError, OSError) as problem:
        say(f"{entry.key} was not removed: {problem if isinstance(problem, InUseError) else sentence(problem)}")
        return False
    return True


def named(what: Sequence[str] | None, found: Sequence[CacheEntry]) -> list[CacheEntry]:
    """The entries that the names select, each once. An unknown name is an error."""
    if not what:
        return list(found)
    for name in what:
        if name not in KINDS and name not in (entry.key for entry in found):
            kinds = ", ".join(KINDS)
            raise typer.BadParameter(f"{name!r} is neither a kind ({kinds}) nor an entry; maxsieve cache lists them")
    return [entry for entry in found if entry.kind in what or entry.key in what]


def _ask(chosen: Sequence[CacheEntry]) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask for confirmation: add --yes to remove without asking")
    for entry in chosen:
        say(f"{entry.key}, {bytes_text(entry.nbytes)}")
    typer.confirm(
        f"Remove these {len(chosen):,}, {bytes_text(sum(entry.nbytes for entry in chosen))}?", abort=True, err=True
    )


def _plain(entry: CacheEntry) -> dict[str, object]:
    return {
        "kind": entry.kind,
        "name": entry.name,
        "path": str(entry.path),
        "bytes": entry.nbytes,
        "changed": int(entry.changed),
    }
