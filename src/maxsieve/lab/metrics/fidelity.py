"""How much of the true top K was found; the order within it does not count."""

from __future__ import annotations

from collections.abc import Sequence


def overlap(found: Sequence[str], truth: Sequence[str]) -> float:
    """The share of the true top K that is among the found ones: the paper's Overlap@K.

    >>> overlap(["b", "x"], ["a", "b"]), overlap([], [])
    (0.5, 1.0)
    """
    return len({*found} & {*truth}) / len({*truth}) if truth else 1.0


def same_set(found: Sequence[str], truth: Sequence[str]) -> bool:
    """Whether exactly the true top K was found.

    >>> same_set(["b", "a"], ["a", "b"]), same_set(["a"], ["a", "b"])
    (True, False)
    """
    return {*found} == {*truth}
