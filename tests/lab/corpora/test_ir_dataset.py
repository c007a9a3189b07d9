"""Corpora by name, with a tiny dataset put into ir_datasets' own registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from maxsieve.lab.corpora import CorpusWarning, read_corpus


class PlainDoc(NamedTuple):
    """A document of an ir_datasets before default texts."""

    doc_id: str
    title: str | None
    text: str


class TitledDoc(NamedTuple):
    doc_id: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


class Numbered(NamedTuple):
    query_id: int
    doc_id: int
    relevance: int


Register = Callable[..., str]


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """A function that registers documents, queries and judgements, and returns their name."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    monkeypatch.setenv("IR_DATASETS_TMP", str(tmp_path))
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries

    before = dict(ir_datasets.registry._registered)

    def register(docs: Any = None, queries: Any = None, qrels: Any = None, name: str = "maxsieve/tiny/test") -> str:
        parts: list[Any] = []
        for base, method, content in (
            (BaseDocs, "docs_iter", docs),
            (BaseQueries, "queries_iter", queries),
            (BaseQrels, "qrels_iter", qrels),
        ):
            if content is not None:
                parts.append(type("Part", (base,), {method: lambda self, content=content: iter(content)})())
        ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
        return name

    yield register
    ir_datasets.registry._registered.clear()
    ir_datasets.registry._registered.update(before)


@pytest.fixture
def forms(register: Register) -> Any:
    from ir_datasets import formats

    return formats


def test_a_dataset_is_read(register: Register, forms: Any) -> None:
    name = register(
        [TitledDoc("d1", "Tea", "A drink."), PlainDoc("007", None, " plain "), PlainDoc("7", "Title", "text")],
        [forms.GenericQuery("q1", "what is tea"), forms.GenericQuery("q2", "plain")],
        [forms.TrecQrel("q1", "d1", 2, "0"), forms.GenericQrel("q2", "007", 1)],
    )
    corpus = read_corpus(name)
    assert corpus.name == "maxsieve-tiny-test"
    assert list(corpus.documents.items()) == [("d1", "Tea A drink."), ("007", "plain"), ("7", "Title text")]
    assert corpus.queries == {"q1": "what is tea", "q2": "plain"}
    assert corpus.judgements == {"q1": {"d1": 2}, "q2": {"007": 1}}
    assert corpus.exclusions == {}
    assert read_corpus(f"ir_datasets:{name}") == corpus


def test_the_digest_is_of_name_and_version(register: Register, forms: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ([forms.GenericDoc("d", "x")], [forms.GenericQuery("q", "y")], [forms.GenericQrel("q", "d", 1)])
    one, other = register(*parts, name="maxsieve/one"), register(*parts, name="maxsieve/other")
    digest = read_corpus(one).digest
    assert read_corpus(other).digest != digest
    monkeypatch.setattr("ir_datasets.__version__", "0.0")
    assert read_corpus(one).digest != digest


def test_ids_are_text_here_too(register: Register, forms: Any) -> None:
    name = register(
        [PlainDoc(7, None, "same words"), PlainDoc(8, None, "x")],  # type: ignore[arg-type]
        [forms.GenericQuery("7", "same words")],
        [Numbered(7, 8, 1)],
    )
    corpus = read_corpus(name)
    assert (corpus.judgements, corpus.exclusions) == ({"7": {"8": 1}}, {"7": ["7"]})


def test_what_is_left_out_is_counted(register: Register, forms: Any) -> None:
    name = register(
        [forms.GenericDoc("d", "x")],
        [forms.GenericQuery("q", "y"), forms.GenericQuery("r", "z")],
        [forms.GenericQrel("q", "d", 1), forms.GenericQrel("q", "gone", 1), forms.GenericQrel("s", "d", 1)],
    )
    with pytest.warns(CorpusWarning) as caught:
        read_corpus(name)
    source = f"ir_datasets:{name}"
    assert sorted(str(one.message) for one in caught) == [
        f"{source}: 1 of 2 queries have no judgement; the first: 'r'",
        f"{source}: 1 of 3 judgements have an unknown document and are left out; the first: 'gone'",
        f"{source}: 1 of 3 judgements have an unknown query and are left out; the first: 's'",
    ]
    assert {one.filename for one in caught} == {__file__}


def test_what_is_wrong_is_said(register: Register, forms: Any) -> None:
    document, query = forms.GenericDoc("d", "x"), forms.GenericQuery("q", "y")
    qrels = [forms.GenericQrel("q", "d", 1)]
    with pytest.raises(ValueError, match=r"^maxsieve/docs .*qrels"):
        read_corpus(register([document], name="maxsieve/docs"))
    with pytest.raises(ValueError, match=r"maxsieve/twice: .*'d'"):
        read_corpus(register([document, document], [query], qrels, name="maxsieve/twice"))
    with pytest.raises(ValueError, match="maxsieve/none"):
        read_corpus(register([document], [], qrels, name="maxsieve/none"))


def test_what_can_not_be_fetched(register: Register) -> None:
    class Unreachable:
        def __iter__(self) -> Iterator[Any]:
            raise ConnectionError("no route to host")

    with pytest.raises(OSError, match="maxsieve/tiny/test: "):
        read_corpus(register(Unreachable(), [], []))


def test_an_unknown_name(register: Register, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'no/such'"):
        read_corpus("no/such")
    with pytest.raises(FileNotFoundError, match=r"\bmissing\b"):
        read_corpus(tmp_path / "missing")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match=r"\bfile is\b"):
        read_corpus(str(tmp_path / "file"))


def test_without_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ImportError, match=r"ir_datasets.*maxsieve\[lab\]"):
        read_corpus("beir/scifact/test")
