"""The result of a search over shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve import _core
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.reports import ShardedReport
from maxsieve.cluster.sharding import shard_of
from maxsieve.common.checks import as_count
from maxsieve.hits import Match
from maxsieve.ids import Id
from maxsieve.storage.snapshot import Snapshot


@dataclass(frozen=True, eq=False, repr=False)
class ShardedHits:
    """The best documents, best first; iterates as ``(id, score)``. As `maxsieve.Hits`, without a trace.

    Metadata and explanations are read when they are first used, from the version of the corpus that was searched. When
    hits are pickled, both are read before, and the pickle contains them.
    """

    ids: list[Id]
    scores: NDArray[np.float32]
    report: ShardedReport
    _folder: ShardedFolder | None
    _query: NDArray[np.float32]

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process: it contains all metadata and explanations, because the corpus is not sent."""
        known = {"metadata": self.metadata, "_matches": self._matches}
        return vars(self) | known | {"_folder": None}

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[Id, float]]:
        return zip(self.ids, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"ShardedHits({list(self)!r}, guarantee={self.report.guarantee!r})"

    @property
    def query_tokens(self) -> int:
        """The number of query tokens: a score divided by this number is the mean similarity of a query token."""
        return len(self._query)

    @property
    def trace(self) -> None:
        """None: members record no trace."""
        return

    @property
    def snapshot(self) -> Snapshot:
        """The state that was searched: all shards, mapped in this process."""
        return self._home.whole

    @cached_property
    def shards(self) -> list[int]:
        """The shard that has each hit."""
        count = len(self._home.manifest.shards)
        return [shard_of(one, count) for one in self.ids]

    @cached_property
    def metadata(self) -> list[Any]:
        """The metadata of each hit, None for a hit without metadata; read when it is first used."""
        found = []
        for one in self.ids:
            state, position = self._home.locate(one)
            found.append(state.metadata([position])[0])
        return found

    def reordered(self, ranks: Sequence[int], scores: NDArray[np.float32]) -> ShardedHits:
        """The hits at these ranks, in this order, with other scores."""
        return replace(self, ids=[self.ids[rank] for rank in ranks], scores=scores)

    def explain(self, rank: int) -> list[Match]:
        """Explains the score of the hit at ``rank`` (from 0): the best document token for each query token.

        The similarities add up to the hit's score. Of equally similar document tokens, the first one is given.
        """
        rank = as_count(rank, "rank", at_least=0)
        if rank >= len(self):
            raise ValueError(f"rank must be below the number of hits, {len(self)}, not {rank}")
        tokens, similarities = self._matches[rank] if "_matches" in vars(self) else self._match(rank)
        pairs = zip(tokens.tolist(), similarities.tolist(), strict=True)
        return [Match(t, j, similarity) for t, (j, similarity) in enumerate(pairs)]

    @property
    def _home(self) -> ShardedFolder:
        if self._folder is None:
            raise AttributeError("these hits are from another process, and their corpus is not available here")
        return self._folder

    def _match(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        state, position = self._home.locate(self.ids[rank])
        return _core.explain(state.corpus, self._query, position)

    @cached_property
    def _matches(self) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        return [self._match(rank) for rank in range(len(self))]
