"""Starts the server, and shuts it down after the running requests are answered."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from maxsieve.common.processes import ENDING_SIGNALS
from maxsieve.service.app import create_app
from maxsieve.service.protocol import patient_protocol
from maxsieve.service.service import Service


class Server(uvicorn.Server):
    """Answers requests on a socket. Ctrl-C and SIGTERM shut it down after the running requests are answered."""

    def __init__(self, service: Service, started: Callable[[], None] = lambda: None) -> None:
        settings = service.settings
        super().__init__(
            uvicorn.Config(
                create_app(service),
                http=patient_protocol(settings.patience, settings.connections),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=max(1, round(settings.drain)),
            )
        )
        self._service, self._begun = service, started

    def serve_at(self, listener: socket.socket) -> None:
        """Serves until a signal or `end`; returns after everything is closed."""
        try:
            asyncio.run(self.serve(sockets=[listener]))
        finally:
            self._service.close()

    def end(self) -> None:
        """Shuts the server down; may be called from any thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Called when the server starts."""
        await super().startup(sockets)
        self._begun()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A second Ctrl-C ends it immediately. After a normal shutdown the signal is not raised again."""
        with contextlib.ExitStack() as restored:
            if threading.current_thread() is threading.main_thread():
                for one in ENDING_SIGNALS:
                    restored.callback(signal.signal, one, signal.signal(one, self.handle_exit))
            yield


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise OSError(f"can't listen at {host} port {port}: {reason}") from None
