"""The options of a search: checked once, where the caller gives them, and passed on as one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import is_array, plain
from maxsieve.common.checks import as_count, check_choice
from maxsieve.common.threads import thread_count
from maxsieve.ids import Id, to_ids
from maxsieve.policies import MOST, Policy, to_policy
from maxsieve.where import Where, to_where

T = TypeVar("T")
Candidates: TypeAlias = list[Id] | NDArray[np.bool_] | None
FirstStage: TypeAlias = Callable[[str, int], Iterable[Id]]
"""A function of the query and a depth: the ids of that many candidates."""
Hybrid: TypeAlias = Literal["rrf"] | float
"""How to fuse: ``"rrf"``, reciprocal rank; or the weight of BM25 in a convex combination, between 0 and 1."""
Partial: TypeAlias = Literal["refuse", "allow"]
PARTIALS = get_args(Partial)
Unit: TypeAlias = Literal["document", "passage"]
"""What a hit is, and what ``k`` counts: documents, or passages of them."""
UNITS = get_args(Unit)


class PerQuery(Generic[T]):
    """One entry for each query, or one for all of them."""

    def __init__(self, entries: list[T]) -> None:
        self._entries = entries
        self.given = any(entry is not None for entry in entries)
        """Whether any query has one."""

    def of(self, query: int) -> T:
        """The entry of a query, by its number."""
        return self._entries[query] if len(self._entries) > 1 else self._entries[0]

    def map(self, change: Callable[[T], T]) -> PerQuery[T]:
        """The same with changed entries. Equal objects are changed once, and stay equal."""
        return PerQuery(_each_once(lambda entry, _: change(entry), self._entries))


NOT_GIVEN: PerQuery[Any] = PerQuery([None])


class SearchKeywords(TypedDict, total=False):
    """The keyword arguments of `search` and `search_many`: those of `SearchOptions`, except ``k``."""

    policy: Policy | str | None
    by: Unit
    per_document: int
    candidates: Any
    exclude: Any
    where: Any
    threads: int | None
    trace: bool
    first_stage: FirstStage | str | None
    depth: int
    hybrid: Hybrid | None
    partial: Partial
    timeout: float


@dataclass(frozen=True)
class SearchOptions:
    """The options of a search. The values are checked when the object is made.

    k
        how many documents or passages to find.
    policy
        `Certified`, `Calibrated` (much faster, after `calibrate`), `Bandit` or `Exhaustive`; or a name: ``"exact"``,
        ``"calibrated"``, ``"bandit"`` or ``"exhaustive"``. None, the default, is exact in an index. In a collection it
        is exact, too, unless that takes more than some milliseconds and the collection was calibrated: then it is
        ``Calibrated(0.99)``, and the report says so (docs/text.md).
    by
        what a hit is: a ``"document"``, found by its best passage, or a ``"passage"``, so that a long document may have
        several hits. ``k`` and the guarantee count the same. (In an index, documents are the groups of ``group_by``.)
    per_document
        of a collection, by document: how many of its best passages each hit has in ``hit.passages``.
    candidates
        search only these ids (repeats are ignored), or a boolean mask over all ids; all documents by default.
    exclude
        ids that must not be hits.
    where
        search only documents whose metadata match a filter such as ``{"year": {"gte": 2020}, "lang": "en"}``
        (docs/text.md). The guarantee in the report is about those.
    threads
        the number of threads; by default all that this process may use. In a cluster, that of each member.
    trace
        records the steps of the search in ``hits.trace``. It costs nothing if it is not requested. For one query.
    first_stage, depth
        of a collection: ``"bm25"``, or a function of the query and a depth, which chooses ``depth`` candidates.
    hybrid
        of a collection: fuses BM25 and late interaction, by ``"rrf"`` or by the weight of BM25.
    partial
        of a corpus in shards: what to do if no member answers for some shards. ``"refuse"`` retries until the timeout,
        and then raises an error. ``"allow"`` answers without these shards as soon as every member has failed at them,
        or at the timeout. Then ``report.missing`` names the shards, and the guarantee is ``"none"``.
    timeout
        of a corpus in shards: how long to wait for members, in seconds.

    >>> SearchOptions(k=5, policy="exhaustive").policy
    Exhaustive()
    """

    k: int = 10
    policy: Policy | None = None
    by: Unit = "document"
    per_document: int = 1
    candidates: PerQuery[Candidates] = NOT_GIVEN
    exclude: PerQuery[list[Id] | None] = NOT_GIVEN
    where: PerQuery[Where | None] = NOT_GIVEN
    threads: int | None = None
    trace: bool = False
    first_stage: FirstStage | Literal["bm25"] | None = None
    depth: int = 100
    hybrid: Hybrid | None = None
    partial: Partial = "refuse"
    timeout: float = 60.0
    restricted: bool = field(init=False, repr=False)
    """Whether any query has candidates, excluded documents or a filter."""

    def __post_init__(self) -> None:
        fixed = {
            "k": min(as_count(self.k, "k", at_least=1), MOST),
            "policy": None if self.policy is None else to_policy(self.policy),
            "per_document": as_count(self.per_document, "per_document", at_least=1),
            "candidates": _per_query(self.candidates, read_candidates),
            "exclude": _per_query(self.exclude, _read_exclude),
            "where": _per_query(self.where, _read_where),
            "threads": None if self.threads is None else thread_count(self.threads),
            "trace": bool(self.trace),
            "depth": as_count(self.depth, "depth", at_least=1),
        }
        vars(self).update(fixed)  # the object is frozen
        vars(self)["restricted"] = self.candidates.given or self.exclude.given or self.where.given
        if not (self.first_stage is None or self.first_stage == "bm25" or callable(self.first_stage)):
            raise ValueError(f"first_stage must be 'bm25' or a function of query and depth, not {self.first_stage!r}")
        if self.first_stage is not None and self.candidates.given:
            raise ValueError("give candidates or a first stage, not both")
        if self.hybrid is not None:
            self._check_hybrid()
        check_choice(self.by, "by", UNITS)
        if self.by == "passage" and self.per_document > 1:
            raise ValueError(f"per_document is {self.per_document}, but passages are searched for, not documents")
        check_choice(self.partial, "partial", PARTIALS)
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, (int, float)) or not self.timeout > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, not {self.timeout!r}")

    def _check_hybrid(self) -> None:
        if self.hybrid != "rrf" and not (isinstance(self.hybrid, Real) and 0 < float(self.hybrid) < 1):
            wanted = "'rrf' or BM25's weight, more than 0 and less than 1"
            raise ValueError(f"hybrid must be {wanted}, not {self.hybrid!r}")
        if self.first_stage is not None:
            raise ValueError(
                "give hybrid or a first stage, not both: a hybrid search uses the BM25 scores of all documents"
            )
        if self.trace:
            raise ValueError("give hybrid or trace, not both: a hybrid search consists of several searches")

    @classmethod
    def of(cls, k: int, keywords: Mapping[str, Any]) -> SearchOptions:
        """The options of one query, from the arguments of a search method."""
        if keywords.keys() <= SMALL:
            try:
                return _known(k, **keywords)
            except TypeError:  # a value that can't be hashed
                return cls(k, **keywords)
        if isinstance(keywords.get("where"), (list, tuple)):
            raise ValueError("where must be one filter, not a list of them")
        return cls(k, **keywords)

    @classmethod
    def of_many(cls, k: int, keywords: Mapping[str, Any], queries: int) -> SearchOptions:
        """The options of many queries: candidates, exclude and where are one for all, or a list with one for each."""
        where = keywords.get("where")
        filters = _as_many(where, "where", queries) if isinstance(where, (list, tuple)) else [where]
        each: dict[str, Any] = {
            "candidates": PerQuery(_each_once(read_candidates, _entries(keywords, "candidates", queries))),
            "exclude": PerQuery(_each_once(_read_exclude, _entries(keywords, "exclude", queries))),
            "where": PerQuery(_each_once(_read_where, filters)),
        }
        return cls(k, **{**keywords, **each})

    def of_queries(self, *queries: int) -> SearchOptions:
        """The options of some of the queries, by their numbers."""
        each: dict[str, Any] = {
            name: PerQuery([getattr(self, name).of(query) for query in queries])
            for name in ("candidates", "exclude", "where")
        }
        return replace(self, **each)

    def check_for_vectors(self, queries: int) -> None:
        """Refuses what a search by vectors can't do, and a trace of many queries."""
        if self.first_stage is not None or self.hybrid is not None:
            raise ValueError("a first stage and hybrid search need texts: they are options of a Collection")
        if self.per_document > 1:
            raise ValueError("per_document is an option of a Collection, which knows the passages of its documents")
        if self.trace and queries != 1:
            raise ValueError(f"trace is for one query, not for {queries}")


