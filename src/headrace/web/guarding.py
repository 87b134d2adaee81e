"""Connections that keep a server waiting are closed.

uvicorn waits without an end for a request's head and body. Here a head has to be complete, and
small enough, within the time that a connection may be idle (`idle.timeout.ms`), and a body has to
keep coming: nothing of it for so long ends the connection. How slowly it may come on the whole is
`BodyPace`'s business.
"""

from __future__ import annotations

from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headrace.web.limits import IDLE_TIMEOUT_MS

_HEAD_BYTES_MAX = 64 * 1024
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)
#: uvicorn's ticks are a tenth of a second.
_SWEEP_TICKS = 10


class GuardedProtocol(HttpToolsProtocol):
    """Knows since when it waits for its client; None while it does not."""

    waiting_since: float | None = None
    _head_bytes = 0
    _in_head = True
    _heads_read = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.waiting_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        heads_read = self._heads_read
        super().data_received(data)
        if self._in_head and self._heads_read == heads_read:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES_MAX and not self.transport.is_closing():
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self.waiting_since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._heads_read += 1
        self.waiting_since = self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.waiting_since = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.waiting_since = None
        super().on_message_complete()

    def close_if_idle(self, since: float) -> None:
        if self.waiting_since is None or self.waiting_since > since:
            return
        if self.flow.read_paused:
            # It is the client that waits.
            self.waiting_since = self.loop.time()
        else:
            self.transport.close()


class GuardedServer(uvicorn.Server):
    """Looks after its connections every second."""

    idle_timeout_s = IDLE_TIMEOUT_MS / 1000

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP_TICKS == 0:
            for connection in list(self.server_state.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.close_if_idle(connection.loop.time() - self.idle_timeout_s)
        return await super().on_tick(counter)
