"""How commands fail: one message on standard error and an exit code; a traceback only with ``--traceback``."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from maxsieve.cli.console import say
from maxsieve.common.printable import for_shell, printable_lines
from maxsieve.common.processes import is_closed_pipe
from maxsieve.errors import (
    Argument,
    DamagedIndexError,
    Function,
    IndexLockedError,
    MaxsieveError,
    ModelMissingError,
    explain,
)

if TYPE_CHECKING:
    from maxsieve.text.inputs.survey import Survey

COMMANDS = {
    "Collection.open": "",
    "calibrate": "maxsieve calibrate",
    "fetch_model": "maxsieve model fetch",
    "Dataset.of": "",
    "of_collection": "--collection",
}
"""Commands and options for functions that hints name; empty if their arguments are options."""
OPTIONS = {
    "": "",
    "k": "-k",
    "id": "--id-field",
    "text": "--text-field",
    "queries": "--queries FILE",
    "wheel": "--wheel FILE",
    "style": None,
}
"""Options that are not called like the argument; None if there is no such option."""


LISTED = 20
"""How many files are named at most."""


class ExitCode(IntEnum):
    """What the command's exit code means; docs/cli.md has the table."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    DAMAGED = 3
    LOCKED = 4
    MODEL_MISSING = 5
    SKIPPED = 6
    INTERRUPTED = 130
    PIPE_CLOSED = 141


def report_failure(failure: BaseException) -> ExitCode:
    """Prints what went wrong, and returns the exit code."""
    if is_closed_pipe(failure):
        _forget_stdout()
        return ExitCode.PIPE_CLOSED
    if os.environ.get("MAXSIEVE_DEBUG"):
        sys.stderr.write(printable_lines("".join(traceback.format_exception(failure))))
        sys.stderr.flush()
    elif isinstance(failure, KeyboardInterrupt):
        say(str(failure) or "interrupted")
    else:
        say(sentence(failure))
    return exit_code(failure)


def exit_code(failure: BaseException) -> ExitCode:
    """The code for an error.

    >>> exit_code(IndexLockedError("it")), exit_code(ValueError("it"))
    (<ExitCode.LOCKED: 4>, <ExitCode.FAILED: 1>)
    """
    if isinstance(failure, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(failure, DamagedIndexError):
        return ExitCode.DAMAGED
    if isinstance(failure, IndexLockedError):
        return ExitCode.LOCKED
    return ExitCode.MODEL_MISSING if isinstance(failure, ModelMissingError) else ExitCode.FAILED


def sentence(failure: BaseException) -> str:
    """The message of an error, for people.

    >>> sentence(KeyError("delete: no document has the id 'x'"))
    "delete: no document has the id 'x'"
    >>> sentence(FileNotFoundError(2, "No such file or directory", "corpus.jsonl"))
    'corpus.jsonl: No such file or directory'
    >>> sentence(ZeroDivisionError("division by zero"))
    'unexpected ZeroDivisionError: division by zero (MAXSIEVE_DEBUG=1 shows where)'
    """
    if isinstance(failure, OSError) and failure.filename is not None and failure.strerror:
        text = f"{failure.filename}: {failure.strerror}"
    else:
        text = explain(failure, typed)
    expected = (MaxsieveError, ValueError, TypeError, KeyError, OSError, ImportError)
    if not isinstance(failure, expected) or not text:
        text = f"unexpected {type(failure).__name__}: {text} (MAXSIEVE_DEBUG=1 shows where)"
    return text.strip()


def report_bad(count: int, problems: Sequence[Exception], encodings: Mapping[str, str] | None = None) -> None:
    """Says what was skipped and why, if anything was, and which files are not UTF-8."""
    for name, encoding in list((encodings or {}).items())[:LISTED]:
        say(f"{name} is not UTF-8; it was read as {encoding}")
    if encodings and len(encodings) > LISTED:
        say(f"{len(encodings) - LISTED:,} more files are not UTF-8")
    if not count:
        return
    what = "document that" if count == 1 else "documents that"
    say(f"skipped {count:,} {what} can't be read:")
    for problem in problems[:LISTED]:
        say(f"  {sentence(problem)}")
    if count > LISTED:
        say(f"  and {count - LISTED:,} more")


def typed(named: Argument | Function) -> str | None:
    """An argument or a call as it is typed on the command line.

    >>> typed(Argument("allow_deletes", True)), typed(Function("calibrate", (Argument("k", 20),)))
    ('--allow-deletes', 'maxsieve calibrate -k 20')
    """
    if isinstance(named, Function):
        command, given = COMMANDS.get(named.function), [typed(argument) or "" for argument in named.arguments]
        return None if command is None else " ".join([command, *given]).strip()
    option = OPTIONS.get(named.name, f"--{named.name.replace('_', '-')}")
    if option is None or named.value is None or named.value is True:
        return option
    value = named.value if isinstance(named.value, (str, int)) else type(named.value).__name__.lower()  # a policy
    return f"{option} {for_shell(str(value))}".strip()


def _forget_stdout() -> None:
    """Nobody reads standard output any more. Output in the buffer must not fail again when the interpreter ends."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, sys.stdout.fileno())
    os.close(silent)


def report_left_out(survey: Survey | None) -> None:
    """Says which files of a folder were left out, and how to include those of other kinds."""
    if survey is None:
        return
    for said in survey.said:
        say(said)
    if survey.other:
        say(f"--include '*.{survey.other.most_common(1)[0][0]}' reads such files as text")
