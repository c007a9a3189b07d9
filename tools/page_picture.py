"""Draws the picture of docs/how-to/pdf.md: a page, found by its words, with the matches marked.

`.venv/bin/python tools/page_picture.py docs/page-match.png`
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw

import maxsieve as ms
from maxsieve.text.inputs.isolated import IsolatedReader

TEXT = """How to make tea

Green tea steeps for two minutes at 75 degrees; longer, and it
turns bitter. Black tea takes four minutes and boiling water.

Milk goes in last, once the tea is dark enough to judge. People who
pour the milk first can't see how strong the tea is.

Leaves may be used twice. The second pot needs a minute more."""


def main(target: Path) -> None:
    """Writes a scan, indexes it, searches it, and saves the picture of the hit."""
    scan = Image.new("L", (1240, 640), 250)
    ImageDraw.Draw(scan).multiline_text((90, 70), TEXT, fill=30, font_size=30, spacing=14)
    with tempfile.TemporaryDirectory() as folder, IsolatedReader(ocr=True) as reader:
        content = io.BytesIO()
        scan.rotate(0.5, Image.Resampling.BICUBIC, fillcolor=250).save(content, "PNG")
        Path(folder, "tea.png").write_bytes(content.getvalue())
        [page] = reader.pages(Path(folder, "tea.png"), ".png")
        with ms.Collection.create(f"{folder}/it.ms", "minilm", pages=True) as collection:
            collection.add([page], ["tea.png"])
            image = collection.search("when to pour milk into strong tea")[0].picture()
    image.resize((image.width * 2 // 3, image.height * 2 // 3)).save(target, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
