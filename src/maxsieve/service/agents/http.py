"""Serves clients over streamable HTTP at /mcp. Each request is answered by itself: there are no sessions to keep."""

from __future__ import annotations

import asyncio

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from maxsieve.service.agents.server import AgentServer

PATH = "/mcp"
MOST_BYTES = 4 << 20
"""Limit on the body of a request, which is read at once."""


class AgentEndpoint:
    """The application at /mcp. It starts with the first request and ends with the event loop."""

    def __init__(self, server: AgentServer, body_bytes: int) -> None:
        self._server, self._most = server, min(body_bytes, MOST_BYTES)
        self._running: asyncio.Task[None] | None = None
        self._manager: StreamableHTTPSessionManager
        self._ready: asyncio.Event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if self._running is None or self._running.done():
            self._manager, self._ready = self._new_manager(), asyncio.Event()
            self._running = asyncio.create_task(self._run(self._manager, self._ready))
        await self._ready.wait()
        await self._manager.handle_request(scope, receive, send)

    def _new_manager(self) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            self._server.mcp, json_response=True, stateless=True, max_request_body_size=self._most
        )

    async def _run(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await asyncio.Event().wait()
