"""The text of messages (.eml) and of notebooks (.ipynb)."""

from __future__ import annotations

import io
import json
from email import message_from_binary_file, policy
from itertools import islice
from typing import Any, BinaryIO

from maxsieve.text.inputs.blocks import Blocks
from maxsieve.text.inputs.document import LARGEST_FILE, MOST_VALUES, TOO_MANY_VALUES, FileText
from maxsieve.text.inputs.markup import markdown_headings
from maxsieve.text.inputs.outline import MOST_HEADINGS
from maxsieve.text.inputs.webpage import read_webpage

MOST_PARTS = 1_000
"""How many parts of a message are looked at."""


def read_message(file: BinaryIO) -> FileText:
    """Who wrote to whom, when and about what; then the text of a message. Attachments are named, not read."""
    content = _content(file)
    message: Any = message_from_binary_file(io.BytesIO(content), policy=policy.default)
    blocks = Blocks()
    subject = str(message["subject"] or "")
    blocks.heading(1, subject)
    blocks.add("\n".join(f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Date") if message[name]))
    body = message.get_body(("plain", "html"))
    if body is not None:
        text = body.get_content()
        blocks.insert(read_webpage(io.BytesIO(text.encode()))) if body.get_content_subtype() == "html" else blocks.add(
            text
        )
    names = [part.get_filename() for part in islice(message.walk(), MOST_PARTS)]
    if attached := ", ".join(name for name in names if name):
        blocks.add(f"Attachments: {attached}")
    return blocks.end(subject)


def read_notebook(file: BinaryIO) -> FileText:
    """The cells of a notebook, without outputs: Markdown as it is, code in fences."""
    content = _content(file)
    if content.count(b",") + content.count(b"[") + content.count(b"{") > MOST_VALUES:
        raise ValueError(TOO_MANY_VALUES)
    notebook = json.loads(content)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells: it is not a notebook of version 4")
    blocks = Blocks()
    for cell in cells:
        source = cell.get("source") if isinstance(cell, dict) else None
        text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source
        if not isinstance(text, str) or not text.strip():
            continue
        if cell.get("cell_type") == "markdown":
            blocks.insert(FileText(text, "", list(islice(markdown_headings(text), MOST_HEADINGS))))
        elif cell.get("cell_type") == "code":
            blocks.add(f"```\n{text.strip()}\n```")
    return blocks.end("")


def _content(file: BinaryIO) -> bytes:
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"it is larger than {LARGEST_FILE} bytes, the limit")
    return content
