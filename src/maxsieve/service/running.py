"""Starts the server, and ends it: what is under way is answered first."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from maxsieve.service.app import create_app
from maxsieve.service.service import Service


class _Server(uvicorn.Server):
    """A server that ends quietly when it is told to: no signal is raised again once all is done."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM drain; a second Ctrl-C ends at once."""
        with contextlib.ExitStack() as restored:
            for one in (signal.SIGINT, signal.SIGTERM):
                restored.callback(signal.signal, one, signal.signal(one, self.handle_exit))
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On a signal."""
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise OSError(f"can't listen at {host} port {port}: {reason}") from None


def serve(service: Service, listener: socket.socket, started: Callable[[], None]) -> None:
    """Answers requests until Ctrl-C or SIGTERM; ``started`` is called when it begins."""
    config = uvicorn.Config(
        create_app(service),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(service.settings.drain)),
    )
    server = _Server(config)

    async def run() -> None:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            started()
        await serving

    try:
        asyncio.run(run())
    finally:
        service.close()
