"""Converts errors of Ray to errors of maxsieve: one sentence, without the traceback of another process."""

from __future__ import annotations

from typing import Any

from maxsieve.errors import MaxsieveError


def as_own_error(problem: Any, what: str) -> Exception:
    """The error that was raised in another process. If that process was lost, a `MaxsieveError` with ``what``.

    ``problem`` is a ``ray.exceptions.RayError``.
    """
    if isinstance(cause := getattr(problem, "cause", None), Exception):
        return cause
    return MaxsieveError(f"{what}: {reason_of(problem)}")


def reason_of(problem: Any) -> str:
    """What is wrong, in one line: the first line of an error of Ray, or why an actor could not start."""
    if getattr(problem, "actor_init_failed", False):
        return f"a worker could not start: {last_line(str(problem))}"
    return str(problem).strip().partition("\n")[0]


def last_line(message: str) -> str:
    r"""The last line of a traceback that has text: the error itself.

    >>> last_line("Traceback:\n  File x, line 1\nValueError: there is no model\n    ^^^^^\n")
    'ValueError: there is no model'
    """
    lines = [line.strip() for line in message.splitlines()]
    return next((line for line in reversed(lines) if line.strip("^~")), "")
