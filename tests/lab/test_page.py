"""The page is one file that needs no other, for any results."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.test_results import RESULT
from maxsieve.lab.page import html_page, markdown_page, slug
from maxsieve.lab.results import Column, ExperimentResult, Table, save

FACTS = {
    "machine": {"CPU": "Some <CPU>", "memory": "8 GiB"},
    "versions": {"maxsieve": "0.1.0"},
    "date": "2026-01-01",
    "command": "maxsieve lab report --corpus 'a & b'",
    "settings": {"dim": 8, "queries": None},
}
NASTY = "<script>alert(\"1\")</script> & 'x' `code` -->"
CHARTED = replace(RESULT, charts=RESULT.charts[:1], facts=FACTS)  # one chart: drawing is slow
RESULTS = [replace(CHARTED, experiment="margin"), CHARTED, replace(CHARTED, corpus="other")]


class Page(HTMLParser):
    """Reads a page, and fails if tags don't match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(html_page(RESULTS))


def test_ids_are_unique_and_links_lead_somewhere(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.seen if "id" in attributes]
    assert len(ids) == len({*ids})
    links = [value for _, attributes in page.seen for name, value in attributes.items() if name.endswith("href")]
    assert len(links) > 10
    assert {str(link) for link in links} <= {f"#{one}" for one in ids}
    clips = [str(value) for _, attributes in page.seen for value in attributes.values() if "url(" in str(value)]
    assert clips
    assert {clip.removeprefix("url(#").removesuffix(")") for clip in clips} <= {str(one) for one in ids}


def test_nothing_is_loaded_and_nothing_runs(page: Page) -> None:
    assert not {tag for tag, _ in page.seen} & {"script", "link", "img", "iframe", "object", "base", "form"}
    names = {name for _, attributes in page.seen for name in attributes}
    assert not {name for name in names if name.startswith("on") or name == "src"}
    assert {*re.findall(r"https?://[^\s\"<]+", page.source)} <= {"http://www.w3.org/1999/xlink"}
    assert not re.search(r"@import|url\((?!#)", page.source)


def test_everything_is_there(page: Page) -> None:
    headings = re.findall(r"<h[123][^>]*>(.*?)</h", page.source)
    assert [one for one in headings if one.startswith(("pareto: it", "pareto: other", "margin: it"))] == [
        "pareto: it",
        "pareto: other",
        "margin: it",
    ]
    assert len([tag for tag, _ in page.seen if tag == "svg"]) == 3
    for word in (
        "Some <CPU>",
        "0.1.0",
        "'a & b'",
        "12,345",
        "tab:wallclock_cpu",
        "One thread.",
        "It is fast.",
        "dim 8",
    ):
        assert word in page.text
    for word in ("Not reproducible here", "GPU", "Jina", "Granite", "REAL-MM-RAG", "2.7 million"):
        assert word in page.text
    assert page.text.count("Some <CPU>") == 1
    assert "queries None" not in page.text


@pytest.mark.parametrize("make", [html_page, markdown_page])
def test_what_was_found_stands_first(make: Callable[[list[ExperimentResult]], str]) -> None:
    text = make([replace(CHARTED, charts=[], remarks=["It is fast.", "And exact."])])
    first = text.index("It is fast.")
    assert text.index("In short") < first < text.index("One thread.")
    assert first < text.index("Measured on")
    again = text.index("It is fast.", first + 1)
    assert text.index("What was asked.") < again < text.index("And exact.") < text.index("12,345")
    assert "In short" not in make([replace(CHARTED, charts=[], remarks=[])])


def test_whatever_a_result_contains_is_text() -> None:
    table = Table(NASTY, [Column(NASTY)], [[NASTY]], NASTY, NASTY)
    chart = replace(RESULT.charts[0], title=NASTY, x_label=NASTY, name=NASTY)
    nasty = ExperimentResult(
        NASTY, NASTY, NASTY, [table], [chart], [NASTY], {"machine": {NASTY: NASTY}, "command": NASTY}
    )
    page = Page(html_page([nasty]))
    assert "script" not in {tag for tag, _ in page.seen}
    assert page.text.count("<script>alert(") >= 10
    assert {attributes.get("aria-label") for tag, attributes in page.seen if tag == "svg"} == {NASTY}


def test_the_same_results_give_the_same_page() -> None:
    assert html_page([CHARTED]) == html_page([CHARTED])


def test_an_empty_page() -> None:
    assert "Not reproducible here" in Page(html_page([])).text
    assert "Not reproducible here" in markdown_page([])


def test_markdown_links_and_images(tmp_path: Path) -> None:
    for result in RESULTS[1:]:
        save(result, tmp_path / "images")
    text = markdown_page(RESULTS[1:], "images")
    anchors = {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    links = re.findall(r"[^!]\[[^\]]*\]\(#([^)]*)\)", text)
    assert len(links) == 6
    assert {*links} <= anchors
    images = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert len(images) == 2
    assert all((tmp_path / image).is_file() for image in images)
    for word in ("Some <CPU>", "0.1.0", "'a & b'", "12,345", "Granite"):
        assert word in text
    assert "](pareto-it-k5.svg)" in markdown_page(RESULTS)
