"""Gathers the pages of the site in build/pages: those of docs/, and the documents in the root of the repository.

    python tools/site/prepare.py

The latter are read beside the code, so their links lead from the root (``docs/text.md``, ``CONTRIBUTING.md``); here
they get the place of the page. A page without a place in the `nav` of mkdocs.yml ends it.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "build" / "pages"
FOLDER = "project"
LEFT_OUT = {"README.md"}
"""The first page of the site says the same in other words."""
LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<to>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")


def main() -> int:
    """Collects the pages; the exit status."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    for page in PAGES.rglob("*.md"):
        depth = len(page.relative_to(PAGES).parts) - 1
        page.write_text(as_sessions(from_docs(page.read_text("utf-8"), depth)), "utf-8")
    (PAGES / FOLDER).mkdir()
    for path in ROOT.glob("*.md"):
        if path.name not in LEFT_OUT:
            (PAGES / place_of(path.name)).write_text(as_sessions(from_root(path.read_text("utf-8"))), "utf-8")
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = set(re.findall(r"^ *- (?:[^#\n]*: )?([\w/-]+\.md)$", nav, re.MULTILINE))
    there = {page.relative_to(PAGES).as_posix() for page in PAGES.rglob("*.md")}
    for name in sorted(there - named):
        print(f"{name} has no place in the nav of mkdocs.yml", file=sys.stderr)
    for name in sorted(named - there):
        print(f"the nav of mkdocs.yml names {name}, which is not there", file=sys.stderr)
    return 1 if there != named else 0


def place_of(name: str) -> str:
    """Where a document of the root is in the site.

    >>> place_of("CHANGELOG.md")
    'project/changelog.md'
    """
    return f"{FOLDER}/{name.lower()}"


def as_sessions(text: str) -> str:
    r"""A page whose examples with prompts are marked as such: the copy button leaves out prompts and outputs.

    >>> as_sessions("```python\n>>> 1 + 1\n2\n```")
    '```pycon\n>>> 1 + 1\n2\n```'
    """
    return text.replace("```python\n>>> ", "```pycon\n>>> ")


def from_docs(text: str, depth: int) -> str:
    """The text of a page so deep in docs/, with links to documents of the root that lead to their pages.

    >>> from_docs("[how](../../CONTRIBUTING.md#rules), [text](../text.md)", 1)
    '[how](../project/contributing.md#rules), [text](../text.md)'
    """
    up = "../" * depth
    return re.sub(rf"\]\({re.escape(up)}\.\./(\w+\.md)(?=[#)])", lambda found: f"]({up}{place_of(found[1])}", text)


def from_root(text: str) -> str:
    """The text of a document of the root, with links that lead from its place in the site.

    >>> from_root("[a](docs/text.md#filters), [b](CHANGELOG.md), [c](native/kernels), [d](https://example.org)")
    '[a](../text.md#filters), [b](changelog.md), c (`native/kernels`), [d](https://example.org)'
    """
    return LINK.sub(_moved, text)


def _moved(found: re.Match[str]) -> str:
    mark, text, to, anchor = found["mark"], found["text"], found["to"], found["anchor"] or ""
    if not to or ":" in to:
        return found[0]
    if to.startswith("docs/"):
        return f"{mark}[{text}]({posixpath.relpath(to.removeprefix('docs/'), FOLDER)}{anchor})"
    if re.fullmatch(r"\w+\.md", to) and to not in LEFT_OUT:
        return f"[{text}]({to.lower()}{anchor})"
    return text if text.strip("`") == to else f"{text} (`{to}`)"


if __name__ == "__main__":
    sys.exit(main())
