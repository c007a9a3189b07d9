"""The executable specification: the paper and the certified policy in plain NumPy, slow and obvious.

It is the oracle of the tests, and imports nothing from the engine. Read it beside the paper, in this order:
`arithmetic` (how numbers round), `maxsim` (cells and scores), `quantiser` (codes and their errors), `certified` (the
default policy; `shards`: over several machines), `codebook` and `calibrated` (two bytes per token), `bounds` and
`bandit` (the paper's sections 3 and 4, appendices A, C and D.1).
"""

from maxsieve.spec.arithmetic import fma32, lane_sum, log, norm_up, normalise, permutation, sample, up32
from maxsieve.spec.bandit import (
    BanditAnswer,
    RevealModel,
    Round,
    bandit,
    exact_model,
    proxy_model,
    reveal_exact,
    reveal_proxies,
    sieve,
)
from maxsieve.spec.bounds import KAPPA, hard_bounds, hybrid_interval, paper_factor, rho_n, serfling_factors
from maxsieve.spec.calibrated import (
    CalibratedAnswer,
    depth,
    first_by_proxy,
    queries_needed,
    ranks_by_proxy,
    tier0_proxies,
)
from maxsieve.spec.certified import (
    CertifiedAnswer,
    Rescoring,
    Step,
    certified,
    epsilon,
    error_terms,
    proxies_and_errors,
    proxy,
)
from maxsieve.spec.codebook import (
    PROBES,
    Codebook,
    assign,
    by_proxy,
    lookup_proxies,
    lookup_proxy,
    similarity_table,
    survivors,
)
from maxsieve.spec.maxsim import cells, score_of_cells, scores, scores_float64, similarities, top_k
from maxsieve.spec.quantiser import (
    DocumentCodes,
    QueryCodes,
    codes_of,
    integer_maxima,
    quantise_document,
    quantise_query,
)

__all__ = [
    "KAPPA",
    "PROBES",
    "BanditAnswer",
    "CalibratedAnswer",
    "CertifiedAnswer",
    "Codebook",
    "DocumentCodes",
    "QueryCodes",
    "Rescoring",
    "RevealModel",
    "Round",
    "Step",
    "assign",
    "bandit",
    "by_proxy",
    "cells",
    "certified",
    "codes_of",
    "depth",
    "epsilon",
    "error_terms",
    "exact_model",
    "first_by_proxy",
    "fma32",
    "hard_bounds",
    "hybrid_interval",
    "integer_maxima",
    "lane_sum",
    "log",
    "lookup_proxies",
    "lookup_proxy",
    "norm_up",
    "normalise",
    "paper_factor",
    "permutation",
    "proxies_and_errors",
    "proxy",
    "proxy_model",
    "quantise_document",
    "quantise_query",
    "queries_needed",
    "ranks_by_proxy",
    "reveal_exact",
    "reveal_proxies",
    "rho_n",
    "sample",
    "score_of_cells",
    "scores",
    "scores_float64",
    "serfling_factors",
    "sieve",
    "similarities",
    "similarity_table",
    "survivors",
    "tier0_proxies",
    "top_k",
    "up32",
]
