"""The documentation site in a browser, opened from disk: search and copy buttons work, without any network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"


@pytest.fixture(scope="module")
def site() -> str:
    """The address of its first page. It is built if `make docs` has not done so."""
    if not (SITE / "index.html").is_file():
        subprocess.run([sys.executable, "tools/site/prepare.py"], cwd=ROOT, check=True)
        build = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--config-file", "mkdocs.yml"]
        subprocess.run(build, cwd=ROOT, check=True)
    return (SITE / "index.html").as_uri()


def test_search_works_from_disk(site: str, browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(site)
    page.get_by_role("button", name="Search").first.click()
    box = page.get_by_placeholder("Search").last
    box.press_sequentially("recalibrate", delay=50)  # letter by letter, as people type: each letter starts a search
    page.wait_for_timeout(200)
    assert box.input_value() == "recalibrate"
    page.get_by_role("option").filter(has_text="recalibrate").first.click()
    page.wait_for_url("**/reference/*.html*recalibrate*")
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not errors
    page.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_chart_is_shown(site: str, browser: Browser, colours: str) -> None:
    page = browser.new_page(color_scheme=colours)
    page.goto(site.replace("index.html", "performance.html"))
    chart = page.get_by_role("img", name="Time against overlap on SciFact")
    assert chart.evaluate("image => image.complete && image.naturalWidth > 0")
    assert (chart.evaluate("image => getComputedStyle(image).filter") != "none") == (colours == "dark")
    page.close()


def test_copying_leaves_out_prompts_and_outputs(site: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(site)
    page.evaluate(
        """() => document.addEventListener("copy", event => {
            window.copied = document.getSelection().toString() || event.target.value
        }, true)"""
    )
    console = page.locator(".highlight:has(.gp)").filter(has_text="make wheel")
    session = page.locator(".highlight:has(.go)").filter(has_text="fables.add(").first
    for block, least in ((console, 3), (session, 5)):
        page.evaluate("window.copied = null")
        block.locator("code").hover()
        block.locator("button").click()
        page.wait_for_function("window.copied !== null")
        shown, copied = block.locator("code").inner_text(), page.evaluate("window.copied")
        commands = re.findall(r"^(?:\$|>>>|\.\.\.) (.*)$", shown, re.MULTILINE)
        assert len(commands) >= least
        assert [line for line in copied.splitlines() if line] == commands
    page.close()
