"""Options that the lab's commands share, and the corpora that they name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

import typer

from maxsieve.cli.collections import open_collection
from maxsieve.cli.options import Threads
from maxsieve.cli.queries import read_queries
from maxsieve.lab import DIM
from maxsieve.text.encoders.encoder import MINILM
from maxsieve.text.inputs.reading import opened

if TYPE_CHECKING:
    from maxsieve.lab.dataset import Dataset
    from maxsieve.lab.experiments import Options

CORPORA = "MAXSIEVE_CORPORA"

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results are written.")]
DEFAULT_OUT = Path("lab-results")


class ExperimentOptions(NamedTuple):
    """What every command that runs experiments takes, in the order of its help."""

    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS",
            help="A folder in BEIR format, an .npz file of embeddings, or the name of a folder or file in "
            "MAXSIEVE_CORPORA or of a dataset in ir_datasets. Repeat the option for more.",
            show_default=False,
        ),
    ] = None
    collection: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="An existing collection, in place of a corpus.")
    ] = None
    vectors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Token vectors in a format of maxsieve export, in place of a corpus."),
    ] = None
    queries: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|FILE",
            help="N: use only the first N queries. FILE (with --collection and --vectors): the queries, one per "
            "line, id<TAB>text, JSON Lines, or vectors. Both may be given.",
            show_default="all",
        ),
    ] = None
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --collection and --vectors: relevance judgements.")
    ] = None
    encoder: Annotated[
        str | None,
        typer.Option(help="A model of `maxsieve model list`, a folder, or st:NAME.", show_default=MINILM),
    ] = None
    dim: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Reduce vectors to this many dimensions.",
            show_default=f"{DIM} for the paper's experiments, otherwise as maxsieve index",
        ),
    ] = None
    threads: Threads = None
    quick: Annotated[bool, typer.Option("--quick", help="Few queries and settings, for a quick check.")] = False

    @property
    def first(self) -> int | None:
        """How many queries to take."""
        return _only([int(word) for word in self.queries or () if word.isdecimal()], "--queries N")

    @property
    def query_file(self) -> str | None:
        """Where the queries are."""
        return _only([word for word in self.queries or () if not word.isdecimal()], "--queries FILE")

    def options(self, *, progress: bool) -> Options:
        """The options in the form that experiments expect."""
        from maxsieve.lab.experiments import Options

        return Options(self.first, self.threads, self.quick, progress)

    def datasets(self, *, progress: bool) -> list[Dataset]:
        """The corpora. Their names must differ, because results are named after them."""
        require_extra()
        self._check()
        found: dict[str, Dataset] = {}
        for dataset in self._read(progress=progress):
            if dataset.name in found:
                raise ValueError(f"there are two corpora called {dataset.name!r}: run them one by one")
            found[dataset.name] = dataset
        return list(found.values())

    def _check(self) -> None:
        """Refuses options that don't go together."""
        existing = self.collection or self.vectors
        if not self.corpus and not existing:
            raise typer.BadParameter("say what to run on: --corpus, --collection or --vectors")
        if self.first == 0:
            raise typer.BadParameter("--queries 0 leaves no query to run")
        if existing and self.query_file is None:
            raise typer.BadParameter("--collection and --vectors need queries: give --queries FILE")
        for option, given in (("--queries FILE", self.query_file), ("--qrels", self.qrels)):
            if given is not None and not existing:
                raise typer.BadParameter(f"{option} works only with --collection or --vectors: a corpus has its own")
        if self.dim is not None and existing:
            raise typer.BadParameter("--dim works only with --corpus: existing vectors keep their dimensions")

    def _read(self, *, progress: bool) -> Iterator[Dataset]:
        from maxsieve.exchange.formats import SUFFIXES
        from maxsieve.lab import dataset_sources as existing
        from maxsieve.lab.dataset import Dataset

        for name in dict.fromkeys(self.corpus or ()):
            yield Dataset.of(locate(name), encoder=self.encoder or MINILM, dim=self.dim, progress=progress)
        if self.collection is not None:
            open_collection(self.collection, self.encoder).close()  # says what to do if there is none
            yield existing.of_collection(
                self.collection, self._queries(), self.qrels, encoder=self.encoder, progress=progress
            )
        if self.vectors is not None:
            name = str(self.query_file)
            asked = name if Path(name).suffix.lower() in SUFFIXES else self._queries()
            yield existing.of_vectors(self.vectors, asked, self.qrels, encoder=self.encoder, progress=progress)

    def _queries(self) -> dict[str, str]:
        """The texts in the file of queries, by id."""
        name = str(self.query_file)
        with opened(name) as lines:
            return {query.id: query.text for query in read_queries(lines, name)}


T = TypeVar("T")


def _only(given: list[T], option: str) -> T | None:
    if len(given) > 1:
        raise typer.BadParameter(f"{option} is given {len(given)} times; give it once")
    return given[0] if given else None


def require_extra() -> None:
    """Reports missing packages at the start, not after an hour of encoding."""
    from maxsieve.common.optional import optional

    for module in ("matplotlib", "scipy", "jinja2"):
        optional(module, "lab")


def locate(name: str) -> str:
    """Looks a bare name up as a folder or ``.npz`` file in MAXSIEVE_CORPORA. Paths and other names stay as they are.

    >>> locate("./here"), locate("beir/scifact/test")
    ('./here', 'beir/scifact/test')
    """
    folder = os.environ.get(CORPORA)
    if folder and not Path(name).exists() and Path(name).name == name:
        for candidate in (Path(folder, name), Path(folder, f"{name}.npz")):
            if candidate.exists():
                return str(candidate)
    return name
