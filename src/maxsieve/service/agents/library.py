"""What an agent may search: the collections of a service and folders, by name. Nothing else is ever read."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from maxsieve.ids import Id
from maxsieve.service.document_routes import stored_document
from maxsieve.service.open_collections import name_of
from maxsieve.service.schemas import SearchBody
from maxsieve.service.search_routes import find
from maxsieve.service.service import Service
from maxsieve.text.collection.answers import guarantee_sentence
from maxsieve.text.encoders.encoder import Encoder
from maxsieve.text.grep.folder_search import FolderSearch
from maxsieve.text.grep.line_answer import LineAnswer, answer_by_lines

logger = logging.getLogger("maxsieve.service")


class Facts(NamedTuple):
    """What `collections` tells about a collection or a folder."""

    name: str
    kind: str
    documents: int
    state: str


class Library:
    """The collections of a service, and folders.

    A document of a collection is named by its id, a file of a folder by its path in it. A folder with a collection in
    the cache (with ``index``, any folder) is encoded in the background after many of its files have changed.
    """

    def __init__(
        self, service: Service, folders: Mapping[str, FolderSearch] | None = None, *, index: bool = False
    ) -> None:
        self.service, self._folders, self._index = service, dict(folders or {}), index
        self._indexing: dict[str, threading.Thread] = {}
        if both := set(self._folders) & set(service.collections):
            raise ValueError(f"a collection and a folder are both called {min(both)!r}: rename one of them")

    @property
    def names(self) -> list[str]:
        """The names of all collections and folders."""
        return [*self.service.collections, *self._folders]

    def named(self, name: str | None) -> str:
        """A name that is known; without one, the only collection or folder."""
        if name is None and len(self.names) == 1:
            return self.names[0]
        if name is None or name not in self.names:
            problem = "several collections are searched here: name one" if name is None else f"there is no {name!r}"
            raise KeyError(f"{problem}; the collections are: {', '.join(map(repr, self.names)) or 'none'}")
        return name

    async def search(self, name: str, query: str, k: int, where: dict[str, Any] | None) -> LineAnswer:
        """The k best passages for a query."""
        service = self.service
        if (folder := self._folders.get(name)) is not None:
            if where is not None:
                raise ValueError(f"where: {name} is a folder, which has no metadata to filter by")
            answer = await service.run_large(lambda: folder.answer(query, k))
            if not answer.indexed:
                self._begin_indexing(name, folder)
            return answer
        body = SearchBody.model_validate({"query": query, "k": k, "by": "passage", "where": where, "matches": False})
        _, found, _ = await find(name, body, service)
        hits = found.hits

        def by_lines() -> LineAnswer:
            with service.collections[name].using() as collection:
                listed = answer_by_lines(hits, collection.keys, explain=False)
            return LineAnswer(query, listed, guarantee_sentence(hits), [], indexed=True)

        return await service.run_in_thread(by_lines)

    async def text(self, name: str, id: Id) -> str:
        """The text of a document, in full."""
        service = self.service
        if (folder := self._folders.get(name)) is not None:
            return await service.run_large(lambda: folder.read(str(id)).text)
        return await service.run_large(lambda: str(stored_document(service.collections[name], str(id))["text"]))

    async def ids(self, name: str, start: int, count: int) -> list[Id]:
        """Some ids of a collection's documents or a folder's files, in order."""
        return await self.service.run_large(lambda: self._ids(name)[start : start + count])

    async def facts(self) -> list[Facts]:
        """What there is to be searched."""
        return await self.service.run_large(lambda: list(map(self._facts, self.names)))

    def _begin_indexing(self, name: str, folder: FolderSearch) -> None:
        """Brings the collection of a folder up to date meanwhile. It may be killed at any moment."""
        running = self._indexing.get(name)
        if (self._index or folder.collection_path.exists()) and (running is None or not running.is_alive()):
            self._indexing[name] = threading.Thread(target=_index, args=(folder,), daemon=True)
            self._indexing[name].start()

    def _ids(self, name: str) -> list[Id]:
        if (folder := self._folders.get(name)) is not None:
            return list(folder.ids())
        with self.service.collections[name].using() as collection:
            return collection.ids

    def _facts(self, name: str) -> Facts:
        if (folder := self._folders.get(name)) is not None:
            state = (
                "indexed" if folder.collection_path.exists() else "not indexed: BM25 selects, then passages are ranked"
            )
            return Facts(name, "folder", len(folder.ids()), state)
        with self.service.collections[name].using() as collection:
            writable = ", writable" if self.service.settings.writable else ""
            return Facts(name, "collection", len(collection), f"indexed{writable}")


def _index(folder: FolderSearch) -> None:
    try:
        folder.index()
    except Exception as problem:
        logger.error("%s was not indexed: %s", folder.folder, problem)


def named_folders(paths: Sequence[Path], encoder: Encoder) -> dict[str, FolderSearch]:
    """Folders by their names, which must differ."""
    found: dict[str, FolderSearch] = {}
    for path in paths:
        folder = FolderSearch(path, encoder)
        name = name_of(folder.folder)
        if name in found:
            raise ValueError(f"{found[name].folder} and {path} would both be called {name!r}: give one of them")
        found[name] = folder
    return found
