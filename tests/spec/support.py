"""Exact arithmetic and generated cases for the tests of the specification.

Every float32 is an integer times 2^-149, so that similarities and scores are integers times 2^-298: exact, and fast
enough in Python's integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from long_form import LONG, scaled

DIMENSIONS = (1, 3, 31, 130)
LARGEST = np.float32(2.0**50)
SCALES = ("normal", "unit", "huge", "denormal", "tiny", "all scales", "mixed rows")
KINDS = (*SCALES, "one-hot", "small integers", "negative")


def examples(count: int) -> settings:
    """`count` cases in the full form, the same ones each time; ten times as many, and new ones, in the long form."""
    return settings(deadline=None, max_examples=scaled(count, at_least=10), derandomize=not LONG, database=None)


def rounded_to_float32(x: Fraction) -> float:
    """The float32 nearest to a rational number (ties to even, denormals included), as a Python float."""
    if x == 0:
        return 0.0
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, -126) - 23)
    return float(round(x / quantum) * quantum)


def integers(x: NDArray[np.float32]) -> NDArray[np.object_]:
    """The float32 numbers of `x` as Python integers in units of 2^-149."""

    def units(value: float) -> int:
        numerator, denominator = float(value).as_integer_ratio()
        return numerator * (2**149 // denominator)

    out = np.empty(x.shape, object)
    out.flat = [units(value) for value in x.flat]
    return out


def exact_cells(Q: NDArray[np.float32], E: NDArray[np.float32]) -> list[Fraction]:
    """MaxSim cells as rational numbers."""
    products = integers(Q) @ integers(E).T
    return [Fraction(int(max(row)), 2**298) for row in products]


def exact_score(Q: NDArray[np.float32], E: NDArray[np.float32]) -> Fraction:
    """The real-number score of one document."""
    return sum(exact_cells(Q, E), Fraction(0))


def squared_norm(x: NDArray[np.float64]) -> Fraction:
    """The squared Euclidean norm of one vector as a rational number."""
    return sum((Fraction(float(value)) ** 2 for value in x), Fraction(0))


def vectors(rng: np.random.Generator, count: int, d: int, kind: str) -> NDArray[np.float32]:
    """`count` token vectors of one of the KINDS, finite and at most 2^50 in magnitude."""
    x = rng.standard_normal((count, d))
    if kind == "unit":
        x = x / np.sqrt((x * x).sum(axis=1, keepdims=True))
    elif kind == "one-hot":
        x = np.eye(d)[rng.integers(0, d, count)] * rng.choice([1.0, -1.0, 0.5], (count, 1))
    elif kind == "huge":
        x = np.where(rng.random((count, d)) < 0.3, np.sign(x) * 2.0**50, x * 2.0**47)
    elif kind == "denormal":
        x = x * 2.0 ** rng.integers(-149, -126)
    elif kind == "tiny":
        x = x * 2.0 ** rng.integers(-110, -60)
    elif kind == "all scales":
        x = x * 2.0 ** rng.integers(-149, 48, (count, d))
    elif kind == "mixed rows":
        x = x * 2.0 ** rng.integers(-149, 48, (count, 1))
    elif kind == "small integers":
        x = rng.integers(-2, 3, (count, d)).astype(np.float64)
    elif kind == "negative":
        x = -np.abs(x)
    return np.clip(x.astype(np.float32), -LARGEST, LARGEST)


Case = tuple[NDArray[np.float32], list[NDArray[np.float32]]]


def make_case(rng: np.random.Generator, d: int, query_kind: str, kinds: Sequence[str], shortest: int = 1) -> Case:
    """A query of 1 to 6 tokens and 1 to 7 documents of `shortest` to 4 tokens, a third of them twice."""
    Q = vectors(rng, int(rng.integers(1, 7)), d, query_kind)
    if query_kind == "negative":
        Q = -Q
    documents = []
    for _ in range(rng.integers(1, 8)):
        if documents and rng.random() < 1 / 3:
            documents.append(documents[rng.integers(len(documents))].copy())
        else:
            documents.append(vectors(rng, int(rng.integers(shortest, 5)), d, kinds[rng.integers(len(kinds))]))
    return Q, documents


@st.composite
def ragged_cases(draw: st.DrawFn, shortest: int = 1) -> Case:
    """Cases of every kind and dimension, and some in which hypothesis chooses every number."""
    if draw(st.integers(0, 3)) == 0:
        d = draw(st.sampled_from((1, 2, 3)))
        number = st.floats(-float(LARGEST), float(LARGEST), width=32)
        token = st.lists(number, min_size=d, max_size=d)
        Q = np.array(draw(st.lists(token, min_size=1, max_size=3)), np.float32)
        documents = draw(st.lists(st.lists(token, min_size=shortest, max_size=3), min_size=1, max_size=4))
        return Q, [np.array(document, np.float32).reshape(-1, d) for document in documents]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    return make_case(rng, draw(st.sampled_from(DIMENSIONS)), draw(st.sampled_from(KINDS)), kinds, shortest)
