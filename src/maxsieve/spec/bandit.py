"""Col-Bandit: batched progressive elimination (Algorithm 1; Algorithm 4 is its annotated form)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxsieve.spec.arithmetic import F32, F64, permutation
from maxsieve.spec.bounds import hard_bounds, hybrid_interval, paper_factor, serfling_factors
from maxsieve.spec.certified import Rescoring, error_terms, rescore_best_first
from maxsieve.spec.maxsim import cells, top_k
from maxsieve.spec.quantiser import QueryCodes, integer_maxima, quantise_document, quantise_query

Guarantee = Literal["exact", "pac", "none"]


class RevealModel(NamedTuple):
    """The input of the sieve: an N x T matrix of revealed values and bounds on their errors.

    A revealed value is ``scale[i] * x[i, t]``; ``|h_it| <= b[t]`` for the true cells; the revealed row sum is within
    ``eps[i]`` of the canonical score, and a revealed cell within ``cell_error[i]`` of the true one.
    """

    x: F64
    scale: F64
    b: F64
    eps: F64
    cell_error: F64


class Round(NamedTuple):
    """One round: the documents active in it, tokens revealed after it, ``tau_r``; LCB and UCB of those documents."""

    active: NDArray[np.int64]
    revealed: int
    threshold: float
    lower: F64
    upper: F64


class BanditAnswer(NamedTuple):
    """What Algorithm 1 returns, with its trace.

    ``survivors`` is the last active set, ``rescored`` of it scored; in the ``rescoring`` documents are counted among
    the survivors.
    """

    positions: list[int]
    scores: F32
    survivors: NDArray[np.int64]
    rescored: int
    rounds: list[Round]
    coverage: float
    guarantee: Guarantee
    rescoring: Rescoring


def kth_largest(x: F64, K: int) -> float:
    """The K-th largest number of ``x``."""
    return float(np.sort(x)[-K])


def sieve(
    model: RevealModel,
    K: int,
    *,
    alpha: float = 0.2,
    delta: float = 0.01,
    margin: int = 5,
    block: int = 4,
    seed: int = 0,
    radius: Literal["paper", "serfling"] = "paper",
) -> tuple[NDArray[np.int64], list[Round], float, Guarantee]:
    """The elimination loop of Algorithm 1 (lines 1-7): survivors, rounds, coverage and what the drops guarantee.

    Sums run in reveal order. ``sigma`` comes from sums shifted by each row's first revealed value, ``D = sum (x -
    x_0)`` and ``D2 = sum (x - x_0)^2``: then ``D2 - D^2/n`` loses at most a factor n in relative precision, whatever
    the mean.

    ``radius="paper"`` decides by the revealed values as they are; ``"serfling"`` widens every bound by ``eps_i``, so
    that it holds for the canonical score. A document is dropped only if UCB < tau and LCB < tau: rounding, or a proxy
    just above ``b_t``, can put LCB above UCB, and the K best by LCB must stay.

    When all tokens are revealed, the radius is 0 and the hard bounds have no width: then the errors of the proxies
    alone would decide which documents are among the K best. So the last drop uses the hard bounds widened by ``eps_i``,
    whatever the radius.

    The answer is exact when every drop would also have been made by the hard bounds widened by ``eps_i``.
    """
    N, T = model.x.shape
    pi = permutation(T, seed)
    rounds_at_most = -(-T // block)
    unrevealed = np.zeros(T + 1)
    for n in range(T - 1, -1, -1):
        unrevealed[n] = unrevealed[n + 1] + model.b[pi[n]]
    value_range = 2.0 * (model.b.max(initial=0.0) + model.cell_error)

    active = np.arange(N)
    total, first, shifted, shifted_squares = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N)
    rounds: list[Round] = []
    cells_revealed, n, certain = 0, 0, True
    while len(active) > K + margin and n < T:
        for t in pi[n : n + block]:
            x = model.x[active, t]
            if n == 0:
                first[active] = x
            total[active] += x
            shift = x - first[active]
            shifted[active] += shift
            shifted_squares[active] += shift * shift
            n += 1
            cells_revealed += len(active)

        s, R = model.scale[active], model.scale[active] * total[active]
        squares = np.maximum(shifted_squares[active] - shifted[active] * shifted[active] / n, 0.0)
        hard = hard_bounds(R, unrevealed[n])
        certain_hard = hard[0] - model.eps[active], hard[1] + model.eps[active]
        if n <= 1:
            r = np.full(len(active), np.inf)
        elif radius == "paper":
            r = paper_factor(n, T, N, alpha, delta) * (s * np.sqrt(squares / (n - 1)))
        else:
            on_sigma, on_range = serfling_factors(n, T, N, rounds_at_most, alpha, delta)
            r = on_sigma * (s * np.sqrt(squares / n)) + on_range * value_range[active] + model.eps[active]
        LCB, UCB = hybrid_interval(hard if radius == "paper" else certain_hard, R * (T / n), r)
        if n == T:
            LCB, UCB = certain_hard

        tau = kth_largest(LCB, K)
        keep = (tau <= UCB) | (tau <= LCB)
        if certain and not keep.all():
            certain = bool((certain_hard[1][~keep] < kth_largest(certain_hard[0], K)).all())
        rounds.append(Round(active, n, tau, LCB, UCB))
        active = active[keep]

    coverage = cells_revealed / (N * T) if N else 0.0
    guarantee: Guarantee = "exact" if certain else "pac" if radius == "serfling" and alpha == 1 else "none"
    return active, rounds, coverage, guarantee


def reveal_proxies(Q: F32, documents: Sequence[F32]) -> RevealModel:
    """The model the engine runs: int8 proxies ``s_i (s_t max_j <y_t, c_j>)``.

    ``b_t = |q_t| max_i nu_i`` over the candidates, with the factor ``1 + 2^-38`` that covers the rounding of its sum
    and of the sum with ``R``.
    """
    y = quantise_query(Q)
    docs = [quantise_document(E) for E in documents]
    maxima = np.array([integer_maxima(y, c) for c in docs], np.float64).reshape(len(docs), len(Q))
    scale, rho, nu = (np.array([float(getattr(c, name)) for c in docs]) for name in ("scale", "rho", "nu"))
    return proxy_model(y, maxima, scale, rho, nu)


def proxy_model(y: QueryCodes, maxima: F64, scale: F64, rho: F64, nu: F64) -> RevealModel:
    """`reveal_proxies` from known maxima ``max_j <y_t, c_j>`` [N, T] and the stored numbers of each document [N]."""
    terms = error_terms(y)
    return RevealModel(
        x=y.scale.astype(np.float64) * maxima,
        scale=scale,
        b=y.norm * nu.max(initial=0.0) * (1.0 + 2.0**-38),
        eps=(rho * terms.on_rho + nu * terms.on_nu + terms.constant) * (1.0 + 2.0**-38),
        cell_error=rho * float(y.code_norm.max()) + nu * float(y.eta.max()),
    )


def reveal_exact(Q: F32, documents: Sequence[F32]) -> RevealModel:
    """The model of the theorem and of the paper's simulations: the canonical cells themselves.

    Here ``eps_i`` is only the rounding of the canonical score; a cell can exceed ``|q_t| nu`` by the rounding of its
    chain.
    """
    H = np.array([cells(Q, E) for E in documents], np.float32).reshape(len(documents), len(Q))
    return exact_model(Q, H, np.array([float(quantise_document(E).nu) for E in documents]))


def exact_model(Q: F32, H: F32, nu: F64) -> RevealModel:
    """`reveal_exact` from known cells ``H`` [N, T] and norm bounds ``nu`` [N]."""
    y = quantise_query(Q)
    terms = error_terms(y._replace(code_norm=np.zeros(len(Q)), eta=np.zeros(len(Q))))
    eps = (nu * terms.on_nu + terms.constant) * (1.0 + 2.0**-38)
    b = y.norm * nu.max(initial=0.0) * (1.0 + 2.0**-38)
    return RevealModel(H.astype(np.float64), np.ones(len(H)), b, eps, eps)


def bandit(
    Q: F32,
    documents: Sequence[F32],
    K: int,
    *,
    alpha: float = 0.2,
    delta: float = 0.01,
    margin: int = 5,
    block: int = 4,
    seed: int = 0,
    radius: Literal["paper", "serfling"] = "paper",
    reveal: Literal["proxies", "exact"] = "proxies",
) -> BanditAnswer:
    """The whole Algorithm 1: sieve, canonical rescore of the survivors, top K of those.

    If all tokens were revealed, the survivors' bounds are as tight as those of `certified`. Then they are rescored
    best-first until no bound reaches the K-th best score, as there; otherwise all of them are rescored.

    Empty documents are not candidates: ``N`` counts the others, and positions refer to the list as given.

    >>> docs = [np.eye(2, dtype=np.float32) * s for s in (1, 3, 2)]
    >>> bandit(np.eye(2, dtype=np.float32), docs, 1).positions
    [1]
    """
    candidates = np.array([i for i, E in enumerate(documents) if len(E)], np.int64)
    chosen = [documents[i] for i in candidates]
    model = (reveal_proxies if reveal == "proxies" else reveal_exact)(Q, chosen)
    survivors, rounds, coverage, guarantee = sieve(
        model, K, alpha=alpha, delta=delta, margin=margin, block=block, seed=seed, radius=radius
    )
    upper = np.full(len(survivors), np.inf)
    if rounds and rounds[-1].revealed == len(Q) and len(survivors) > K:
        total = np.zeros(len(survivors))
        for t in permutation(len(Q), seed):
            total += model.x[survivors, t]
        upper = model.scale[survivors] * total + model.eps[survivors]
    S = np.full(len(documents), -np.inf, np.float32)
    rescoring = rescore_best_first(Q, [chosen[i] for i in survivors], upper, K)
    S[candidates[survivors]] = rescoring.scores
    positions = top_k(S, K)
    return BanditAnswer(
        positions=positions,
        scores=S[positions],
        survivors=candidates[survivors],
        rescored=len(rescoring.steps),
        rounds=[r._replace(active=candidates[r.active]) for r in rounds],
        coverage=coverage,
        guarantee=guarantee,
        rescoring=rescoring,
    )
