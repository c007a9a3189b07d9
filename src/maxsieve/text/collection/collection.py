"""A collection: texts, ids, metadata and the index of their token vectors, in one folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.common.files import check_own_file, check_own_folder
from maxsieve.common.printable import table
from maxsieve.common.progress import progress_bar
from maxsieve.errors import ClosedIndexError, DamagedIndexError
from maxsieve.ids import Id, to_ids
from maxsieve.index import Index
from maxsieve.options import SearchOptions
from maxsieve.policies import Policy
from maxsieve.storage.lock import NAME as LOCK
from maxsieve.storage.segments import Store
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import AnySnapshot, awaits_codebook
from maxsieve.text.collection import sentences
from maxsieve.text.collection.additions import (
    Added,
    add_documents,
    check_text,
    count_texts,
    read_documents,
    worth_merging,
)
from maxsieve.text.collection.collection_encoder import CollectionEncoder, DocumentVectors, describe_new
from maxsieve.text.collection.description import (
    FOLDERS,
    NAME,
    create_folder,
    index_folder,
    read_description,
    read_projection,
)
from maxsieve.text.collection.hits import TextHits
from maxsieve.text.collection.info import ENOUGH_TOKENS, info_of
from maxsieve.text.collection.pictures import Pictures
from maxsieve.text.collection.query_log import QuerySample
from maxsieve.text.collection.rerank import rerank_with
from maxsieve.text.collection.search import check_calibrated, on_metadata, read_texts, search_texts
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, default_store, to_encoder
from maxsieve.text.encoders.truncation_warning import counting_truncations
from maxsieve.text.inputs.outline import Outline
from maxsieve.text.lexical.bm25 import BM25, verify_table
from maxsieve.text.pages.page import PageDocument, PageFacts
from maxsieve.text.passages import (
    Splitter,
    first_records,
    read_document,
    read_page,
    read_records,
    splitter_for,
    to_facts,
    verify_records,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from maxsieve.cluster.options import Cluster
    from maxsieve.options import SearchKeywords


class Collection:
    """Texts by id, searchable by meaning. Think of a dict from id to text that can be searched.

    It records the encoder that made its vectors, and refuses any other. Any number of threads and processes may search
    while one adds or deletes. `Collection.create` makes a new collection, `Collection.open` opens an existing one.
    """

    def __init__(self, path: Path, index: Index, encoder: CollectionEncoder) -> None:
        self.path = path
        """The folder."""
        self.index = index
        """The index of the token vectors, for searches with vectors. Its metadata hold the texts and their metadata."""
        self.keys = encoder.keys
        """Maps document ids to the keys of their passages in the `index`."""
        self._own = encoder
        self.pictures = Pictures(path)
        """The pictures of its pages."""
        self._turn = threading.RLock()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: str | Encoder = DEFAULT_ENCODER,
        dim: int | None = None,
        *,
        projection: Any = None,
        store: Store | None = None,
        pool: int = 1,
        split: bool = True,
        pages: bool = False,
        shards: int | None = None,
        cluster: Cluster | None = None,
    ) -> Collection:
        """Creates a collection without documents, in a new or empty folder.

        encoder
            turns text into token vectors: a name for `load_encoder`, an encoder object, or a `MultiVectorEncoder` of
            Sentence Transformers.
        dim
            dimensions of the stored vectors: fewer take less space and time. The projection is fitted on the first
            texts that are added, and stored. None, or the encoder's own number, keeps all dimensions.
        projection
            a matrix [encoder's dimensions, dimensions to keep] to project with, instead of a fitted one.
        store
            the type of stored vectors, as in `Index.build`. By default it is ``"residual1"``, with fewer than 256
            dimensions ``"residual2"``, with fewer than 128 ``"residual4"`` (docs/text.md has the cost of others).
            Vectors are byte codes until `encode_store` is called, or there are two million tokens.
        pool
            stores this many times fewer vectors of each document: means of similar tokens (`maxsieve.pool`). 2 halves
            the space, and costs a little quality (docs/text.md).
        split
            whether texts that are longer than the encoder's limit are split into passages. Such a document is found by
            its best passage, which the hits name. Without it, the text after the limit is lost, with a
            `TruncationWarning`.
        pages
            whether each page of a PDF and each picture is a document, of which the collection keeps a picture
            (docs/how-to/pages.md). A visual model needs them. With any other model, their words are searched: those of
            the PDF, or those that OCR finds.
        shards, cluster
            divides the documents over this many shards, which the nodes of a Ray cluster encode and search
            (docs/cluster.md). The folder must be on storage that all nodes share. An encoder that is not built in is
            pickled and sent to the nodes, so its class must be importable there.
        """
        folder = Path(path).absolute()
        loaded, description, matrix = describe_new(encoder, dim, projection, pool, split=split, pages=pages)
        if description.pages and shards is not None:
            raise ValueError("a collection of pages can't be in shards")
        create_folder(folder, description, matrix, store or default_store(description.dim), shards)
        return cls.open(folder, loaded, cluster=cluster)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: str | Encoder | None = None,
        *,
        audit: float | None = None,
        cluster: Cluster | None = None,
        load_soon: bool = False,
    ) -> Collection:
        """Opens a collection, in milliseconds: a built-in encoder is loaded when it is first needed.

        A collection may come from an untrusted source, so only built-in encoders are loaded by the name it records. Any
        other ``encoder`` must be given, as a name for `load_encoder` or as an object. It must be the encoder that the
        collection was made with. ``audit`` is as in `Index.build`. ``cluster`` says where the members of a collection
        in shards run. With ``load_soon``, another thread begins to load a built-in encoder at once.
        """
        folder = Path(path).absolute()
        own = _encoder_of(folder, None if encoder is None else to_encoder(encoder))
        if load_soon:
            own.load_soon()
        index = Index.open(index_folder(folder), group_by=own.keys.group_by, audit=audit, cluster=cluster)
        _check_fits(own, index)
        return cls(folder, index, own)

    @classmethod
    def open_or_create(
        cls, path: str | os.PathLike[str], encoder: Any = None, dim: int | None = None, **options: Any
    ) -> Collection:
        """Opens the collection in a folder; if there is none, creates it with the arguments of `create`.

        A collection that is there keeps what it was made with: only ``encoder`` and ``cluster`` are used to open it.
        """
        if (Path(path) / NAME).exists():
            return cls.open(path, encoder, cluster=options.get("cluster"))
        return cls.create(path, DEFAULT_ENCODER if encoder is None else encoder, dim, **options)

    def add(
        self,
        texts: Any,
        ids: Iterable[Id] | None = None,
        metadata: Iterable[Any] | None = None,
        *,
        outlines: Iterable[Outline | None] | None = None,
        text: str | None = None,
        id: str | None = None,
        replace: bool = False,
        workers: int | None = None,
        worker_options: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> Added:
        """Adds texts in batches. A batch is stored as soon as it is encoded, even if a later one fails.

        To continue after an interruption, add the same texts again: documents that are stored with the same text and
        metadata are skipped, not encoded. Returns how many were added, skipped and replaced.

        texts, ids, metadata
            any iterables, including generators. A text may be a page (`PageDocument`). Ids are all str or all int;
            without ids, each is derived from its text.
            Metadata are JSON-compatible values, or None.
        outlines
            where the headings of each text are, and whether its lines are those of a file, as readers of files know
            it. By default, or for None, headings are those of Markdown.
        text, id
            for a Ray dataset in place of texts: its columns. ``metadata`` are then the names of the columns to store,
            or the name of one column that contains metadata.
        replace
            replaces documents that are stored with another text or other metadata; otherwise they are an error.
        workers, worker_options
            of a collection in shards: the number of processes that encode (by default one on each node, with all its
            CPUs), and their options as Ray actors, such as ``{"num_gpus": 1}``. With 0 workers, this process does
            everything, without Ray.
        """
        from maxsieve.text.distributed.datasets import is_dataset, read_columns

        streamed = is_dataset(texts)
        if streamed:
            texts, ids, metadata = read_columns(texts, text, id, ids, metadata)
        elif text is not None or id is not None:
            raise TypeError(f"text and id name the columns of a Ray dataset, and texts is {type(texts).__name__}")
        total = None if streamed else count_texts(texts, ids, metadata)
        with counting_truncations(), self._writing():
            vectors = DocumentVectors(self._own, self._splitter)
            documents = read_documents(vectors.prepare(texts, progress), ids, metadata, outlines, endless=streamed)
            unit = "pages" if self.has_pages else "documents"
            with progress_bar("adding", total, shown=progress, unit=unit) as advance:
                if self.index.storage.distributed:
                    from maxsieve.text.distributed.add import add_to_shards

                    return add_to_shards(
                        self.index,
                        self._own,
                        documents,
                        vectors.encode,
                        workers=workers,
                        worker_options=worker_options,
                        replace=replace,
                        advance=advance,
                    )
                added = add_documents(
                    self.index,
                    documents,
                    self.keys,
                    self._splitter,
                    vectors.encode,
                    replace=replace,
                    advance=advance,
                    pictures=self.pictures,
                    grids=vectors.grids,
                )
            if worth_merging(self.index.storage.snapshot.here.segments):
                self.index.compact(progress=progress)
        return added

    def encode_store(self, *, progress: bool = False) -> bool:
        """Encodes vectors of a store of residuals that still await its codebook, if there are enough to train it.

        This takes place by itself when there are two million tokens. Before, vectors are byte codes. Call this when all
        documents of a smaller collection are there. Scores change. Returns whether it did anything.
        """
        if not self._can_encode():
            return False
        with self._writing():
            if encodes := self._can_encode():  # another process may have done it
                self.index.train_codebook(progress=progress)
        return encodes

    def _can_encode(self) -> bool:
        snapshot = self.index.storage.snapshot
        return awaits_codebook(snapshot) and snapshot.n_tokens >= ENOUGH_TOKENS

    def delete(self, ids: Iterable[Id] | Id) -> None:
        """Deletes documents. If one of the ids is unknown, nothing is deleted."""
        with self._writing():
            wanted = to_ids([ids] if isinstance(ids, (str, int)) else ids, "delete")
            self.index.delete(self.keys.of_all(wanted, self.index.storage.snapshot, "delete"))

    def compact(self, *, progress: bool = False) -> None:
        """Frees the space of deleted and replaced documents, and merges small files. Answers stay the same."""
        with self._writing():
            self.index.compact(progress=progress)
            if self.pictures.exist():
                self.pictures.keep(set(self._digests(self.index.storage.snapshot.here)))

    def rebalance(self, shards: int) -> None:
        """Distributes the documents of a collection in shards over another number of shards. Answers stay the same."""
        self.index.rebalance(shards)

    def calibrate(
        self, queries: Iterable[str] | None = None, k: int = 100, *, where: Any = None, progress: bool = False
    ) -> None:
        """Prepares ``policy=Calibrated(...)``: measures how many documents it must follow up for a top k.

        queries
            typical queries: at least 99 for an overlap of 0.99, 19 for 0.95. Without queries, up to 200 sentences are
            drawn from the documents, at most one per passage. The report then says ``"own sentences"``, and the
            guarantee is about such sentences: too optimistic for a small k (docs/text.md).
        k
            the largest number of hits that later searches can give a guarantee for.
        where
            a filter. Then the guarantee is for searches with this filter, and other calibrations stay. A collection
            keeps them for up to 16 filters.
        """
        with self._writing():
            sentences.calibrate(self, queries, k, on_metadata(where), progress=progress)

    def recalibrate(self, *, progress: bool = False) -> None:
        """Calibrates again with the stored queries or sentences, after documents have changed."""
        with self._writing():
            check_calibrated(self, filtered=True)
            self.index.recalibrate(progress=progress)

    def refresh(self) -> None:
        """Moves to the newest version, which another process may have written."""
        self.index.refresh()

    def verify(self, *, progress: bool = False) -> None:
        """Reads all files and compares checksums; `DamagedIndexError` names the file that is damaged."""
        if (description := read_description(self.path)).projection is not None:
            read_projection(self.path, description)
        for name in FOLDERS:
            check_own_folder(self.path / name)
            check_own_file(self.path / name / LOCK)
        check_own_file(self.path / LOCK)
        self.index.verify(progress=progress)
        snapshot = self.index.storage.snapshot.here
        verify_records(snapshot, self.keys)
        self.pictures.verify(dict.fromkeys(self._digests(snapshot)))
        verify_table(self.path, snapshot)
        QuerySample.read(self.path)

    def close(self) -> None:
        """Closes all files; later calls raise `ClosedIndexError`."""
        vars(self).pop("bm25", None)  # it has the files of the version that it was made for
        self.index.close()

    def __enter__(self) -> Collection:
        self.index.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path, not the data; unpickling opens the folder. An encoder is pickled if it is not built in."""
        return _reopened, (self.path, self.index, self._own.not_built_in)

    def __copy__(self) -> Collection:
        return Collection(self.path, copy(self.index), self._own)

    def __deepcopy__(self, memo: dict[int, Any]) -> Collection:
        return copy(self)

    def __len__(self) -> int:
        return self.keys.count(self.index.storage.snapshot)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, (str, int)) and not isinstance(id, bool) and self.keys.key(id) in self.index

    def __repr__(self) -> str:
        name, encoder = f"maxsieve.Collection {str(self.path)!r}", self._own.description.encoder
        try:
            documents, passages, tokens = len(self), len(self.index), self.index.tokens
        except ClosedIndexError:
            return f"<closed {name}>"
        split = f" in {passages:,} passages" if passages > documents else ""
        counted = f"{documents:,} {'document' if documents == 1 else 'documents'}{split}, {tokens:,} tokens"
        return f"<{name} of {encoder!r}: {counted}, dim {self.index.dim}>"

    def _repr_html_(self) -> str:
        facts = self.info()
        calibration = facts["calibration"]
        shown = {
            "path": facts["path"],
            "documents": f"{facts['documents']:,}",
            **({} if facts["passages"] is None else {"passages": f"{facts['passages']:,}"}),
            "tokens": f"{facts['tokens']:,}",
            "encoder": facts["encoder"]["name"],
            "dimensions": facts["dim"],
            "store": facts["store"],
            "megabytes on disk": f"{facts['room']['total'] / 1e6:,.1f}",
            "calibrated on": "nothing" if calibration is None else calibration["calibrated_on"],
        }
        return table(["collection", ""], shown.items())

    @property
    def ids(self) -> list[Id]:
        """All ids, in insertion order."""
        return list(self.keys.firsts(self.index.ids))

    @property
    def encoder(self) -> Encoder:
        """The encoder of this collection's vectors, including its projection and pooling."""
        return self._own.projected

    @property
    def calibrated(self) -> bool:
        """Whether `calibrate` was called without a filter."""
        return self.index.storage.snapshot.calibration is not None

    @property
    def logged_queries(self) -> list[str]:
        """The sample of real queries that ``maxsieve serve --log-queries`` keeps; empty if there is none."""
        found = QuerySample.read(self.path)
        return [] if found is None else found.queries

    @cached_property
    def bm25(self) -> BM25:
        """BM25 over its texts, as used by ``first_stage="bm25"``."""
        return BM25(self.path, self.index, self.keys)

    def info(self) -> dict[str, Any]:
        """Facts about the collection, for JSON."""
        facts = info_of(self.path, self.index, self._own.description, self.keys)
        return {**facts, **self.index.storage.facts(self.index.searcher.members())}

    def text(self, id: Id) -> str:
        """A document's text."""
        found = self.index.storage.reading(lambda snapshot: read_document(id, self.keys, snapshot))
        if found is None:
            raise KeyError(f"text: no document has the id {id!r}")
        return found.text

    def metadata(self, id: Id) -> Any:
        """The metadata that were added with a document, or None."""
        known = self.index.storage.reading(lambda snapshot: first_records([id], self.keys, snapshot))
        if id not in known:
            raise KeyError(f"metadata: no document has the id {id!r}")
        return known[id]["metadata"]

    @property
    def has_pages(self) -> bool:
        """Whether each page of a file is a document."""
        return self._own.description.pages

    def page(self, id: Id) -> PageDocument:
        """A document that is a page: its picture, its text, and the places of its words."""
        found = self.index.storage.reading(lambda snapshot: read_page(id, self.keys, snapshot))
        if found is None:
            raise KeyError(f"page: no document has the id {id!r}")
        if (facts := found.facts) is None:
            raise ValueError(f"the document {id!r} is not a page: it has no picture")
        return PageDocument(self.pictures.read(facts.digest), facts.width, facts.height, found.text, facts.words)

    def page_facts(self, id: Id) -> PageFacts | None:
        """What the first record of a document says about its page; None if it is not a page."""
        known = self.index.storage.reading(lambda snapshot: first_records([id], self.keys, snapshot))
        if id not in known:
            raise KeyError(f"page: no document has the id {id!r}")
        return to_facts(known[id], id)

    def search(self, text: str, k: int = 10, **options: Unpack[SearchKeywords]) -> TextHits:
        """The k best documents for a text. ``hits.report.guarantee`` says how sure that is.

        Without a ``policy`` the answer is exact, unless that takes more than some milliseconds and the collection was
        calibrated: then it is `Calibrated(0.99)` (docs/text.md). ``policy="exact"`` is always exact.

        The keywords are the fields of `maxsieve.SearchOptions`: ``policy``, ``candidates``, ``exclude``, ``where``,
        ``first_stage``, ``hybrid`` and so on. ``hits.scope`` says among which documents the guarantee holds.

        With ``hybrid`` (extra ``maxsieve[text]``), the hits are the k best by the fused scores, among all documents or
        the ``candidates``; ``hits.hybrid`` has both scores of each hit. For ``"rrf"``, the ``depth`` best of each are
        ranked; with a weight, ``depth`` changes only the time. In a trace, long documents appear as passages; a hybrid
        search has no trace.
        """
        return search_texts(self, [check_text(text, "the query")], SearchOptions.of(k, options))[0]

    def search_many(self, texts: Iterable[str], k: int = 10, **options: Unpack[SearchKeywords]) -> list[TextHits]:
        """`search` for many texts at once: the same answers, in less time.

        ``candidates`` and ``exclude`` are one set for all, or a list with one entry (ids or None) for each.
        ``where`` is one filter for all, or a list with one (or None) for each.
        """
        listed = read_texts(texts, "search_many")
        return search_texts(self, listed, SearchOptions.of_many(k, options, len(listed)))

    def answer(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        vectors: Sequence[NDArray[np.float32]] | None = None,
        snapshot: AnySnapshot | None = None,
    ) -> list[TextHits]:
        """The hits of each text, with options that were made before, in a snapshot or in the current one.

        ``vectors`` are the token vectors of the texts, if they are encoded already. Then a text may be empty.
        """
        return search_texts(self, texts, options, vectors, snapshot)

    def rerank(self, query: str, texts: Iterable[str], k: int = 10, *, policy: Policy | str | None = None) -> TextHits:
        """The k best of these texts, which need not be in the collection. Ids are positions in ``texts``, from 0."""
        return rerank_with(self.encoder, self._splitter, query, texts, k, policy=policy)

    def _digests(self, snapshot: Snapshot) -> Iterator[str]:
        """The pictures that the records name."""
        for key, record in read_records(snapshot, snapshot.live.tolist()):
            if (facts := to_facts(record, key)) is not None:
                yield facts.digest

    @property
    def _splitter(self) -> Splitter:
        return splitter_for(self._own.plain, self._own.description.passages)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Admits one writer at a time: threads wait for each other, other processes find the folder locked."""
        self.index.storage.snapshot  # noqa: B018 - raises when closed
        with self._turn, self.index.storage.lock(self.path):
            self.index.refresh()
            yield


def _encoder_of(folder: Path, encoder: Encoder | None) -> CollectionEncoder:
    """The encoder of the collection in a folder; one that is given must be its own."""
    description = read_description(folder)
    if encoder is not None:
        description.check_encoder(encoder, folder)
    return CollectionEncoder(folder, description, encoder)


def _check_fits(own: CollectionEncoder, index: Index) -> None:
    """Refuses an index that does not fit the description of its collection."""
    description, folder = own.description, own.path
    if index.dim != description.dim:
        raise DamagedIndexError(f"{folder} has {description.dim} dimensions, but its index has {index.dim}")
    if description.pending and index.tokens and read_description(folder).pending:  # it may just have been fitted
        raise DamagedIndexError(f"{folder} has vectors, but {NAME} names no projection to {description.dim} dimensions")


def _reopened(path: Path, index: Index, encoder: Encoder | None) -> Collection:
    """Opens the pickled collection again. Unpickling ``index`` has checked that the folder holds the same index."""
    own = _encoder_of(path, encoder)
    _check_fits(own, index)
    return Collection(path, index, own)
