"""PyLate: an index for its retrievers, on disk and exact, its `rank.rerank` and its `scores.colbert_scores`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from maxsieve.adapters.tensors import device_of, score, to_rows
from maxsieve.arrays import FloatArray, from_buffer
from maxsieve.common.optional import optional
from maxsieve.ids import Id
from maxsieve.index import Index
from maxsieve.policies import Policy
from maxsieve.storage.manifest import NAME as MANIFEST
from maxsieve.storage.segments import Store

torch: Any = optional("torch", package="pylate>=1.6")
Base: Any = optional("pylate.indexes.base", package="pylate>=1.6").Base


class Maxsieve(Base):
    """An index for ``pylate.retrieve.ColBERT``, in place of ``pylate.indexes.PLAID``: exact and stored on disk.

    index_folder, index_name
        the index is the folder ``index_folder/index_name``. An existing index is opened, in milliseconds.
    override
        removes an existing index and starts with an empty one.
    store
        the type of stored vectors: ``"float32"``, ``"float16"`` or ``"int8"``.
    policy
        `Certified`, which is exact, by default.

    An id that is added again replaces its document. Unknown ids are ignored in ``remove_documents`` and ``subset``, as
    in PLAID; `get_documents_embeddings` raises `KeyError`. A document without tokens is stored, but never found.
    """

    is_end_to_end_index = True

    def __init__(
        self,
        index_folder: str | os.PathLike[str] = "indexes",
        index_name: str = "colbert",
        override: bool = False,
        *,
        store: Store = "float32",
        policy: Policy | str | None = None,
    ) -> None:
        self.path = _inside(Path(index_folder), index_name)
        self._store, self._policy = store, policy
        is_index = (self.path / MANIFEST).is_file()
        if is_index and override:
            shutil.rmtree(self.path)
        elif not is_index and self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise FileExistsError(f"{self.path} exists and is not an index of maxsieve; give another index_name")
        self._index = Index.open(self.path) if is_index and not override else None

    @property
    def index(self) -> Index:
        """The `maxsieve.Index`, for what PyLate does not offer: reports, `verify`, `compact`, `calibrate`."""
        if self._index is None:
            raise ValueError("The index is empty. Please add documents before querying.")
        return self._index

    def add_documents(
        self, documents_ids: Any, documents_embeddings: Any, batch_size: int = 2000, **kwargs: Any
    ) -> Maxsieve:
        """Adds documents, or none if anything is wrong. A known id gets the new embeddings.

        ``batch_size`` is accepted for compatibility and has no effect.
        """
        ids = _to_ids(documents_ids)
        rows = _to_float_rows(documents_embeddings, "document")
        if len(ids) != len(rows):
            raise ValueError(f"there are {len(ids)} documents_ids for {len(rows)} documents_embeddings")
        if not rows:
            return self
        if self._index is None:
            if not (dims := [vectors.shape[1] for vectors in rows if vectors.ndim == 2]):
                raise ValueError("all documents are empty lists, hence there is no dimension: give arrays [0, d]")
            self._index = Index.create(dims[0], path=self.path, store=self._store)
            try:
                self._index.add(rows, ids)
            except BaseException:
                self._index.storage.discard_if_empty()
                self._index = None
                raise
        else:
            self._index.add(rows, ids, replace=True)
        return self

    def update_documents(self, documents_ids: Any, documents_embeddings: Any) -> Maxsieve:
        """The same as `add_documents`; PLAID has both."""
        return self.add_documents(documents_ids, documents_embeddings)

    def remove_documents(self, documents_ids: Any) -> Maxsieve:
        """Removes documents; unknown ids are ignored."""
        index = self.index
        index.delete(list(dict.fromkeys(doc_id for doc_id in _to_ids(documents_ids) if doc_id in index)))
        return self

    def __call__(
        self, queries_embeddings: Any, k: int = 10, subset: Any = None, **kwargs: Any
    ) -> list[list[dict[str, Any]]]:
        """The k best documents for each query, best first, as ``{"id": ..., "score": ...}``.

        ``subset`` is one list of ids for all queries, or a list for each; unknown ids are ignored.
        """
        index = self.index
        queries = _to_float_rows(queries_embeddings, "query")
        if subset is None:
            hits = index.search_many(queries, k, policy=self._policy)
        else:
            subsets = _to_subsets(subset, len(queries))
            try:
                hits = index.search_many(queries, k, policy=self._policy, candidates=subsets)
            except KeyError:  # an unknown id: they are filtered out only in this case, to keep the usual one fast
                known = {id(subset): [each for each in subset if each in index] for subset in subsets}
                subsets = [known[id(subset)] for subset in subsets]
                hits = index.search_many(queries, k, policy=self._policy, candidates=subsets)
        return [[_result(doc_id, value) for doc_id, value in found] for found in hits]

    def get_documents_embeddings(self, documents_ids: Iterable[Iterable[Id]]) -> list[list[FloatArray]]:
        """The stored vectors of documents, in the same nested lists as the ids; `KeyError` names an unknown id."""
        return [[self.index.vectors(doc_id) for doc_id in group] for group in documents_ids]


def rerank(
    documents_ids: Iterable[Iterable[Id]],
    queries_embeddings: Any,
    documents_embeddings: Any,
    device: Any = None,
) -> list[list[dict[str, Any]]]:
    """`pylate.rank.rerank` by maxsieve: for each query its documents, best first. ``device`` has no effect.

    Documents are not padded, so no row of zeros can win over negative similarities. Ties keep the order of the input. A
    document without tokens scores ``-inf``.
    """
    results = []
    for query, ids, embeddings in zip(
        _one_more_axis(queries_embeddings), documents_ids, _one_more_axis(documents_embeddings), strict=False
    ):
        listed, rows = list(ids), to_rows(embeddings, what="document")
        if len(listed) != len(rows):
            raise ValueError(f"there are {len(listed)} documents_ids for {len(rows)} documents_embeddings")
        (scores,) = score(to_rows([query], what="query"), rows, empty=-np.inf)
        order = np.argsort(-scores, kind="stable").tolist()
        values = scores.tolist()
        results.append([_result(listed[i], values[i]) for i in order])
    return results


def colbert_scores(
    queries_embeddings: Any,
    documents_embeddings: Any,
    queries_mask: Any = None,
    documents_mask: Any = None,
    backend: str | None = None,
) -> Any:
    """`pylate.scores.colbert_scores` by maxsieve: a float32 tensor [queries, documents]. ``backend`` has no effect.

    Rows that ``documents_mask`` excludes are left out. (The original multiplies by zero, and a zero can win over
    negative similarities.) Lists may be ragged. Gradients are not supported.
    """
    home = device_of(documents_embeddings) or device_of(queries_embeddings) or torch.device("cpu")
    queries = to_rows(queries_embeddings, queries_mask, what="query")
    documents = to_rows(documents_embeddings, documents_mask, what="document")
    return torch.from_numpy(score(queries, documents, empty=-np.inf)).to(home)


def _inside(folder: Path, name: str) -> Path:
    """The folder of an index; its name must not lead outside of ``index_folder``."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        raise ValueError(f"index_name must be a name inside index_folder, not {name!r}")
    return folder / name


def _to_ids(ids: Any) -> list[Id]:
    return [ids] if isinstance(ids, (str, int)) else list(ids)


def _to_subsets(subset: Any, queries: int) -> list[list[Id]]:
    listed = list(subset)
    if listed and isinstance(listed[0], (list, tuple, set, frozenset, np.ndarray)):
        if len(listed) != queries:
            raise ValueError(f"subset has {len(listed)} lists for {queries} queries")
        return [list(group) for group in listed]
    return [listed] * queries


def _to_float_rows(embeddings: Any, what: str) -> list[FloatArray]:
    return [from_buffer(rows) for rows in to_rows(embeddings, what=what)]


def _one_more_axis(embeddings: Any) -> Any:
    """A single query or document as a batch of one, as in PyLate."""
    return embeddings[None] if getattr(embeddings, "ndim", None) == 2 else embeddings


def _result(doc_id: Id, value: float) -> dict[str, Any]:
    return {"id": doc_id, "score": value}
