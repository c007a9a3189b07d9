"""Checks of simple arguments: whole numbers, and choices from a list."""

from __future__ import annotations

import operator

import numpy as np


def as_count(value: object, name: str, *, at_least: int, at_most: int | None = None) -> int:
    """A whole number (NumPy integers count, bool and float do not) within limits, or an error that says what is wrong.

    >>> as_count(3, "k", at_least=1)
    3
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least}, not {number}")
    if at_most is not None and number > at_most:
        raise ValueError(f"{name} must be at most {at_most}, not {number}")
    return number


def check_choice(value: object, name: str, choices: tuple[str, ...]) -> None:
    """Refuses a value that is not one of the choices.

    >>> check_choice("int4", "store", ("float32", "int8"))
    Traceback (most recent call last):
    ValueError: store must be 'float32' or 'int8', not 'int4'
    """
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
