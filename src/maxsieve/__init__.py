"""maxsieve: the exact top-K under late interaction (ColBERT, ColPali), on ordinary CPUs.

>>> import numpy as np, maxsieve as ms
>>> index = ms.Index.build([np.eye(2), -np.eye(2)], ids=["yes", "no"])
>>> index.search(np.eye(2), k=1).ids
['yes']
"""

from typing import TYPE_CHECKING, Any

from maxsieve import errors

try:
    from maxsieve._core import isa as _isa
    from maxsieve._core import isas as _isas
except ImportError as problem:
    if problem.name is None:  # the core was loaded, and says itself why it can't be used
        raise
    from maxsieve.common.optional import why_not_loaded

    raise ImportError(why_not_loaded(problem), name=problem.name, path=problem.path) from None
from maxsieve.hits import Hit, Hits, Match, Report, Round
from maxsieve.index import Index
from maxsieve.options import SearchOptions
from maxsieve.policies import Bandit, Calibrated, Certified, Exhaustive
from maxsieve.pooling import pool
from maxsieve.scoring import maxsim, rerank
from maxsieve.trace import Trace

if TYPE_CHECKING:
    from maxsieve.text.collection.collection import Collection

__version__ = "0.1.0"

__all__ = [
    "Bandit",
    "Calibrated",
    "Certified",
    "Collection",
    "Exhaustive",
    "Hit",
    "Hits",
    "Index",
    "Match",
    "Report",
    "Round",
    "SearchOptions",
    "Trace",
    "errors",
    "isa",
    "isas",
    "maxsim",
    "pool",
    "rerank",
]


def isa() -> str:
    """The kernel in use: the best for this machine, or the one that the environment variable ``MAXSIEVE_ISA`` names.

    >>> isa() in isas()
    True
    """
    return _isa()


def isas() -> list[str]:
    """The kernels this machine can run, best first.

    >>> isas()[-1]
    'scalar'
    """
    return _isas()


def __getattr__(name: str) -> Any:
    """Imports `Collection` on first use, because few programs need it."""
    if name != "Collection":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maxsieve.text.collection.collection import Collection

    return Collection


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
