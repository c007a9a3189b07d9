"""The library's own errors, and hints. Bad arguments raise `ValueError`, `TypeError` and `KeyError`.

An error may end with a hint, which names arguments and functions. The message of the exception names them as in Python.
The command line and the service write them in their own way (`explain`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar


class MaxsieveError(Exception):
    """The base class of the library's own errors."""


class DamagedIndexError(MaxsieveError):
    """The contents of an index are inconsistent. Such an index is never searched, and never repaired silently."""


class IndexLockedError(MaxsieveError):
    """Another process is writing to the index."""


class StaleVersionError(MaxsieveError):
    """A version of a corpus in shards whose files are gone: there is a newer one."""


class ClosedIndexError(MaxsieveError):
    """The index was closed before this call."""


class ModelMissingError(MaxsieveError):
    """A model is not in the cache, or is damaged there. Models are downloaded only on request."""


class ModelFetchError(MaxsieveError):
    """A model could not be downloaded, or the downloaded file is not the model."""


class BrokenPromiseWarning(UserWarning):
    """The live audit found that `Calibrated` finds less on average than was promised."""


class StoreWarning(UserWarning):
    """Vectors of a store of residuals were encoded, which changes scores, or do not fit its codebook."""


class Argument(NamedTuple):
    """An argument to give. Without a value, any is meant; without a name, it is given by its position.

    >>> str(Argument("replace", True)), str(Argument("prefix"))
    ('replace=True', 'prefix=')
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        value = "" if self.value is None else repr(self.value)
        return f"{self.name}={value}" if self.name else value


class Function(NamedTuple):
    """A function to call.

    >>> str(Function("calibrate", (Argument("queries"), Argument("k", 20))))
    'calibrate(queries=..., k=20)'
    """

    function: str
    arguments: tuple[Argument, ...] = ()

    def __str__(self) -> str:
        given = [f"{argument}..." if argument.value is None else str(argument) for argument in self.arguments]
        return f"{self.function}({', '.join(given)})"


Spell = Callable[["Argument | Function"], "str | None"]
"""How a front end writes an argument or a call; None if it has no such thing."""


@dataclass(frozen=True)
class Hint:
    """The end of an error's message: what would be right. Each ``{}`` stands for an argument or a call."""

    ending: str
    named: tuple[Argument | Function, ...]

    def spelled(self, spell: Spell) -> str:
        """The ending in the words of a front end; empty if it lacks something that the hint names."""
        words = [spell(name) for name in self.named]
        return "" if None in words else self.ending.format(*words)

    def __str__(self) -> str:
        return self.spelled(str)


E = TypeVar("E", bound=Exception)


def hinted(error: E, ending: str, *named: Argument | Function) -> E:
    """The error with a hint at the end of its message.

    >>> hinted(ValueError("'a' is there already"), "; {} replaces it", Argument("replace", True))
    ValueError("'a' is there already; replace=True replaces it")
    """
    hint = Hint(ending, named)
    error.args = (f"{error.args[0]}{hint}",)
    error.hint = hint  # type: ignore[attr-defined]
    return error


def explain(error: BaseException, spell: Spell) -> str:
    """The message of an error, with its hint in the words of a front end.

    >>> error = hinted(ValueError("'a' is there already"), "; {} replaces it", Argument("replace", True))
    >>> explain(error, lambda named: f"--{named.name}")
    "'a' is there already; --replace replaces it"
    """
    message = str(error.args[0]) if isinstance(error, KeyError) and len(error.args) == 1 else str(error)
    hint: Hint | None = getattr(error, "hint", None)
    return message if hint is None else message.removesuffix(str(hint)) + hint.spelled(spell)
