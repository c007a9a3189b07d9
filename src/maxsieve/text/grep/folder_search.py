"""Searches the files of a folder: at once, or in a collection of them in the cache that follows the folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path

from maxsieve.common.cache import cache_folder
from maxsieve.errors import IndexLockedError, MaxsieveError
from maxsieve.policies import Calibrated, Policy
from maxsieve.storage.calibration import queries_needed
from maxsieve.text.collection.answers import guarantee_sentence
from maxsieve.text.collection.collection import Collection
from maxsieve.text.collection.hits import TextHit
from maxsieve.text.collection.rerank import rerank_vectors
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, Encoder, Measuring, load_encoder
from maxsieve.text.grep.first_answer import select_passages, spelled_out
from maxsieve.text.grep.line_answer import LineAnswer, LineHit, answer_by_lines, to_hit
from maxsieve.text.grep.order import DEPTH, SAID, by_both, is_ordered_by_both, one_per_heading
from maxsieve.text.grep.pattern import Pattern
from maxsieve.text.inputs.definitions import missing_grammars
from maxsieve.text.inputs.document import BadInput, InputDocument
from maxsieve.text.inputs.files import read_file, source_outline
from maxsieve.text.inputs.grammars import GRAMMARS
from maxsieve.text.inputs.isolated import READERS, IsolatedReader
from maxsieve.text.inputs.outline import Outline
from maxsieve.text.inputs.survey import Survey, survey
from maxsieve.text.passages import Document, Keys, Passage, Splitter, guess_tokens, sizes_for
from maxsieve.text.sync.folder_sync import FolderSync, check_folder
from maxsieve.text.sync.run import Synced

SHORT = {"whole": 128, "passage": 128, "overlap": 16}
"""Tokens of passages without a collection: about a function. They are guessed, because to count them takes longer."""

FOLDERS = "folders"
"""Where in the cache the collections of folders are."""

SOON = 60_000
"""Files with so many bytes in total are added to the collection before a search, because that takes few seconds."""

LARGE = 10_000
"""A collection with so many passages is calibrated: then a search reads few of them, where exact search reads all."""

CALIBRATED = Calibrated(0.99)

MOST_NAMED = 3
"""How many of the files that were left out are named."""

DEEPER = 4
"""When too few hits contain a pattern, this many times more are searched for."""


class FolderSearch:
    """Answers questions about the files below a folder. Links that lead out of the folder are not followed.

    folder
        the folder.
    encoder
        an encoder, or a name for `load_encoder`; it is loaded when it is first needed.

    Without a collection, the passages that BM25 selects are encoded for each question. `index` makes a collection of
    all passages in the cache. It is used as long as it has all files as they are now: few changes are added before the
    next answer, after many changes `index` must be called again.
    """

    def __init__(self, folder: str | os.PathLike[str], encoder: str | Encoder = DEFAULT_ENCODER) -> None:
        if Path(folder).is_file():
            raise NotADirectoryError(f"{folder} is a file: name the folder that it is in")
        self.folder = check_folder(folder)
        self.left_out: list[str] = []
        """What the last `index` left out, in sentences: large files, and those that can't be read."""
        self._given = encoder

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of questions and passages."""
        return load_encoder(self._given) if isinstance(self._given, str) else self._given

    @property
    def collection_path(self) -> Path:
        """Where the collection of this folder is, if there is one."""
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        name = re.sub(r"[^\w.-]", "-", self.folder.name)[:50] or "root"
        return cache_folder() / FOLDERS / f"{name}-{digest}.ms"

    def ids(self, types: Sequence[str] = ()) -> list[str]:
        """The paths of all files that are searched, in the folder; with types, only those with these suffixes."""
        return self._ids(self._survey(), types)

    def read(self, id: str) -> InputDocument:
        """A file by its path in the folder; `KeyError` for a path that is not among its files."""
        path = Path(self.folder, id)
        if id not in self.ids():
            raise KeyError(f"there is no file {id!r} in {self.folder.name}")
        with IsolatedReader() as reader:
            document = read_file(path, id, reader, parsed=False)
        if isinstance(document, BadInput):
            raise document
        return document

    def index(self, *, progress: bool = False) -> Synced:
        """Makes or updates the collection of this folder. After an interruption, call it again to continue."""
        path = self.collection_path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            collection = Collection.open(path, self._given_object) if path.exists() else None
        except (MaxsieveError, OSError, ValueError):
            shutil.rmtree(path)  # it is a cache: what can't be read is made again
            collection = None
        with collection or Collection.create(path, self.encoder) as opened:
            sync = self._sync(opened)
            done = sync.run(progress=progress)
            large = [] if sync.survey is None else sync.survey.large
            self.left_out = self._named([*large, *sync.problems])
            if not opened.calibrated and len(opened.index) >= LARGE:
                with suppress(ValueError):  # no sentences to calibrate on: searches stay exact
                    opened.calibrate(progress=progress)
        return done

    def answer(
        self, question: str, k: int = 10, *, types: Sequence[str] = (), pattern: Pattern | None = None
    ) -> LineAnswer:
        """The k best passages for a question, in files of these types, that contain the pattern."""
        remarks: list[str] = []
        with self._in_step(remarks) as collection:
            if collection is None:
                return self._answer_now(question, k, types, pattern, remarks)
            return self._answer_indexed(collection, question, k, types, pattern, remarks)

    def _answer_now(
        self, question: str, k: int, types: Sequence[str], pattern: Pattern | None, remarks: list[str]
    ) -> LineAnswer:
        """Among the passages that BM25 selects."""
        found = self._survey()
        ids = self._ids(found, types)
        plain = [id for id in ids if not id.lower().endswith(tuple(READERS))]
        if others := len(ids) - len(plain):
            what = "file of another kind, such as PDF, is" if others == 1 else "files of other kinds, such as PDF, are"
            remarks.append(f"{others:,} {what} searched only in an index")
        if not ids:
            kind = " of these types" if types else ""
            nothing = f"nothing was searched: {self.folder.name} has no file{kind} with text or source code"
            return LineAnswer(question, [], nothing, [*remarks, *found.said], indexed=False)
        if lost := missing_grammars([Path(id).suffix.lower() for id in plain]):
            remarks.append(lost)
        split = Splitter(sizes_for(self.encoder)._replace(**SHORT), guess_tokens)
        count = self.encoder.count_tokens if isinstance(self.encoder, Measuring) else guess_tokens
        bad = {problem.place.source: problem for problem in found.large if _is_of(problem.place.source, types)}
        with IsolatedReader() as reader:

            def read(id: str) -> InputDocument | None:
                document = read_file(self.folder / id, id, reader, parsed=False)
                if isinstance(document, BadInput):
                    bad[id] = document
                    return None
                return document

            chosen = select_passages(
                plain,
                read,
                lambda document: split(document.text, document.metadata, _outline(document, reader)),
                count,
                question,
                pattern,
            )
        remarks += self._named(bad.values())
        if not chosen.passages:
            also = "" if pattern is None else " and contains the pattern"
            where = f"in {_counted(chosen.files, 'file')} no passage shares a word with the question{also}"
            return LineAnswer(
                question, [], f"no guarantee: {where}", remarks, indexed=False, files=chosen.files + others
            )
        [rows] = self.encoder.encode_queries([question])
        numbered = [
            (document._replace(id=place), spelled_out(passage))
            for place, (document, passage) in enumerate(chosen.passages)
        ]
        vectors = self.encoder.encode_documents([passage.encoded for _, passage in numbered])
        ranked = rerank_vectors(
            question, rows, numbered, vectors, len(numbered), None, self.encoder, Keys(passages=False)
        )
        best = by_both(ranked) if is_ordered_by_both(self.encoder) else ranked

        def owner(hit: TextHit) -> tuple[Document, Passage]:
            return chosen.passages[int(hit.id)]

        distinct = one_per_heading(iter(best), lambda hit: (owner(hit)[0].id, owner(hit)[1].heading))
        hits = [_to_hit(hit, *owner(hit)) for hit in islice(distinct, k)]
        guarantee = (
            f"{ranked.report.guarantee} among the {_counted(len(numbered), 'passage')} that BM25 selected from "
            f"{_counted(chosen.files, 'file')}; no guarantee for other passages"
        )
        return LineAnswer(question, hits, guarantee, remarks, indexed=False, files=chosen.files + others)

    def _answer_indexed(
        self,
        collection: Collection,
        question: str,
        k: int,
        types: Sequence[str],
        pattern: Pattern | None,
        remarks: list[str],
    ) -> LineAnswer:
        """Among all passages of the collection."""
        candidates = None
        if types or pattern is not None:
            candidates = [str(id) for id in collection.ids if _is_of(str(id), types)]
        ordered = is_ordered_by_both(collection.encoder)
        wanted = max(k, DEPTH)
        while True:
            policy = _policy(collection, wanted) if candidates is None else None
            found = collection.search(question, wanted, by="passage", candidates=candidates, policy=policy)
            best = by_both(found) if ordered else found
            matching = (hit for hit in best if pattern is None or pattern.occurs_in(hit.text))
            hits = list(islice(one_per_heading(matching, lambda hit: (hit.id, hit.passage.heading)), k))
            if len(hits) >= k or len(found) < wanted:
                break
            wanted *= DEEPER
        guarantee = guarantee_sentence(found, policy)
        if ordered and len(found):
            guarantee += f"; the best {len(found):,} by late interaction are {SAID}"
        lines = answer_by_lines(best, collection.keys, hits)
        return LineAnswer(question, lines, guarantee, remarks, indexed=True, files=found.n_documents)

    @contextmanager
    def _in_step(self, remarks: list[str]) -> Iterator[Collection | None]:
        """The collection of this folder, if it has all files as they are now."""
        path = self.collection_path
        if not path.exists():
            yield None
            return
        try:
            collection = Collection.open(path, self._given_object, load_soon=True)
        except (MaxsieveError, OSError, ValueError) as problem:
            remarks.append(f"the index of this folder can't be used, and was not: {problem}")
            yield None
            return
        with collection:
            yield collection if self._bring_in_step(collection, remarks) else None

    def _bring_in_step(self, collection: Collection, remarks: list[str]) -> bool:
        """Adds a few changes of the folder to the collection; False if it is not up to date."""
        sync = self._sync(collection)
        files, size = sync.changes()
        if not files:
            return True
        if size <= SOON:
            try:
                sync.run()
                return True
            except (IndexLockedError, ValueError) as problem:
                remarks.append(f"the index of this folder was not used: {problem}")
                return False
        remarks.append(f"the index of this folder was not used: {files:,} files have changed since it was made")
        return False

    def _survey(self) -> Survey:
        return survey(self.folder, refused=lambda _: None, inside=True)

    def _ids(self, found: Survey, types: Sequence[str]) -> list[str]:
        return [file.id for file in found.files if _is_of(file.id, types)]

    def _named(self, problems: Iterable[BadInput]) -> list[str]:
        """A sentence about files that were left out, if there are any."""
        named = [f"{os.path.relpath(one.place.source, self.folder)} ({one.problem})" for one in problems]
        more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
        return [f"left out: {', '.join(named[:MOST_NAMED])}{more}"] if named else []

    def _sync(self, collection: Collection) -> FolderSync:
        return FolderSync(collection, self.folder, inside=True, allow_deletes=True)

    @property
    def _given_object(self) -> Encoder | None:
        """The encoder, unless it is one that a collection loads by itself."""
        return None if self._given == DEFAULT_ENCODER else self.encoder


def _policy(collection: Collection, wanted: int) -> Policy | None:
    """How a collection is searched for so many hits: calibrated, if that was prepared; or exactly."""
    calibration = collection.index.storage.snapshot.calibration
    if calibration is None or wanted > calibration.wanted:
        return None
    return CALIBRATED if calibration.n_queries >= queries_needed(CALIBRATED.target) else None


def _to_hit(hit: TextHit, document: Document, passage: Passage) -> LineHit:
    return to_hit(document.id, document.text, passage, hit.score, hit.explain())


def _outline(document: InputDocument, reader: IsolatedReader) -> Outline | None:
    """The outline of a file that was read without being parsed: thousands of files are read, and few are split."""
    suffix = Path(str(document.id)).suffix.lower()
    return source_outline(document.text, suffix, reader) if suffix in GRAMMARS else document.outline


def _counted(count: int, what: str) -> str:
    """A number of things.

    >>> _counted(1, "file"), _counted(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _is_of(name: str, types: Iterable[str]) -> bool:
    """Whether a file has one of these types: suffixes, with or without the dot.

    >>> _is_of("a.py", ["py"]), _is_of("a.py", [".md"]), _is_of("a.py", [])
    (True, False, True)
    """
    suffixes = tuple(f".{suffix.removeprefix('.').lower()}" for suffix in types)
    return not suffixes or name.lower().endswith(suffixes)