SMALL = {"policy", "by", "per_document", "threads", "trace", "partial", "timeout"}
"""Options with only these keywords are kept: to check them again would take long, compared with a short search."""


@lru_cache(maxsize=64, typed=True)  # typed: True is not 1
def _known(k: int, **keywords: Any) -> SearchOptions:
    return SearchOptions(k, **keywords)


def _per_query(value: Any, read: Callable[[Any, str], T]) -> PerQuery[T]:
    if isinstance(value, PerQuery):
        return value
    return NOT_GIVEN if value is None else PerQuery([read(value, "")])


def _entries(keywords: Mapping[str, Any], what: str, queries: int) -> list[Any]:
    """One entry per query: from one set for all, or from a list with one entry (ids or None) per query.

    A list whose elements are not ids, or an array of two dimensions, has one entry per query.

    >>> _entries({"candidates": [1, 2]}, "candidates", 2)
    [[1, 2]]
    >>> _entries({"candidates": [[1], None]}, "candidates", 2)
    [[1], None]
    """
    given: Any = keywords.get(what)
    if is_array(given):
        given = list(array) if (array := plain(given, what)).ndim == 2 else array
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        given = list(given)
    one_each = isinstance(given, list) and any(
        entry is None or (isinstance(entry, Iterable) and not isinstance(entry, (str, bytes))) for entry in given
    )
    return _as_many(given, what, queries) if one_each else [given]


