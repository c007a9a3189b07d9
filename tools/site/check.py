"""Checks the built site: nothing is loaded from other sites, and every link inside it has a target.

    python tools/site/check.py build/site

Links to other sites are not followed. They are listed in build/site-links.txt.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LOADING = {"src", "srcset", "poster", "data"}
"""Attributes whose value a browser loads by itself."""
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest", "prefetch"}
ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


class Page(HTMLParser):
    """What one page loads, links to, and its link targets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = {"", "__top"}
        self.loads += IN_STYLES.findall(text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.loads += [value for name, value in given.items() if name in LOADING and tag != "a"]
        if tag == "link" and set(given.get("rel", "").lower().split()) & LOADED_LINKS:
            self.loads.append(given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
        if "mermaid" in given.get("class", "").split():
            self.loads.append("https://unpkg.com/mermaid")  # the theme would load it for such an element


def problems(site: Path) -> Iterator[str]:
    """What is wrong, in sentences."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"there is no page in {site}"
    for style in site.rglob("*.css"):
        for found in IN_STYLES.findall(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)} loads {found}"
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        yield from (f"{name} loads {one}" for one in page.loads if ELSEWHERE.match(one.strip()))
        if path.name == "404.html":
            continue  # its links start at the root, at any address
        for link in page.links:
            if not re.match(r"[a-z][a-z0-9+.-]*:|//", link, re.IGNORECASE):
                yield from (f"{name} links to {link}: {wrong}" for wrong in _wrong(path, link, pages))


def _wrong(path: Path, link: str, pages: dict[Path, Page]) -> Iterator[str]:
    """Why a link inside the site has no target."""
    to, anchor = urldefrag(link)
    target = (path.parent / unquote(to)).resolve() if to else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        yield "there is no such file"
    elif target in pages and unquote(anchor) not in pages[target].anchors:
        yield "there is no such place on that page"


def outside(site: Path) -> list[str]:
    """Links to other sites."""
    found = {link for path in site.rglob("*.html") for link in Page(path.read_text(encoding="utf-8")).links}
    return sorted(link for link in found if ELSEWHERE.match(link))


def main(site: Path) -> int:
    """Says what is wrong; the exit status."""
    site = site.resolve()
    found = list(problems(site))
    for sentence in found:
        print(sentence, file=sys.stderr)
    links = outside(site)
    site.with_name("site-links.txt").write_text("".join(f"{link}\n" for link in links), encoding="utf-8")
    pages = len(list(site.rglob("*.html")))
    print(f"{pages} pages, {len(found)} problems; {len(links)} links to other sites are listed in site-links.txt")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
