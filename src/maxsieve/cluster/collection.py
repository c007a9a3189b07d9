"""A collection in shards: texts, ids, metadata and the index of their token vectors, on shared storage."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

import numpy as np

from maxsieve.candidates import Candidates
from maxsieve.cluster.actors import connect
from maxsieve.cluster.adding import Additions, merge_small_segments
from maxsieve.cluster.coordinator import Partial
from maxsieve.cluster.datasets import is_dataset, read_columns
from maxsieve.cluster.encoding import BatchEncoder, LocalEncoders, RayEncoders
from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.index import ShardedIndex
from maxsieve.cluster.staging import remove_oldest, remove_staged, staging_folder
from maxsieve.common.checks import as_count
from maxsieve.common.files import check_own_file, replacing_folder
from maxsieve.common.progress import progress_bar
from maxsieve.errors import DamagedIndexError
from maxsieve.ids import Id
from maxsieve.policies import Policy
from maxsieve.storage.lock import NAME as LOCK
from maxsieve.storage.segments import Store
from maxsieve.text.collection.additions import (
    Added,
    batches,
    check_id_type,
    count_texts,
    read_documents,
    size_of,
    some_id,
)
from maxsieve.text.collection.base_collection import BaseCollection
from maxsieve.text.collection.collection_encoder import CollectionEncoder, DocumentVectors, describe_new
from maxsieve.text.collection.description import (
    NAME,
    read_description,
    read_projection,
    write_description,
    write_projection,
)
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.info import info_of
from maxsieve.text.collection.search import Queries, search_texts
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, DEFAULT_STORE, Encoder, load_encoder
from maxsieve.text.encoders.truncation_warning import counting_truncations
from maxsieve.text.lexical.bm25 import BM25, FirstStage
from maxsieve.text.lexical.fusion import Hybrid
from maxsieve.text.passages import Document, verify_records

MOST_WORKERS = 100_000

LEFT_BYTES = 2 << 30
"""Bytes of staged batches from interrupted additions that are kept at most. A complete addition removes all of them."""


class ShardedCollection(BaseCollection):
    """Texts by id, searchable by meaning, in shards on the nodes of a Ray cluster. As `maxsieve.text.Collection`.

    `ShardedCollection.create` makes one, `ShardedCollection.open` opens an existing one. Answers are those of one
    collection with the same documents in the same order, bit for bit.
    """

    index: ShardedIndex
    """The index of the token vectors, for searches with vectors. Its metadata hold the texts and their metadata."""

    def __init__(self, folder: ShardedFolder, encoder: CollectionEncoder, **options: Any) -> None:
        super().__init__(folder.path, encoder)
        self._folder, self._options = folder, options
        self.index = ShardedIndex(folder, group_by=encoder.keys.group_by, **options)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: str | Encoder = DEFAULT_ENCODER,
        dim: int | None = None,
        *,
        shards: int,
        projection: Any = None,
        store: Store = DEFAULT_STORE,
        pool: int = 1,
        split: bool = True,
        replicas: int = 1,
        actors_per_node: int = 1,
        address: str | None = None,
    ) -> ShardedCollection:
        """Creates an empty collection with this number of shards, in a new or empty folder.

        The other arguments are those of `Collection.create` and of `ShardedCollection.open`. The folder must be on
        storage that all nodes share. An encoder that is not built in is pickled and sent to the nodes. So its class
        must be importable there.
        """
        folder = Path(path).absolute()
        loaded, description, matrix = describe_new(encoder, dim, projection, pool, split=split)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(folder) as made:
            ShardedFolder.create(made, description.dim, shards=shards, store=store)
            if matrix is not None:
                description = write_projection(made, description, matrix)
            write_description(made, description)
        return cls.open(folder, loaded, replicas=replicas, actors_per_node=actors_per_node, address=address)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: str | Encoder | None = None,
        *,
        replicas: int = 1,
        actors_per_node: int = 1,
        address: str | None = None,
    ) -> ShardedCollection:
        """Opens the collection in a folder. ``encoder`` is as for `Collection.open`, the others as for `ShardedIndex`.

        Ray is started or connected to with the first search, or when more than one batch of documents is added.
        """
        folder = Path(path).absolute()
        description = read_description(folder)
        loaded = load_encoder(encoder) if isinstance(encoder, str) else encoder
        if loaded is not None:
            description.check_encoder(loaded, folder)
        corpus = ShardedFolder.open(folder)
        if corpus.manifest.dim != description.dim:
            raise DamagedIndexError(
                f"{folder} has {description.dim} dimensions, but its shards have {corpus.manifest.dim}"
            )
        if description.pending and corpus.manifest.tokens and read_description(folder).pending:
            raise DamagedIndexError(
                f"{folder} has vectors, but {NAME} names no projection to {description.dim} dimensions"
            )
        own = CollectionEncoder(folder, description, loaded)
        return cls(corpus, own, replicas=replicas, actors_per_node=actors_per_node, address=address)

    def add(
        self,
        texts: Any,
        ids: Iterable[Id] | None = None,
        metadata: Iterable[Any] | None = None,
        *,
        text: str | None = None,
        id: str | None = None,
        replace: bool = False,
        workers: int | None = None,
        worker_options: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> Added:
        """Adds a stream of texts. They are encoded on all nodes, and become visible many at a time.

        To continue after an interruption of any kind, add the same texts again. Documents that are in the collection
        with the same text and metadata are skipped. Documents that were encoded, but are not in the collection yet, are
        not encoded again. Returns how many documents were added, skipped and replaced.

        texts
            a Ray dataset, whose columns are named by ``text``, ``id`` and ``metadata``; or texts with ``ids`` and
            ``metadata``, as for `Collection.add`.
        id
            the column of ids. Without it, each id is derived from the text.
        metadata
            for a dataset: the names of the columns to store as metadata, or the name of one column that contains it.
        replace
            whether to replace documents that are in the collection with another text or other metadata. If False, such
            a document is an error. Two new documents with the same id and different content are always an error.
        workers, worker_options
            the number of processes that encode (by default one on each node, with all its CPUs), and their options as
            Ray actors, such as ``{"num_gpus": 1}``. With 0 workers, this process does everything, without Ray.
        """
        if workers is not None:
            workers = as_count(workers, "workers", at_least=0, at_most=MOST_WORKERS)
        streamed = is_dataset(texts)
        if streamed:
            if text is None or ids is not None:
                raise ValueError("for a dataset, name the columns: text='...', and id='...' if it has ids")
            texts, ids, metadata = read_columns(texts, text, id, metadata)  # type: ignore[arg-type]
        elif text is not None or id is not None:
            raise TypeError(f"text and id name the columns of a Ray dataset, and texts is {type(texts).__name__}")
        total = None if streamed else count_texts(texts, ids, metadata)
        self.index.manifest  # noqa: B018 - raises when closed
        with counting_truncations(), self._folder.writing():
            remove_oldest(self.path, LEFT_BYTES)
            vectors = DocumentVectors(self._own, self._splitter)
            documents = read_documents(vectors.prepare(texts, progress), ids, metadata, endless=streamed)
            with progress_bar("adding", total, shown=progress, unit="documents") as advance:
                additions = Additions(self._folder, self._own, replace=replace, advance=advance)
                self._add(self._checked(documents), vectors, additions, workers, worker_options)
            remove_staged(self.path)
        self.index.refresh()
        return additions.added

    def _add(
        self,
        documents: Iterator[Document],
        vectors: DocumentVectors,
        additions: Additions,
        workers: int | None,
        options: Mapping[str, Any] | None,
    ) -> None:
        """Encodes and commits. Few documents, and those that a projection is fitted on, are encoded in this process."""
        groups = batches(documents, size_of)
        here = LocalEncoders(BatchEncoder(self._folder, self._own, vectors.encode))
        while self._own.description.pending and (some := list(islice(groups, 1))):
            additions.run(some, here)
        first = list(islice(groups, 2))
        if len(first) < 2 or workers == 0:
            additions.run(chain(first, groups), here)
            merge_small_segments(self._folder, here)
            return
        connect(self._options.get("address"))
        encoders = RayEncoders(self.path, self._own.not_built_in, workers, options)
        try:
            additions.run(chain(first, groups), encoders)
            merge_small_segments(self._folder, encoders)
        finally:
            encoders.close()

    def _checked(self, documents: Iterator[Document]) -> Iterator[Document]:
        """The same documents. Raises an error if their ids are of another type than those in the collection."""
        first = next(documents, None)
        if first is None:
            return iter(())
        check_id_type(self._some_id(), first.id)
        return chain([first], documents)

    def _some_id(self) -> Id | None:
        for shard, version in enumerate(self._folder.manifest.shards):
            if version.documents:
                return some_id(self._folder.snapshot([shard]), self.keys)
        return None

    def rebalance(self, shards: int) -> None:
        """Distributes the documents over another number of shards. Answers stay the same."""
        self.index.rebalance(shards)

    def start(self) -> None:
        """Connects to Ray and starts the members, which takes seconds. Otherwise the first search does this."""
        self.index.start()

    def verify(self, *, progress: bool = False) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` names the damaged file."""
        if (description := read_description(self.path)).projection is not None:
            read_projection(self.path, description)
        check_own_file(self.path / LOCK)
        staging_folder(self.path)
        self.index.verify(progress=progress)
        verify_records(self.index.snapshot, self.keys)

    def close(self) -> None:
        """Ends the members and releases all files; later calls raise `ClosedIndexError`. Ray is not shut down."""
        self.index.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path, which is opened again when unpickled, and the encoder, unless it is built in."""
        return partial(ShardedCollection.open, **self._options), (self.path, self._own.not_built_in)

    def __repr__(self) -> str:
        encoder = self._own.description.encoder
        return f"<maxsieve.cluster.ShardedCollection {str(self.path)!r} of {encoder!r}, {self.index!r}>"

    @property
    def state(self) -> object:
        """The version that is searched. It is a different object after each change."""
        return self.index.manifest

    @property
    def calibrated(self) -> bool:
        """Whether the collection is calibrated."""
        return self.index.manifest.calibration is not None

    @property
    def bm25(self) -> BM25:
        """Not available: raises `ValueError`."""
        raise ValueError(
            "a collection in shards has no BM25 yet, as a first stage or in a hybrid search: pass candidates of "
            "another search engine, or a function of query and depth as first_stage"
        )

    def info(self) -> dict[str, Any]:
        """Facts about the collection, for JSON: those of `Collection.info`, and the size of each shard."""
        manifest, state = self.index.manifest, self.index.snapshot
        passages = manifest.documents if self.keys.passages else None
        facts = info_of(self.path, state, self._own.description, manifest.store, len(self), passages)
        shards = [{"documents": shard.documents, "tokens": shard.tokens} for shard in manifest.shards]
        members = [{**one._asdict(), "shards": list(one.shards)} for one in self.index.info().members]
        return {**facts, "generation": manifest.generation, "shards": shards, "members": members}

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        first_stage: FirstStage | str | None = None,
        depth: int = 100,
        hybrid: Hybrid | None = None,
        threads: int | None = None,
        partial: Partial = "refuse",
        timeout: float = 60.0,
    ) -> TextHits:
        """The k best documents for a text. They are exact unless ``policy`` says otherwise. As `Collection.search`.

        ``first_stage`` can only be a function; ``"bm25"`` and ``hybrid`` are errors. ``partial`` and ``timeout`` say
        what to do if no member answers for some shards, as for `ShardedIndex.search`.
        """
        queries = Queries.one(text, candidates, exclude, where)
        return self._search(queries, k, policy, first_stage, depth, hybrid, threads, partial, timeout)[0]

    def search_many(
        self,
        texts: Iterable[str],
        k: int = 10,
        *,
        policy: Policy | None = None,
        candidates: Any = None,
        exclude: Any = None,
        where: Any = None,
        first_stage: FirstStage | str | None = None,
        depth: int = 100,
        hybrid: Hybrid | None = None,
        threads: int | None = None,
        partial: Partial = "refuse",
        timeout: float = 60.0,
    ) -> list[TextHits]:
        """`search` for many texts at once: the same answers, but faster. As `Collection.search_many`."""
        queries = Queries.many(texts, candidates, exclude, where)
        return self._search(queries, k, policy, first_stage, depth, hybrid, threads, partial, timeout)

    def _search(
        self,
        queries: Queries,
        k: int,
        policy: Policy | None,
        first_stage: FirstStage | str | None,
        depth: int,
        hybrid: Hybrid | None,
        threads: int | None,
        partial: Partial,
        timeout: float,
    ) -> list[TextHits]:
        if hybrid is not None:
            self.bm25  # noqa: B018 - raises
        named = queries._replace(candidates=[self._to_ids(one) for one in queries.candidates])
        return search_texts(self, named, k, policy, first_stage, depth, threads, partial=partial, timeout=timeout)

    def _to_ids(self, candidates: Candidates) -> Candidates:
        """Candidates with a mask converted to ids. A mask has one entry for each id, in insertion order."""
        if not isinstance(candidates, np.ndarray):
            return candidates
        ids = self.ids
        if candidates.shape != (len(ids),):
            raise ValueError(f"candidates is a mask of shape {candidates.shape} for {len(ids)} documents")
        return list(compress(ids, candidates))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Holds the writer's lock, and goes to the newest version."""
        with self._folder.writing():
            self.index.refresh()
            yield