def _as_many(entries: Sequence[Any], what: str, queries: int) -> list[Any]:
    if len(entries) != queries:
        raise ValueError(f"{what} has {len(entries)} entries for {queries} queries")
    return list(entries)


def _each_once(read: Callable[[Any, str], T], entries: list[Any]) -> list[T]:
    """Reads every entry. The same object is read once: a set for all queries may be large, or a generator."""
    known: dict[int, T] = {}
    for number, entry in enumerate(entries):
        if id(entry) not in known:
            known[id(entry)] = read(entry, f"[{number}]" if len(entries) > 1 else "")
    return [known[id(entry)] for entry in entries]


def read_candidates(candidates: Any, place: str = "") -> Candidates:
    """Candidates as ids, as a mask, or None for all."""
    if candidates is None:
        return None
    what = f"candidates{place}"
    if is_array(candidates):
        candidates = plain(candidates, what)
        return candidates.copy() if candidates.dtype == np.bool_ else to_ids(candidates, what)
    listed = candidates if isinstance(candidates, (list, tuple)) else ()
    if listed and all(isinstance(entry, (bool, np.bool_)) for entry in listed):
        return np.array(listed, np.bool_)
    return to_ids(candidates, what)


def _read_exclude(ids: Any, place: str) -> list[Id] | None:
    return None if ids is None else to_ids(ids, f"exclude{place}")


def _read_where(where: Any, place: str) -> Where | None:
    return to_where(where, f"where{place}")
