"""The picture of the page in the README: `make screenshot` draws docs/page.png, on the demo's docstrings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import expect, sync_playwright

from maxsieve.cli.demo import QUESTIONS, library

WIDTH, HEIGHT = 1280, 860
MOST_BYTES = 200_000
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ASKED = {"q": QUESTIONS[3], "step": "1000"}  # the last step


def draw(chromium: str, path: Path) -> None:
    """Starts the service, asks a question and takes the picture."""
    collection, _ = library(progress=True)
    collection.close()
    command = [sys.executable, "-m", "maxsieve.cli", "serve", "--port", "0", str(collection.path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service, sync_playwright() as playwright:
        try:
            assert service.stderr is not None
            address = next(found[0] for line in service.stderr if (found := re.search(r"http://\S+?/", line)))
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
            page.goto(f"{address}?{urlencode(ASKED)}")
            expect(page.locator("#caption")).not_to_be_empty(timeout=60_000)
            page.screenshot(path=path)
            browser.close()
        finally:
            service.terminate()
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path} has {size:,} bytes: more than {MOST_BYTES:,}")
    print(f"drawn into {path}, {size:,} bytes")


if __name__ == "__main__":
    draw(os.environ["MAXSIEVE_CHROMIUM"], Path(sys.argv[1]))
