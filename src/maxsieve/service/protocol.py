"""HTTP on one connection, by uvicorn and h11, with timeouts for slow clients and a limit on connections."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from maxsieve.common.printable import printable_json


def patient_protocol(patience: float, connections: int) -> type[H11Protocol]:
    """A protocol that closes connections of slow clients, after ``patience`` seconds.

    This is the time that a client may take to send the headers of a request, or to continue reading a full buffer.
    """

    class PatientProtocol(H11Protocol):
        """Limits connections, and the time that their clients take."""

        _headers: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """A client has connected."""
            super().connection_made(transport)
            if len(self.connections) > connections:
                transport.abort()
                return
            self._wait()

        def data_received(self, data: bytes) -> None:
            """Bytes have arrived: perhaps the start of a request, perhaps the end of its headers."""
            before = self.cycle
            if self._headers is None and self.conn.their_state is h11.IDLE:
                self._wait()
            super().data_received(data)
            if self.cycle is not before:
                self._done_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            """The client has disconnected."""
            self._done_waiting()
            self._read_on()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            """The client does not read its answer."""
            super().pause_writing()
            self._unread = self.loop.call_later(patience, self.transport.abort)

        def resume_writing(self) -> None:
            """The client continues to read."""
            self._read_on()
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            """A request that is not valid HTTP also gets a JSON error."""
            body = printable_json({"detail": "this is not a valid HTTP request"}).encode()
            length = str(len(body)).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", length), (b"connection", b"close")]
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                for event in (h11.Response(status_code=400, headers=headers), h11.Data(body), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _wait(self) -> None:
            self._done_waiting()
            self._headers = self.loop.call_later(patience, self.transport.abort)

        def _done_waiting(self) -> None:
            if self._headers is not None:
                self._headers.cancel()
                self._headers = None

        def _read_on(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

    return PatientProtocol
