"""The interfaces of a storage: one to read a version of the index, and one to commit the next version.

An index in memory or on disk is one `Snapshot` in this process. A corpus in shards need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve.errors import Argument, ClosedIndexError, hinted
from maxsieve.ids import Id, find_duplicate
from maxsieve.storage.calibration import Calibration, Changes
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.lock import writer_lock
from maxsieve.storage.segments import Layout, Segment
from maxsieve.storage.snapshot import Snapshot

T = TypeVar("T")
S = TypeVar("S", bound="AnySnapshot")


class AnySnapshot(Protocol):
    """One version of an index, as it is read: a `Snapshot`, or the shards of a corpus. It never changes.

    A place is where a document is: its position, or its shard and its position there.
    """

    @property
    def layout(self) -> Layout:
        """What all vectors have in common."""

    @property
    def codebook(self) -> Codebook | None:
        """The codebook, whose centroids name tokens."""

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """The results of calibrations: one for searches of all documents, and others for filters."""

    @property
    def calibration(self) -> Calibration | None:
        """The one for searches of all documents."""

    @property
    def changes(self) -> Changes:
        """Documents added and deleted since then."""

    @property
    def since(self) -> int:
        """Documents from this number on, in insertion order, were added since then."""

    @property
    def here(self) -> Snapshot:
        """All documents as one snapshot in this process."""

    @property
    def n_documents(self) -> int:
        """The number of documents."""

    @property
    def n_searchable(self) -> int:
        """The number of documents that can be hits: they have tokens."""

    @property
    def n_tokens(self) -> int:
        """The number of token vectors of all documents."""

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of documents that can be hits; 1 if there are none."""

    @property
    def nbytes(self) -> int:
        """Bytes of vectors, codes and bounds, including those of deleted documents."""

    def ids_in_order(self) -> list[Id]:
        """All ids, in insertion order."""

    def known(self, ids: Sequence[Id]) -> Mapping[Id, Any]:
        """The places of those ids that are there."""

    def orders(self, ids: Iterable[Id]) -> dict[Id, int]:
        """The numbers of those ids that are there, in insertion order."""

    def metadata(self, places: list[Any]) -> list[Any]:
        """The metadata of documents; None for those without."""

    def vectors(self, place: Any) -> NDArray[np.float32] | NDArray[np.float16]:
        """A copy of a document's rows."""

    def engine_rows(self, place: Any) -> NDArray[np.float32]:
        """A document's rows as the engine has them: rotated, as its queries are, in a store of residuals."""

    def explain(self, query: NDArray[np.float32], place: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """For each query token, the most similar token of a document, and how similar."""


class Writer(Protocol):
    """Adds segments to an index. They become visible at the end of the block, or one by one."""

    def admit(self, ids: list[Id]) -> None:
        """Refuses ids that can't be added."""

    def append(self, segment: Segment) -> None:
        """Adds the documents of a segment."""


class NewCalibrations(NamedTuple):
    """Calibrations of all documents or, with ``until``, of those before this number, in insertion order."""

    calibrations: tuple[Calibration, ...]
    until: int | None = None


Calibrate: TypeAlias = "Callable[[AnySnapshot, AnySnapshot], NewCalibrations]"
"""Makes the calibrations of a version that has a codebook and lists, from that and from the version before."""


class Storage(Protocol):
    """Has the current version of an index, and commits the next one. It is thread-safe."""

    distributed: bool = False
    """Whether texts are encoded, and documents written, by processes on other machines."""

    @property
    def layout(self) -> Layout:
        """What all vectors have in common."""
        return self.snapshot.layout

    @property
    def snapshot(self) -> AnySnapshot:
        """The current version; `ClosedIndexError` after `close`."""

    def reading(self, read: Callable[[AnySnapshot], T]) -> T:
        """Calls a function with the current version, or with a newer one if the files of that one were removed."""
        return read(self.snapshot)

    def copy(self) -> Storage:
        """Another storage at the same version. Nothing is copied: versions never change. Later changes are separate."""

    def writing(
        self, *, replace: bool, delete: list[Id], stepwise: bool, reencode: Calibrate | None = None
    ) -> AbstractContextManager[Writer]:
        """Commits the added documents when the block ends without an error; drops them otherwise.

        The documents to ``delete`` are deleted in the same commit. With ``stepwise``, a storage may commit each segment
        when it is added, and keep it if a later one fails. ``reencode`` is for a store of residuals: a new codebook is
        trained on these documents, and later ones will have it, too. The function makes calibrations, as below.
        """

    def delete(self, ids: list[Id]) -> None:
        """Deletes documents, all or none."""

    def compact(self, progress: bool) -> None:
        """Frees the space of deleted documents."""

    def replace_tiers(self, calibrate: Calibrate, *, train: bool) -> None:
        """Commits new calibrations, lists of all documents and, with ``train`` or if there is none, a new codebook.

        Nothing else is written meanwhile. If ``calibrate`` fails, nothing has changed in memory or on disk. Documents
        that its calibrations do not cover count as added since then.
        """

    def rebalance(self, shards: int) -> None:
        """Distributes the documents over another number of shards."""
        raise ValueError("this is an index without shards, and shards are chosen when an index is created")

    def facts(self, members: Sequence[Any]) -> dict[str, Any]:
        """What there is to say only of an index in shards, for JSON, with the members that were started."""
        return {}

    def lock(self, folder: Path) -> AbstractContextManager[Any]:
        """Holds the writer's lock of a folder that has the index and more, such as a collection."""
        return writer_lock(folder)

    def refresh(self) -> None:
        """Goes to the newest version."""

    def verify(self, progress: bool) -> None:
        """Checks for damage."""

    def discard_if_empty(self) -> None:
        """Removes from disk an index that a failed build has left without a document.

        A corpus in shards stays: it is made once for many machines.
        """
        return

    def close(self) -> None:
        """Releases everything."""


def awaits_codebook(snapshot: AnySnapshot) -> bool:
    """Whether the store is one of residuals, but the documents are byte codes as yet: too few to train a codebook.

    Byte codes may have a codebook for lists, as in other stores. It is dropped when they are encoded.
    """
    return snapshot.layout.bits > 0 and (snapshot.codebook is None or not snapshot.codebook.bits)


def check_new(
    ids: list[Id], known: Callable[[list[Id]], Mapping[Id, Any]], id_type: type | None, replace: bool, delete: list[Id]
) -> None:
    """Refuses ids that can't be added to an index, or that would be deleted at the same time.

    ``known`` has the places of those of some ids that the index has.
    """
    if delete and (unknown := set(delete).difference(known(delete))):
        first = next(id for id in delete if id in unknown)
        raise KeyError(f"delete: no document has the id {first!r}")
    if both := set(ids).intersection(delete):
        raise ValueError(f"ids: {both.pop()!r} is to be added and deleted at once")
    if (twice := find_duplicate(ids)) is not None:
        raise ValueError(f"ids: {twice!r} occurs twice")
    if ids and id_type is not None and type(ids[0]) is not id_type:
        raise TypeError(f"ids: this index has {id_type.__name__} ids, not {type(ids[0]).__name__}")
    if ids and not replace and (there := known(ids)):
        old = next(id for id in ids if id in there)
        wrong = ValueError(f"ids: {old!r} is in the index already")
        raise hinted(wrong, "; {} replaces it", Argument("replace", True))


def not_closed(snapshot: S | None) -> S:
    """The version that a storage has. After `close` it has none."""
    if snapshot is None:
        raise ClosedIndexError("this index is closed")
    return snapshot
