"""The collections of a service, by name: opened once, and refreshed when other processes write to them."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict

from maxsieve.audit import Audit
from maxsieve.cluster.options import Cluster
from maxsieve.errors import MaxsieveError
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.description import read_description
from maxsieve.text.encoders.builtin import BUILT_IN_ENCODERS
from maxsieve.text.encoders.encoder import Encoder

_NAME = re.compile(r"[\w.-]{1,100}")


def name_of(path: Path) -> str:
    """The name of a collection in a URL: its folder's name, without the suffix ``.ms``.

    >>> name_of(Path("texts/docs.ms")), name_of(Path("notes"))
    ('docs', 'notes')
    """
    name = path.absolute().name.removesuffix(".ms")
    if not _NAME.fullmatch(name) or set(name) == {"."}:
        raise ValueError(f"{str(path)!r} can't be part of a URL: give it a name of letters, digits, '-', '_' and '.'")
    return name


def named(paths: Sequence[Path]) -> dict[str, Path]:
    """Collections by their names, which must differ."""
    found: dict[str, Path] = {}
    for path in paths:
        if (name := name_of(path)) in found:
            raise ValueError(f"{found[name]} and {path} would both be called {name!r}: rename one of the folders")
        found[name] = path
    return found


class OpenCollection:
    """A collection that stays open. If its folder is replaced by another collection, that one is opened instead."""

    def __init__(self, name: str, path: Path, open_it: Callable[[Path], Collection]) -> None:
        self.name, self.path = name, path
        self._open = open_it
        self._turn = threading.Lock()
        self._users: Counter[Collection] = Counter()
        self._collection = open_it(path)
        index = self._collection.index
        index.searcher.start(index.storage.snapshot)  # now: no request waits, and Ray's signal handlers come first

    @contextmanager
    def using(self) -> Iterator[Collection]:
        """The collection in its newest version; `MaxsieveError` or `OSError` if it is damaged or missing.

        If the folder is replaced meanwhile, the collection stays open until the last of its users is done.
        """
        with self._turn:
            self._refresh()
            used = self._collection
            self._users[used] += 1
        try:
            yield used
        finally:
            with self._turn:
                self._users[used] -= 1
                self._close_unused(used)

    def _refresh(self) -> None:
        known = self._collection
        try:
            known.refresh()
        except (MaxsieveError, OSError):
            if not self._is_another(known):
                raise
            self._collection = self._open(self.path)
            self._close_unused(known)

    def _close_unused(self, collection: Collection) -> None:
        if not self._users[collection]:
            del self._users[collection]
            if collection is not self._collection:
                collection.close()

    def _is_another(self, known: Collection) -> bool:
        """Whether the folder now contains another, undamaged collection."""
        with suppress(MaxsieveError, OSError, ValueError), self._open(self.path) as found:
            return found.index.storage.snapshot.here.version != known.index.storage.snapshot.here.version
        return False

    @property
    def audit(self) -> Audit | None:
        """The live audit of the collection, if there is one."""
        return self._collection.index.audit

    def close(self) -> None:
        """Closes the collection."""
        self._collection.close()


class _Options(TypedDict):
    """How collections are opened."""

    audit: float | None
    cluster: Cluster | None


class OpenCollections(Mapping[str, OpenCollection]):
    """All collections of a service, by name, each with the one of the encoders that it was made with.

    ``cluster`` says where the members of those in shards run.
    """

    def __init__(
        self,
        paths: Mapping[str, Path],
        *encoders: Encoder,
        audit: float | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._encoders, self._options = encoders, _Options(audit=audit, cluster=cluster)
        self._open: dict[str, OpenCollection] = {}
        try:
            for name, path in paths.items():
                self._open[name] = OpenCollection(name, path, self._open_one)
        except BaseException:
            self.close()
            raise

    def _open_one(self, path: Path) -> Collection:
        """Opens a collection with the encoder that it was made with: one of the service's, or a built-in one."""
        description = read_description(path)
        fitting = next((encoder for encoder in self._encoders if description.fits(encoder)), None)
        if fitting is None and description.encoder not in BUILT_IN_ENCODERS:
            fitting = self._encoders[0]  # the error says what is wrong
        return Collection.open(path, fitting, **self._options)

    def close(self) -> None:
        """Closes all collections."""
        for one in self._open.values():
            one.close()

    def __getitem__(self, name: str) -> OpenCollection:
        if name not in self._open:
            served = ", ".join(map(repr, self._open)) or "none"
            raise KeyError(f"there is no collection {name!r} here; the collections are: {served}")
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)
