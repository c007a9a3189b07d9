"""Every snippet of docs/adapters.md runs, in the environment that has its package: one test for each section."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
from pathlib import Path
from typing import Any

import pytest
from environments import environment_of

from maxsieve import Collection
from maxsieve.text import fetch_model

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "adapters.md"
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!## ).*\n?)*)", re.MULTILINE)
FENCED = re.compile(r"^```(?P<kind>.*)\n(?P<code>(?:(?!```).*\n)*)```$", re.MULTILINE)

SECTIONS = {found["title"]: found for found in SECTION.finditer(PAGE.read_text())}
HERE_TESTED = [title for title in SECTIONS if environment_of(title) == os.environ.get("MAXSIEVE_ADAPTERS")]


def stem_of(title: str) -> str:
    """The file of a section. Those whose titles are the same before a colon share one.

    >>> stem_of("First stages: fast-plaid")
    'first_stages'
    """
    return re.sub(r"[^a-z0-9]+", "_", title.partition(":")[0].lower()).strip("_")


def names_for(title: str) -> dict[str, Any]:
    """What a section assumes (a model, texts): `names()` of its file in snippets, or nothing."""
    stem = stem_of(title)
    path = HERE / "snippets" / f"{stem}.py"
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(f"snippets_{stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names: dict[str, Any] = module.names()
    return names


@pytest.mark.parametrize("title", HERE_TESTED)
def test_section(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = SECTIONS[title]["text"]
    for block in FENCED.finditer(text):
        assert not block["kind"].startswith("py") or block["code"].startswith(">>> "), f"not run: {block['code']}"
    # The fence that ends a snippet would be taken for expected output.
    code = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    line = PAGE.read_text()[: SECTIONS[title].start("text")].count("\n")
    example = doctest.DocTestParser().get_doctest(code, names_for(title), title, str(PAGE), line)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(example, out=said.append).failed == 0, "".join(said)


def test_every_name_for_a_section_is_used() -> None:
    assert {path.stem for path in (HERE / "snippets").glob("*.py")} <= {stem_of(title) for title in SECTIONS}


@pytest.mark.skipif(os.environ.get("MAXSIEVE_ADAPTERS") != "together", reason="LangChain is in another environment")
def test_the_recipe_over_pdfs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fetch_model("minilm")
    parts = [f"The filter of pump {n} must be changed every {n} months. " * 40 for n in range(1, 7)]
    with Collection.create("manuals.ms", "minilm") as collection:
        collection.add(["\f".join(parts), "Short."], ["pump.pdf", "note.pdf"])
    [block] = FENCED.finditer((PAGE.parent / "how-to" / "rag.md").read_text())
    exec(block["code"], {"__name__": "recipe"})
    shown = capsys.readouterr().out
    assert [f"[{number}] pump.pdf" in shown for number in range(1, 6)] == [True] * 5
    assert "Question: how often must the filter be changed?" in shown
