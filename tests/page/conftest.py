"""A running service, and a real browser with its page.

Tests here run if ``MAXSIEVE_CHROMIUM`` names a browser, as `make test-page` does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

CHROMIUM = os.environ.get("MAXSIEVE_CHROMIUM", "")
collect_ignore_glob = [] if CHROMIUM else ["test_*.py"]

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

TIMEOUT = 20_000
"""In milliseconds, for actions and for what is expected: a busy machine is slow, and not wrong."""
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "evil\u202etxt<img src=x onerror=document.title='owned'>"
HOSTILE_TEXT = (
    "<script>document.title='owned'</script> a \u202ereversed\u202c text with \x1b[31m colour and \U0001f98a a fox"
)
FILLER = "The garden has a wall, a gate and many quiet flowers in spring. " * 30
LONG = "\f".join(
    [FILLER, FILLER + "Green tea is brewed with water that does not boil.", FILLER, "Tea is kept dry.", FILLER]
)
NOTES = "Notes on tea\r\nGreen tea is brewed for two minutes.\r\n"
FACTS = [
    {"title": "A manual of tea", "folder": "manuals", "pages": 5},
    {"folder": "notes", "pages": 1, "draft": True},
    {"folder": "notes", "pages": 1, "tags": ["tea", "short"]},
]
STRICT = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Collections: docstrings, calibrated; a hostile one that is not; long files in folders; pages with pictures."""
    from maxsieve.cli.demo.docstrings import collect
    from maxsieve.text import Collection
    from text.made_pages import page_of

    folder = tmp_path_factory.mktemp("page")
    some = collect()[::5][:700]
    with Collection.create(folder / "docstrings", "minilm") as made:
        made.add([f"{one.name}\n{one.text}" for one in some], [one.name for one in some])
        made.calibrate()
    with Collection.create(folder / "hostile", "minilm") as made:
        made.add([HOSTILE_TEXT, "The fox and the grapes.", "A hare."], [HOSTILE, "fox", "hare"])
    with Collection.create(folder / "files", "minilm") as made:
        made.add([LONG, "Nobody brews tea here.", NOTES], ["manuals/tea.pdf", "a.md", "b.md"], FACTS)
    with Collection.create(folder / "slides", "minilm", pages=True) as made:
        made.add([page_of("the hungry fox and the grapes"), page_of("a hare")], ["fox.pdf#page=1", "fox.pdf#page=2"])
    return folder


@pytest.fixture(scope="session")
def service(folder: Path) -> Iterator[str]:
    """The address of a service that has all of them."""
    names = ("docstrings", "hostile", "files", "slides")
    with started(*(folder / name for name in names)) as address:
        yield address


@contextmanager
def started(*arguments: str | Path) -> Iterator[str]:
    """Starts a service as the command line does."""
    command = [sys.executable, "-m", "maxsieve.cli", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said += line
                if found := re.search(r"http://\S+?/", line):
                    yield found[0]
                    break
            else:
                pytest.fail(f"the service did not start: {said}")
        finally:
            process.terminate()
            process.communicate(timeout=30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, from the system."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=Path(CHROMIUM), args=ARGUMENTS)
        yield launched
        launched.close()


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(service: str, browser: Browser) -> Iterator[Open]:
    """Opens the page at an address. At the end, it must have an empty console, and no requests to other servers."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def strict(route: Route) -> None:
        """The page must work with the strictest policy, even if the service allows more."""
        answer = route.fetch()
        route.fulfill(response=answer, headers={**answer.headers, "content-security-policy": STRICT})

    def opened(
        address: str = "", *, at: str = service, motion: str = "reduce", expected: str = "", **options: object
    ) -> Page:
        """``expected`` is a pattern of console messages that are allowed."""
        host = urlsplit(at).netloc
        context = browser.new_context(reduced_motion=motion, **options)
        contexts.append(context)
        context.route(lambda url: urlsplit(url).path == "/", strict)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)

        def complain(said: str) -> None:
            if not (expected and re.search(expected, said)):
                problems.append(said)

        page.on("console", lambda message: complain(f"console: {message.text}"))
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("request", lambda request: urlsplit(request.url).netloc == host or complain(f"asked {request.url}"))
        page.goto(at + address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []
