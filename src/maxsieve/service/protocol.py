"""HTTP on one connection, by uvicorn and h11, with timeouts for slow clients and a limit on connections.

A connection is either working on a request, whose time the service limits, or its clock runs. Only a complete request
stops the clock: nothing else that a client sends.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from maxsieve.common.printable import printable_json

FREE_CHUNKS, CHUNK_BYTES = 512, 256
"""A chunked body may have so many chunks, and one more for so many bytes: a chunk costs more than the bytes in it."""


class Messages(h11.Connection):
    """What arrives on a connection, message by message. A body in tiny chunks is not valid here."""

    _chunks = _bytes = 0

    def next_event(self) -> Any:
        """The next message, or part of one."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._chunks += event.chunk_end
            self._bytes += len(event.data)
            if self._chunks > FREE_CHUNKS + self._bytes // CHUNK_BYTES:
                raise h11.RemoteProtocolError("the chunks are too small")
        return event


def patient_protocol(patience: float, connections: int) -> type[H11Protocol]:
    """A protocol that closes connections of slow clients, after ``patience`` seconds.

    This is the time that a client may take to send the headers of its next request, or to read a full buffer.
    """

    class PatientProtocol(H11Protocol):
        """Limits connections, and the time that their clients take."""

        _clock: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.conn = Messages(h11.SERVER)

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """A client has connected."""
            super().connection_made(transport)
            if len(self.connections) > connections:
                transport.abort()
                return
            self._start_clock()

        def handle_events(self) -> None:
            """Bytes have arrived, or wait since the last request: perhaps the end of the headers of the next one."""
            before = self.cycle
            super().handle_events()
            if self.cycle is not before:
                self._stop_clock()

        def on_response_complete(self) -> None:
            """A request was answered. If the rest of its body is missing, the connection can't be used again."""
            self._start_clock()
            if self.conn.their_state is h11.SEND_BODY:
                self.transport.close()
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            """The client has disconnected."""
            self._stop_clock()
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
            self._start_clock()
            self.transport.close()

        def _start_clock(self) -> None:
            self._stop_clock()
            self._clock = self.loop.call_later(patience, self.transport.abort)

        def _stop_clock(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _read_on(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

    return PatientProtocol
