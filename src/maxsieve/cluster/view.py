"""One version of a corpus in shards, as the caller's process reads it."""

from __future__ import annotations

import numpy as np

from maxsieve.candidates import Candidates
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.sharding import shard_of
from maxsieve.ids import Id, to_ids
from maxsieve.storage.calibration import Calibration
from maxsieve.storage.snapshot import Snapshot


class View:
    """One version of the corpus, for reading in this process. Shards are mapped when they are first used.

    Files that the view ``before`` has mapped are not mapped again.
    """

    def __init__(self, folder: ShardedFolder, before: View | None = None) -> None:
        self.manifest = folder.manifest
        known: ShardedFolder = folder if before is None else before.folder
        self.folder: ShardedFolder = known.at(folder.manifest)
        self._held: set[int] = set()
        self._calibration: Calibration | None = None

    def hold(self, ids: list[Id]) -> None:
        """Maps the shards of some documents, so that the documents can be read even after the files are removed."""
        for shard in {shard_of(one, len(self.manifest.shards)) for one in ids} - self._held:
            self.folder.shard(shard)
            self._held.add(shard)

    @property
    def sizes(self) -> list[int]:
        """The tokens of each shard."""
        return [shard.tokens for shard in self.manifest.shards]

    @property
    def state(self) -> Snapshot:
        """All shards as one snapshot."""
        return self.folder.whole

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the corpus, or None."""
        if self._calibration is None:
            self._calibration = self.folder.calibration()
        return self._calibration


def ids_of(view: View, candidates: Candidates) -> list[Id] | None:
    """Candidates as ids. A mask has one entry for each id, in insertion order."""
    if candidates is None or isinstance(candidates, list):
        return candidates
    ids = view.folder.ids
    if candidates.shape != (len(ids),):
        raise ValueError(f"candidates is a mask of shape {candidates.shape} for {len(ids)} documents")
    return [ids[i] for i in np.flatnonzero(candidates)]


def locate(view: View, one: Id, what: str) -> tuple[Snapshot, int]:
    """The snapshot of the shard that has a document, and the document's position in it. Errors begin with ``what``."""
    (wanted,) = to_ids([one], what)
    try:
        return view.folder.locate(wanted)
    except KeyError:
        raise KeyError(f"{what}: no document has the id {wanted!r}") from None
