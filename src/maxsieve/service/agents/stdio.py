"""Serves one client over standard input and output, a line of JSON for each message."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import Any, BinaryIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, RequestParams

from maxsieve.service.agents.server import AgentServer

TOO_LARGE = "maxsieve/too_large"
"""The method that replaces a message with too many bytes."""

_ID = re.compile(rb'"id"\s*:\s*("[\w.:-]{1,100}"|[0-9]{1,18})')
_ENDS = 1 << 12
"""How much of a message that is too large is searched for its id, at its beginning and at its end."""


def serve_stdio(server: AgentServer, most_bytes: int) -> None:
    """Serves until the client closes its end. What other code prints goes to standard error."""

    async def refuse(_: Any, __: RequestParams) -> Any:
        raise MCPError(INVALID_REQUEST, f"the message has more than {most_bytes:,} bytes")

    async def serve() -> None:
        server.mcp.add_request_handler(TOO_LARGE, RequestParams, refuse)
        messages, answers = take_streams()
        lines = BoundedLines(os.fdopen(messages, "rb", closefd=False), most_bytes)
        written = anyio.wrap_file(os.fdopen(answers, "w", encoding="utf-8", newline="\n", closefd=False))
        async with stdio_server(cast(Any, lines), written) as (incoming, outgoing):
            await server.mcp.run(incoming, outgoing, server.mcp.create_initialization_options())

    asyncio.run(serve())


def take_streams() -> tuple[int, int]:
    """Handles of standard input and output. From now on, other code reads nothing, and prints to standard error."""
    sys.stdout.flush()
    messages, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return messages, answers


class BoundedLines:
    """The lines of a client. One with too many bytes is not kept: it becomes a request that is refused."""

    def __init__(self, file: BinaryIO, most_bytes: int) -> None:
        self._file, self._most = file, most_bytes

    def __aiter__(self) -> BoundedLines:
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self.next_line, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")

    def next_line(self) -> bytes:
        """The next line; empty at the end."""
        line = self._file.readline(self._most + 1)
        if len(line) <= self._most or line.endswith(b"\n"):
            return line
        head, tail = line[:_ENDS], line[-_ENDS:]
        while (piece := self._file.readline(1 << 16)) and not piece.endswith(b"\n"):
            tail = (tail + piece)[-_ENDS:]
        found = _ID.search(head) or _ID.search(tail + piece)
        id = found[1] if found else b"null"
        return b'{"jsonrpc":"2.0","id":%s,"method":"%s","params":{}}\n' % (id, TOO_LARGE.encode())
