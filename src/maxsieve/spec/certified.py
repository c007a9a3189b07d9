"""The certified policy: a proxy with a proven error, and a best-first rescore that stops when the top K is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxsieve.spec.arithmetic import F32, F64, lane_sum
from maxsieve.spec.maxsim import cells, score_of_cells, top_k
from maxsieve.spec.quantiser import DocumentCodes, QueryCodes, integer_maxima, quantise_document, quantise_query


class ErrorTerms(NamedTuple):
    """``eps_i = (rho_i * on_rho + nu_i * on_nu + constant) * (1 + 2^-38)``."""

    on_rho: float
    on_nu: float
    constant: float


class Step(NamedTuple):
    """A document that was rescored, its canonical score, and ``tau`` after it."""

    position: int
    score: float
    threshold: float


class Rescoring(NamedTuple):
    """Best-first rescoring, step by step.

    Canonical scores (``-inf`` if none was needed), the steps, the last ``tau``, and the first document in the order
    that was not rescored (None if all were).
    """

    scores: F32
    steps: list[Step]
    threshold: float
    unseen: int | None


class CertifiedAnswer(NamedTuple):
    """What `certified` returns, with its trace.

    Positions and canonical scores, best first; how many documents were rescored; the K-th best score (or -inf); the
    bounds ``P_i - eps_i`` and ``P_i + eps_i``; and the rescoring that they led to.
    """

    positions: list[int]
    scores: F32
    rescored: int
    threshold: float
    lower: F64
    upper: F64
    rescoring: Rescoring


def error_terms(y: QueryCodes) -> ErrorTerms:
    """The query's part of ``eps_i`` (docs/theory.md derives each term).

    - ``rho_i sum |s_t y_t| + nu_i sum eta_t``: the quantisation error, by the Cauchy-Schwarz inequality;
    - ``(d + 6) 2^-24 nu_i sum |q_t|``: canonical against real score (d roundings in each chain, the sum, the last
    rounding);
    - ``(T + 8) 2^-52 (rho_i + nu_i) sum |s_t y_t|``: evaluating ``P_i`` and ``P_i +- eps_i`` in float64;
    - ``T (d + 1) 2^-149``: underflow in the chains.
    The factor ``1 + 2^-38`` covers the sum of at most 4,096 terms and the operations of ``eps_i`` itself.
    """
    T, d = y.codes.shape
    code_norms, norms, etas = float(lane_sum(y.code_norm)), float(lane_sum(y.norm)), float(lane_sum(y.eta))
    evaluation = (T + 8) * 2.0**-52
    return ErrorTerms(
        on_rho=code_norms * (1.0 + evaluation),
        on_nu=etas + (d + 6) * 2.0**-24 * norms + evaluation * code_norms,
        constant=T * (d + 1) * 2.0**-149,
    )


def epsilon(terms: ErrorTerms, c: DocumentCodes) -> float:
    """``eps_i``, in this order: ``(rho_i * on_rho + nu_i * on_nu + constant) * (1 + 2^-38)``."""
    return (float(c.rho) * terms.on_rho + float(c.nu) * terms.on_nu + terms.constant) * (1.0 + 2.0**-38)


def proxy(y: QueryCodes, c: DocumentCodes) -> float:
    """``P_i = s_i * sum_t (s_t * max_j <y_t, c_j>)`` in float64, the sum in lane order."""
    return float(np.float64(c.scale) * lane_sum(y.scale.astype(np.float64) * integer_maxima(y, c)))


def proxies_and_errors(Q: F32, documents: Sequence[F32]) -> tuple[F64, F64]:
    """``P_i`` and ``eps_i`` of every document: ``|S_i - P_i| <= eps_i`` always. Empty documents get ``-inf`` and 0."""
    y = quantise_query(Q)
    terms = error_terms(y)
    P, eps = np.full(len(documents), -np.inf), np.zeros(len(documents))
    for i, E in enumerate(documents):
        if len(E):
            c = quantise_document(E)
            P[i], eps[i] = proxy(y, c), epsilon(terms, c)
    return P, eps


def certified(Q: F32, documents: Sequence[F32], K: int) -> CertifiedAnswer:
    """The exhaustive top-K, from canonical scores of few documents.

    Documents are rescored best-first by ``P_i + eps_i`` (ties: lower position first). ``tau`` is the K-th best
    canonical score so far. When the next ``P_i + eps_i < tau``, strictly, no remaining document can reach the K-th
    place, not even as a tie.

    >>> certified(np.eye(2, dtype=np.float32), [np.eye(2, dtype=np.float32) * s for s in (1, 3, 2)], 1).positions
    [1]
    """
    P, eps = proxies_and_errors(Q, documents)
    rescoring = rescore_best_first(Q, documents, P + eps, K)
    S, steps, tau, _ = rescoring
    positions = top_k(S, K)
    return CertifiedAnswer(positions, S[positions], len(steps), tau, P - eps, P + eps, rescoring)


def rescore_best_first(Q: F32, documents: Sequence[F32], upper: F64, K: int) -> Rescoring:
    """Canonical scores in the order of ``upper`` (ties: lower position first), while it reaches ``tau``."""
    S = np.full(len(documents), -np.inf, np.float32)
    steps: list[Step] = []
    tau = -np.inf
    for i in np.lexsort((np.arange(len(documents)), -upper)):
        if upper[i] == -np.inf or upper[i] < tau:
            return Rescoring(S, steps, tau, None if upper[i] == -np.inf else int(i))
        S[i] = score_of_cells(cells(Q, documents[i]))
        if len(steps) + 1 >= K:
            tau = float(np.sort(S)[-K])
        steps.append(Step(int(i), float(S[i]), tau))
    return Rescoring(S, steps, tau, None)
