"""Opens collections by path, and describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from maxsieve.ids import Id
from maxsieve.storage.manifest import SHARDS_NAME

if TYPE_CHECKING:
    from maxsieve.cluster.options import Cluster
    from maxsieve.text import Collection

DEFAULT_SHARDS = 8


class ClusterOptions(NamedTuple):
    """How a collection in shards is opened and searched."""

    address: Annotated[
        str | None,
        typer.Option(
            help="The Ray cluster: auto for the one of this machine, or HOST:PORT.", show_default="a local Ray"
        ),
    ] = None
    replicas: Annotated[int, typer.Option(min=1, help="How many nodes serve each shard.")] = 1
    shards: Annotated[
        int | None, typer.Option(min=1, help="Shards of a new collection.", show_default=str(DEFAULT_SHARDS))
    ] = None
    partial: Annotated[
        bool, typer.Option("--partial", help="Answer without shards that no member can answer for, and name them.")
    ] = False
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for the answers of all shards.")] = 60.0

    @property
    def cluster(self) -> Cluster:
        """Where the members of a collection in shards run."""
        from maxsieve.cluster.options import Cluster

        return Cluster(self.address, self.replicas)

    @property
    def searching(self) -> dict[str, Any]:
        """The fields of `SearchOptions` that these options set."""
        return {"partial": "allow" if self.partial else "refuse", "timeout": self.timeout}


_CLUSTER: ContextVar[ClusterOptions | None] = ContextVar("cluster", default=None)


@contextmanager
def using_cluster(options: ClusterOptions) -> Iterator[None]:
    """Inside, collections in shards are opened and searched with these options, and new collections have shards."""
    before = _CLUSTER.set(options)
    try:
        yield
    finally:
        _CLUSTER.reset(before)


def cluster_options() -> ClusterOptions | None:
    """The options of `maxsieve cluster`, while it runs."""
    return _CLUSTER.get()


def is_collection(path: Path) -> bool:
    """Whether there is a collection, even a damaged one."""
    return (path / "collection.json").exists()


def open_collection(path: Path, encoder: str | None = None) -> Collection:
    """Opens a collection, with the user's encoder if one is given. If there is none, the error says what to do."""
    from maxsieve.text import Collection

    command = "maxsieve index" if cluster_options() is None else "maxsieve cluster index"
    if not path.exists():
        raise FileNotFoundError(f"there is no collection {path}; {command} makes one")
    return Collection.open(path, encoder, cluster=(cluster_options() or ClusterOptions()).cluster)


def open_single(path: Path, encoder: str | None = None) -> Collection:
    """Opens a collection for a command that collections in shards do not have."""
    return as_single(open_collection(path, encoder))


def as_single(collection: Collection) -> Collection:
    """The collection, if it is not in shards."""
    if (collection.path / SHARDS_NAME).exists():
        raise ValueError(f"{collection.path} is a collection in shards, which this command does not support")
    return collection


def id_reader(collection: Collection) -> Callable[[str], Id]:
    """A function from an id on the command line, which is text, to the type of the collection's ids: str or int."""
    if isinstance(next(iter(collection.ids), ""), str):
        return str

    def to_int(text: str) -> int:
        if not text.removeprefix("-").isdecimal():
            raise ValueError(f"{text!r} can't be an id of this collection: its ids are whole numbers")
        return int(text)

    return to_int


def describe_size(collection: Collection) -> str:
    """The collection's size, in words."""
    index, documents = collection.index, len(collection)
    passages = f" in {len(index):,} passages" if len(index) > documents else ""
    return f"{documents:,} documents{passages}, {index.tokens:,} tokens, {bytes_text(index.nbytes)}"


def describe_encoded(collection: Collection) -> str:
    """What to say after `Collection.encode_store` has encoded vectors."""
    index = collection.index
    return f"vectors are {index.store} now, in {bytes_text(index.nbytes)}, and no longer byte codes: scores changed"


def bytes_text(count: int) -> str:
    """A size for people.

    >>> bytes_text(1_536_000), bytes_text(512)
    ('1.5 MB', '512 bytes')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
