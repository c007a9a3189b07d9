"""Pictures of the page for the README and docs/: `make screenshot` draws them, on the demo's docstrings.

The second one shows pages of a PDF, which the browser prints from docstrings of modules.
"""

from __future__ import annotations

import bisect
import fractions
import heapq
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from inspect import getdoc
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from playwright.sync_api import expect, sync_playwright

from maxsieve import Collection
from maxsieve.cli.demo import QUESTIONS, library
from maxsieve.text.pages.rendering import opened, to_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH, HEIGHT = 1280, 860
MOST_BYTES = 200_000
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MODULES = (heapq, bisect, fractions)
STEPS = {"q": QUESTIONS[3], "step": "1000"}  # the last step of the sieve
PAGES = {"collection": "pages", "q": "the smallest item comes first", "k": "5"}


def draw(chromium: str, folder: Path) -> None:
    """Starts the service, asks questions and takes the pictures."""
    collection, _ = library(progress=True)
    collection.close()
    with TemporaryDirectory() as made, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        pages = Path(made) / "pages"
        make_pages(browser, pages, MODULES)
        command = [sys.executable, "-m", "maxsieve.cli", "serve", "--port", "0", str(collection.path), str(pages)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            try:
                assert service.stderr is not None
                address = next(found[0] for line in service.stderr if (found := re.search(r"http://\S+?/", line)))
                take(browser, address, STEPS, "#caption:not(:empty)", folder / "page.png")
                take(browser, address, PAGES, "canvas.page-picture[data-drawn]", folder / "page-of-a-pdf.png")
            finally:
                service.terminate()
        browser.close()


def make_pages(browser: Browser, path: Path, modules: Sequence[ModuleType]) -> None:
    """A collection of pages of a PDF, with the docstring of a module on each."""
    page = browser.new_page()
    texts = (f"<h1>{one.__name__}</h1>{escape(getdoc(one) or '')}" for one in modules)
    sheets = "".join(f"<article>{text}</article>" for text in texts)
    page.set_content(f"<style>article {{ break-after: page; white-space: pre-wrap; font: 15px serif }}</style>{sheets}")
    with opened(io.BytesIO(page.pdf(format="A4")), ".pdf") as source:
        found = [to_page(source.render(number), source.text(number)) for number in range(len(modules))]
    page.close()
    with Collection.create(path, "minilm", pages=True) as made:
        made.add(found, [f"modules.pdf#page={number + 1}" for number in range(len(modules))])


def take(browser: Browser, address: str, asked: dict[str, str], shown: str, path: Path) -> None:
    """Takes a picture of an answer, when something is shown."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
    page.goto(f"{address}?{urlencode(asked)}")
    expect(page.locator(shown).first).to_be_visible(timeout=60_000)
    page.screenshot(path=path)
    page.close()
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path} has {size:,} bytes: more than {MOST_BYTES:,}")
    print(f"drawn into {path}, {size:,} bytes")


if __name__ == "__main__":
    draw(os.environ["MAXSIEVE_CHROMIUM"], Path(sys.argv[1]))
