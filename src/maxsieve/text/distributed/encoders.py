"""Encodes batches of documents and stages them, in this process or on all nodes of a Ray cluster."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from maxsieve.cluster.folder import ShardedFolder
from maxsieve.cluster.ray_errors import as_own_error
from maxsieve.cluster.snapshot import ShardedSnapshot
from maxsieve.common.optional import optional
from maxsieve.common.threads import thread_count
from maxsieve.errors import MaxsieveError, StaleVersionError
from maxsieve.ids import Id
from maxsieve.text.collection.additions import Encode, OtherDocumentError, difference, stored_as, to_pieces
from maxsieve.text.collection.collection_encoder import CollectionEncoder
from maxsieve.text.collection.description import read_description
from maxsieve.text.distributed.staged import Form, StagedBatch, batch_digest, find_staged, stage
from maxsieve.text.encoders.encoder import Encoder
from maxsieve.text.encoders.truncation_warning import Tally, TruncationWarning, counting_truncations, naming_texts
from maxsieve.text.passages import Document, check_record, splitter_for

EncodeAll: TypeAlias = "Callable[[Iterable[Order]], Iterator[Outcome]]"
"""The outcome of each order, in order. Only a few orders are read in advance."""

AHEAD = 2
"""The number of batches that each worker has: the one that it encodes, and the next one."""

RETRIES = 3
"""How often a batch is retried after the worker that encoded it has died."""

ATTEMPTS = 5
"""If the files of a version have been removed, a newer version is tried. At most this many versions are tried."""

VERSION_TIMEOUT = 30.0
"""Seconds within which a node must see a version of the corpus that was committed on another node."""


class Order(NamedTuple):
    """A batch to be encoded.

    Documents are looked up in the version ``generation`` of the corpus, or in a newer one. Documents with a sequence
    number of at least ``first_sequence`` were added by the same call of `add`.
    """

    documents: list[Document]
    replace: bool
    generation: int
    first_sequence: int


class Outcome(NamedTuple):
    """The result of a batch. ``skipped`` counts documents that are already in the corpus with the same content.

    replaces
        the ids of the batch that are in the corpus with other content, each with its number of passages there.
    reused
        whether the batch was staged before, and not encoded now.
    cuts
        a worker's counts of texts that the encoder truncated.
    """

    batch: StagedBatch | None
    skipped: int
    replaces: dict[Id, int]
    reused: bool
    cuts: Tally | None = None


class BatchEncoder:
    """Encodes batches of documents and stages them. Each process has one `BatchEncoder`, with one encoder."""

    def __init__(self, folder: ShardedFolder, own: CollectionEncoder, encode: Encode | None = None) -> None:
        self._folder, self._own = folder, own
        self._split = splitter_for(own.plain, own.description.passages)
        self._encode = encode or (lambda texts: own.projected.encode_documents(texts))
        self._threads = thread_count(None)

    def run(self, order: Order) -> Outcome:
        """Stages the new documents of a batch. If this is repeated, it finds and reuses the staged batch."""
        self._wait_for_version(order.generation)
        new, replaces = self._look_up_in_newest(order)
        skipped = len(order.documents) - len(new)
        if not new:
            return Outcome(None, skipped, {}, False)
        form = Form(self._folder.manifest.layout, self._own.description)
        digest = batch_digest(new, form)
        found = find_staged(self._folder.path, digest, new, form)
        if found is not None:
            return Outcome(found, skipped, replaces, True)
        pieces = to_pieces(new, self._split, self._own.keys)
        with counting_truncations(), naming_texts(pieces.names):
            # the projection may be fitted on these texts: then the digest was computed without it
            batch = stage(self._folder.path, digest, new, pieces, form, self._encode, self._threads)
        return Outcome(batch, skipped, replaces, False)

    def _look_up_in_newest(self, order: Order) -> tuple[list[Document], dict[Id, int]]:
        """`_look_up` in the current version or, if its files have been removed, in a newer one."""
        for _ in range(ATTEMPTS):
            with suppress(StaleVersionError):
                return self._look_up(order, self._folder.snapshot)
            self._folder.refresh()
        return self._look_up(order, self._folder.snapshot)

    def _look_up(self, order: Order, snapshot: ShardedSnapshot) -> tuple[list[Document], dict[Id, int]]:
        """The documents of a batch to encode, and the ids that they replace, each with its number of passages."""
        keys = self._own.keys
        new: dict[Id, Document] = {}
        replaces: dict[Id, int] = {}
        for document in order.documents:
            if (before := new.get(document.id)) is not None:
                if difference(document, before) is not None:
                    raise repeated_id_error(document.id)
                continue
            key = keys.key(document.id)
            if (place := snapshot.known([key]).get(key)) is not None:
                first = check_record(snapshot.metadata([place])[0], key)
                other = difference(document, stored_as(document, first, keys, snapshot))
                if other is None:
                    continue
                if snapshot.shard(place.shard).sequence[place.position] >= order.first_sequence:
                    raise repeated_id_error(document.id)
                if not order.replace:
                    raise OtherDocumentError.of(document.id, other)
                replaces[document.id] = len(keys.of(document.id, snapshot))
            new[document.id] = document
        return list(new.values()), replaces

    def _wait_for_version(self, generation: int) -> None:
        """Waits until this node sees a version of the corpus. Shared storage may show it with a delay."""
        deadline = time.monotonic() + VERSION_TIMEOUT
        while self._folder.manifest.generation < generation:
            if not self._folder.refresh():
                if time.monotonic() > deadline:
                    raise MaxsieveError(
                        f"{self._folder.path} is at version {self._folder.manifest.generation} on this node, but at "
                        f"{generation} where documents are added: the folder must be on storage that all nodes share"
                    )
                time.sleep(0.05)


def repeated_id_error(id: Id) -> ValueError:
    """The error for an id that is added twice with different content."""
    return ValueError(f"ids: {id!r} occurs twice in what is added, with another text or other metadata")


class EncodingWorker:
    """The class of a Ray actor that loads the encoder once, and encodes one batch after the other.

    A batch can be repeated safely. So Ray may restart a worker that died, on another node if necessary. ``stored`` has
    a reference to the encoder in Ray's object store, or nothing if the encoder is built in. The encoder itself is not
    an argument, because Ray deletes large arguments after a worker has started, and then could not restart the worker.
    """

    def __init__(self, path: Path, stored: Sequence[Any], threads: int | None) -> None:
        encoder: Encoder | None = optional("ray", "ray").get(stored[0]) if stored else None
        own = CollectionEncoder(path, read_description(path), encoder, threads=threads)
        self._encoder = BatchEncoder(ShardedFolder.open(path), own)

    def run(self, order: Order) -> Outcome:
        """`BatchEncoder.run` without warnings about truncated texts: the process that adds prints them."""
        with warnings.catch_warnings(), counting_truncations() as cuts:
            warnings.simplefilter("ignore", TruncationWarning)
            outcome = self._encoder.run(order)
        return outcome._replace(cuts=cuts.tally)


class RayEncoders:
    """Encodes on the nodes of a Ray cluster: by default with one worker on each node, which uses all its CPUs.

    Workers reserve no CPUs in Ray, unless ``options`` (of Ray's actors) do. So they can start even if other tasks have
    reserved all CPUs, for example tasks that wait until documents are encoded.
    """

    def __init__(
        self,
        ray: Any,
        path: Path,
        encoder: Encoder | None,
        workers: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._ray = ray
        strategies = optional("ray.util.scheduling_strategies", "ray")
        nodes = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        nodes = nodes or [node for node in self._ray.nodes() if node["Alive"]]
        count = workers or len(nodes)
        warn_if_too_few(self._ray.cluster_resources(), count, options or {})
        self._stored = [] if encoder is None else [self._ray.put(encoder)]  # kept in Ray while referenced
        self._workers: list[Any] = []
        remote = self._ray.remote(EncodingWorker)
        for number in range(count):
            node = nodes[number % len(nodes)]
            on_same_node = len(range(number % len(nodes), count, len(nodes)))
            cpus = int(node["Resources"].get("CPU", 1))
            place = strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)
            chosen = {
                "num_cpus": 0,
                "max_restarts": -1,
                "max_task_retries": RETRIES,
                "scheduling_strategy": place,
                **(options or {}),
            }
            threads = max(1, cpus // on_same_node)
            self._workers.append(remote.options(**chosen).remote(path, self._stored, threads))

    def encode(self, orders: Iterable[Order]) -> Iterator[Outcome]:
        """The outcome of each order, in order. The number of unfinished orders is limited."""
        waiting: deque[_Running] = deque()
        try:
            for order in orders:
                while len(waiting) >= AHEAD * len(self._workers):
                    yield self._next_outcome(waiting)
                waiting.append(self._submit(order, waiting))
            while waiting:
                yield self._next_outcome(waiting)
        except BaseException:
            for running in waiting:
                self._ray.cancel(running.ref)  # otherwise Ray retries it, and prints an error
            self.close()
            raise

    def close(self) -> None:
        """Ends the workers."""
        for worker in self._workers:
            self._ray.kill(worker)
        self._workers.clear()

    def _submit(self, order: Order, waiting: Iterable[_Running]) -> _Running:
        """Sends a batch to the worker with the fewest unfinished batches."""
        busy = {running.ref: running.worker for running in waiting}
        if busy:
            _, unfinished = self._ray.wait(list(busy), num_returns=len(busy), timeout=0, fetch_local=False)
            load = dict.fromkeys(self._workers, 0)
            for ref in unfinished:
                load[busy[ref]] += 1
            worker = min(load, key=load.__getitem__)
        else:
            worker = self._workers[0]
        return _Running(worker.run.remote(order), worker, (order.documents[0].id, order.documents[-1].id))

    def _next_outcome(self, waiting: deque[_Running]) -> Outcome:
        """Waits for the oldest unfinished batch, and returns its outcome."""
        first = waiting[0]
        try:
            outcome: Outcome = self._ray.get(first.ref)
        except self._ray.exceptions.RayError as problem:
            raise as_own_error(problem, f"documents {first.name} could not be encoded") from problem
        waiting.popleft()
        return outcome


class _Running(NamedTuple):
    ref: Any
    worker: Any
    between: tuple[Id, Id]

    @property
    def name(self) -> str:
        """Names the documents of the batch, for errors."""
        first, last = self.between
        return repr(first) if first == last else f"{first!r} to {last!r}"


def warn_if_too_few(there: Mapping[str, float], workers: int, options: Mapping[str, Any]) -> None:
    """Warns if the cluster has too few resources for the workers: Ray would wait for new nodes, maybe forever."""
    asked = {"CPU": options.get("num_cpus"), "GPU": options.get("num_gpus"), **(options.get("resources") or {})}
    for name, amount in asked.items():
        needed = workers * (amount or 0)
        spare = 1 if name == "CPU" else 0  # one CPU for the tasks that read the dataset and write shards
        if needed and needed + spare > there.get(name, 0):
            rest = ", and one more is needed to read and write" if spare else ""
            warnings.warn(
                f"worker_options ask for {needed:g} {name} for {workers} workers{rest}, but the cluster has "
                f"{there.get(name, 0):g}: this waits until nodes are added",
                stacklevel=2,
            )
