"""What the demo asks, and how it compares the sieve's answer with exhaustive scoring."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from maxsieve.policies import Certified, Exhaustive

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
"""Each policy searches so often for a question, in turns; its fastest counts."""


class Comparison(NamedTuple):
    """The sieve's answer to a question, the seconds both took, and whether they agree to the bit."""

    hits: TextHits
    sieve_seconds: float
    exhaustive_seconds: float
    equal: bool


def compare(collection: Collection, question: str) -> Comparison:
    """Asks both ways."""
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
        min(one.search_seconds for one, _ in pairs),
        min(other.search_seconds for _, other in pairs),
        sieve.ids == exhaustive.ids and sieve.scores.tobytes() == exhaustive.scores.tobytes(),
    )
