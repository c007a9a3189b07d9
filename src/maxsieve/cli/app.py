"""The command line's entry point: registers all subcommands, and turns errors into messages and exit codes."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from contextvars import copy_context
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from maxsieve.cli import grep
from maxsieve.cli.console import prepare_streams, print_line, say, showing_warnings
from maxsieve.cli.failures import ExitCode, report_failure
from maxsieve.cli.options import add_commands, with_groups
from maxsieve.text.encoders.truncation_warning import counting_truncations

SECTIONS = {
    "Start here": ("model", "index", "search", "sync", "serve", "calibrate"),
    "Without a collection, and for agents": ("grep", "rerank", "mcp"),
    "Documents of a collection": ("add", "delete", "export"),
    "Care of collections, and of this machine": ("info", "verify", "compact", "cache", "doctor"),
    "Many machines": ("cluster",),
    "Trying out, measuring, experiments": ("demo", "recall", "bench", "lab"),
}
"""The commands of ``maxsieve --help``: first those that most people use, in the order in which they use them."""

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What the parser raises for wrong options. Newer versions of typer bring their own copy of click's class."""


class Commands(TyperGroup):
    """A group of commands that fail with a message and an exit code, not with a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the chosen command."""
        try:
            with showing_warnings(), counting_truncations():
                result = super().invoke(ctx)
                sys.stdout.flush()
            return result
        except (typer.Exit, typer.Abort, UsageError):
            raise
        except (Exception, KeyboardInterrupt) as failure:
            raise typer.Exit(report_failure(failure)) from failure

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order in which people use them; any that no section has come last."""
        named = [name for names in SECTIONS.values() for name in names if name in self.commands]
        return [*named, *(name for name in self.commands if name not in named)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands in sections, the most used ones first."""
        left = {name: command for name in self.list_commands(ctx) if not (command := self.commands[name]).hidden}
        width = formatter.width - 6 - max(map(len, left))
        for title, names in {**SECTIONS, "Others": tuple(left)}.items():
            rows = [(name, left.pop(name).get_short_help_str(width)) for name in names if name in left]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


SETTINGS: dict[str, Any] = {"no_args_is_help": True, "rich_markup_mode": None, "pretty_exceptions_enable": False}

app = typer.Typer(cls=Commands, **SETTINGS)

SEARCH = "maxsieve search docs.ms how do I split a path"


def _show_version(wanted: bool) -> None:
    if wanted:
        from maxsieve import __version__

        print_line(f"maxsieve {__version__}")
        raise typer.Exit


@app.callback(epilog="Example:  maxsieve demo")
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show the traceback of an error.")] = False,
) -> None:
    """Searches text by meaning: exact late interaction on ordinary CPUs, offline."""
    if traceback:
        os.environ["MAXSIEVE_DEBUG"] = "1"


@app.command(name="grep", help=grep.SUMMARY, context_settings={"ignore_unknown_options": True}, add_help_option=False)
def _grep(words: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    raise typer.Exit(grep.main(words or []))


@functools.cache
def register_commands() -> None:
    """Registers all commands, once."""
    from maxsieve.cli import (
        bench,
        cache,
        calibrate,
        cluster,
        demo,
        doctor,
        export,
        index,
        lab,
        maintenance,
        mcp,
        models,
        recall,
        rerank,
        search,
        serve,
        sync,
    )

    documents: dict[Callable[..., None], str] = {
        with_groups(index.index): "maxsieve index docs.ms corpus.jsonl --text-field body",
        with_groups(index.add): "echo 'A new note.' | maxsieve add docs.ms",
        with_groups(sync.sync): "maxsieve sync notes.ms ~/notes --watch",
        search.search: SEARCH,
        rerank.rerank: "printf 'tea\\ncoffee\\nbread' | maxsieve rerank 'a hot drink' -k 2",
        serve.serve: "maxsieve serve docs.ms",
        mcp.mcp: "maxsieve mcp ~/project --install claude-code",
        calibrate.calibrate: "maxsieve calibrate docs.ms",
        maintenance.delete: "maxsieve delete docs.ms d17 d18",
        maintenance.info: "maxsieve info docs.ms",
        maintenance.verify: "maxsieve verify docs.ms && echo fine",
        maintenance.compact: "maxsieve compact docs.ms",
        export.export: "maxsieve export docs.ms docs.jsonl --texts",
    }
    add_commands(app, documents)
    for group in (cluster, models, cache):
        group.register(app)
    add_commands(app, {recall.recall: "maxsieve recall docs.ms other.run --queries asked.tsv"})
    add_commands(app, {bench.bench: "maxsieve bench --documents 2000 --length 180 --dim 128"})
    lab.register(app)
    add_commands(app, {demo.demo: "maxsieve demo", doctor.doctor: "maxsieve doctor"})


def app_for(first: str) -> typer.Typer:
    """The application for a command line with this first word.

    Searches are short, so their command is registered alone: to import all others takes a third of the start.
    """
    if first != "search":
        register_commands()
        return app
    from maxsieve.cli.search import search

    alone = typer.Typer(cls=Commands, **SETTINGS)
    alone.callback()(_options)
    add_commands(alone, {search: SEARCH})
    return alone


def run(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["grep"]:
        return grep.main(words[1:])
    try:
        prepare_streams()
        command = typer.main.get_command(app_for(words[0] if words else ""))
        settings = copy_context()  # context variables that a command sets do not outlive it
        code = settings.run(command.main, arguments, prog_name="maxsieve", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else ExitCode.FINE
    except UsageError as wrong:
        return _report_usage(wrong)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except (Exception, KeyboardInterrupt) as failure:
        return report_failure(failure)


def _report_usage(wrong: Any) -> int:
    context = getattr(wrong, "ctx", None)
    path = context.command_path if context is not None else "maxsieve"
    message = wrong.format_message()
    if message:
        say(f"{message.rstrip('.')}; see {path} --help")
    return ExitCode.USAGE
