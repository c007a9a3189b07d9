"""Random and adversarial collections, of documents of different lengths, to compare engine and specification."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core, spec

F32 = NDArray[np.float32]


class Case(NamedTuple):
    query: F32
    documents: list[F32]
    k: int


KINDS = ("gaussian", "unit", "negative", "huge", "denormal", "wide", "one-hot", "integer", "duplicates", "constant")


def rows(rng: np.random.Generator, kind: str, count: int, d: int) -> F32:
    """Token vectors of one kind."""
    x = rng.standard_normal((count, d))
    if kind == "unit":
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    elif kind == "negative":
        x = -np.abs(x)
    elif kind == "huge":
        x = np.clip(x * 2.0**48, -(2.0**50), 2.0**50)
    elif kind == "denormal":
        x *= 2.0 ** rng.integers(-150, -120)
    elif kind == "wide":
        x *= 2.0 ** rng.uniform(-60, 30, (count, 1))
    elif kind == "one-hot":
        x = np.eye(d)[rng.integers(0, d, count)] * rng.choice([-1.0, 1.0, 2.0], (count, 1))
    elif kind in ("integer", "duplicates"):  # exact arithmetic: ties are plentiful
        x = rng.integers(-2, 3, (count, d))
    elif kind == "constant":
        x = np.full((count, d), rng.choice([0.0, 1.0, -0.5]))
    return x.astype(np.float32)


def make_case(seed: int) -> Case:
    """One case. Its documents are of one kind, its query sometimes of another."""
    rng = np.random.default_rng([20_260_101, seed])
    kind = KINDS[seed % len(KINDS)]
    d = int(rng.choice([1, 2, 3, 8, 17, 31, 32, 33, 64, 130]))
    tokens = int(rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 20, 33]))
    count = int(rng.integers(1, 24))
    documents = [rows(rng, kind, int(rng.choice([0, 1, 2, 3, 5, 9, 14])), d) for _ in range(count)]
    if kind == "duplicates":
        documents += [documents[i] for i in rng.integers(0, count, 8)]
    query_kind = kind if rng.random() < 0.7 else str(rng.choice(["gaussian", "negative", "denormal", "one-hot"]))
    query = rows(rng, query_kind, tokens, d)
    return Case(query, documents, int(rng.choice([1, 2, 3, 5, 10, 40])))


def check_rescoring(trace: _core.Trace, expected: spec.Rescoring, positions: np.ndarray) -> None:
    """Each step of the engine's rescoring is that of the specification, which numbers documents by ``positions``."""
    steps = expected.steps
    assert trace.shown[trace.rescored].tolist() == [int(positions[step.position]) for step in steps]
    assert trace.scores.tobytes() == np.array([step.score for step in steps], np.float32).tobytes()
    assert trace.thresholds.tobytes() == np.array([step.threshold for step in steps], np.float64).tobytes()
    unseen = None if trace.unseen is None else trace.unseen[0]
    assert unseen == (None if expected.unseen is None else int(positions[expected.unseen]))
