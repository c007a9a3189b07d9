"""The tools that collect the pages of the site and check the result."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "site"))

import check  # noqa: E402
import prepare  # noqa: E402


def test_examples_of_the_tools() -> None:
    found = doctest.testmod(prepare)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_page_has_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "PAGES", tmp_path / "pages")
    assert prepare.main() == 0, capsys.readouterr().err
    assert (tmp_path / "pages" / "project" / "changelog.md").is_file()


def test_a_page_without_a_place_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "new.md").write_text("# New\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nnav:\n  - Gone: gone.md\n  # - Later: later.md\n")
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    monkeypatch.setattr(prepare, "PAGES", tmp_path / "pages")
    assert prepare.main() == 1
    assert capsys.readouterr().err.splitlines() == [
        "new.md has no place in the nav of mkdocs.yml",
        "the nav of mkdocs.yml names gone.md, which is not there",
    ]


GOOD = '<p id="here"><a href="other.html#there">x</a> <a href="#here">y</a> <a href="https://example.org/">z</a></p>'


def site(folder: Path, page: str, style: str = "") -> Path:
    (folder / "index.html").write_text(page)
    (folder / "other.html").write_text('<h2 id="there">There</h2><img src="a.svg"><script src="a.js"></script>')
    (folder / "site.css").write_text(style)
    return folder


def test_a_good_site(tmp_path: Path) -> None:
    assert list(check.problems(site(tmp_path, GOOD))) == []
    assert check.outside(tmp_path) == ["https://example.org/"]


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<script src="//cdn.example/x.js"></script>', "loads //cdn.example/x.js"),
        ('<img src="http://example.org/x.png">', "loads http://example.org/x.png"),
        ('<link rel="preconnect" href="https://fonts.gstatic.com">', "loads https://fonts.gstatic.com"),
        ('<style>@import "https://example.org/x.css";</style>', "loads https://example.org/x.css"),
        ('<p style="background: url(https://example.org/x.png)">', "loads https://example.org/x.png"),
        ('<pre class="mermaid">', "loads https://unpkg.com/mermaid"),
        ('<a href="gone.html">', "links to gone.html: there is no such file"),
        ('<a href="other.html#gone">', "links to other.html#gone: there is no such place on that page"),
        ('<a href="#gone">', "links to #gone: there is no such place on that page"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, page: str, said: str) -> None:
    assert list(check.problems(site(tmp_path, GOOD + page))) == [f"index.html {said}"]


def test_styles_are_looked_at(tmp_path: Path) -> None:
    style = "p { background: url('https://example.org/x.png') }"
    assert list(check.problems(site(tmp_path, GOOD, style))) == ["site.css loads https://example.org/x.png"]


def test_an_empty_site_is_wrong(tmp_path: Path) -> None:
    assert re.match("there is no page", next(check.problems(tmp_path)))


def test_lists_are_lists_in_every_reader() -> None:
    """Some readers need an empty line between a paragraph and a list. Without it, they show one paragraph."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        found = re.findall(r"^(?![-*|>#<\s]|\d+\. )(.+)\n[-*] ", text, re.MULTILINE)
        assert not found, f"{page.name}: {found}"
