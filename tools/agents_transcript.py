"""Writes the transcript of docs/agents.md: what a client of the official SDK asks, and what it is answered.

    python tools/agents_transcript.py            # writes it
    python tools/agents_transcript.py --print    # only prints it

The client starts `maxsieve mcp` on the folder src/maxsieve/text, in an empty cache of its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from textwrap import wrap

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from maxsieve.common.cache import cache_folder

ROOT = Path(__file__).resolve().parents[1]
PAGE, BEGIN, END = ROOT / "docs" / "agents.md", "<!-- transcript -->\n", "<!-- end of the transcript -->"
FOLDER = "src/maxsieve/text"
WIDEST, FOLDING = 96, {"subsequent_indent": "    ", "replace_whitespace": False, "drop_whitespace": True}
CALLS: list[tuple[str, dict[str, object]]] = [
    ("collections", {}),
    ("search", {"query": "how are the scores of BM25 and late interaction combined", "k": 3, "max_tokens": 700}),
    ("read", {"id": "lexical/fusion.py", "first_line": 99, "last_line": 112}),
    ("rerank", {"query": "a warm drink", "texts": ["a cold shower", "hot tea", "bread"], "k": 2}),
    ("read", {"id": "../../../pyproject.toml"}),
]


async def transcript(cache: str) -> str:
    """All calls and answers, as they would be typed."""
    command = Path(sys.executable).with_name("maxsieve")
    server = StdioServerParameters(
        command=str(command), args=["mcp", str(ROOT / FOLDER)], env={**os.environ, "MAXSIEVE_CACHE": cache}
    )
    parts = [f"$ maxsieve mcp {FOLDER}"]
    async with Client(stdio_client(server)) as client:
        for name, arguments in CALLS:
            answer = await client.call_tool(name, arguments)
            error = "error: " if answer.is_error else ""
            parts.append(f"> {name} {json.dumps(arguments)}\n{error}{answer.content[0].text.rstrip()}")
    return "\n\n".join(parts)


def main() -> None:
    """Runs the client and writes the page."""
    with tempfile.TemporaryDirectory() as cache:
        (Path(cache) / "models").symlink_to(cache_folder() / "models")
        text = anyio.run(transcript, cache)
    if "--print" in sys.argv:
        print(text)
        return
    text = "\n".join(folded for line in text.split("\n") for folded in wrap(line, WIDEST, **FOLDING) or [""])
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}```text\n{text}\n```\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
