"""What the specification's sieve sees of exact cells that the engine has computed: `spec.reveal_exact`, quickly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxsieve.lab.embedded import F32, Embedded
from maxsieve.spec import RevealModel, error_terms, norm_up, quantise_query, up32

F64 = NDArray[np.float64]


def norm_bounds(data: Embedded) -> F64:
    """``nu_i`` of every document, in the order of ``index.ids``; 0 for an empty one."""
    documents = (data.vectors(str(one)).astype(np.float64) for one in data.index.ids)
    return np.array([up32(norm_up(rows).max(initial=0.0)) for rows in documents], np.float64)


def exact_model(query: F32, cells: F32, nu: F64) -> RevealModel:
    """`spec.reveal_exact`, from cells that are known."""
    y = quantise_query(query)
    terms = error_terms(y._replace(code_norm=np.zeros(len(query)), eta=np.zeros(len(query))))
    eps = (nu * terms.on_nu + terms.constant) * (1.0 + 2.0**-38)
    b = y.norm * nu.max(initial=0.0) * (1.0 + 2.0**-38)
    return RevealModel(cells.astype(np.float64), np.ones(len(cells)), b, eps, eps)
