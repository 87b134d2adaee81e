"""A listening socket: accepts connections within the limits, and closes idle ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket

from headrace.base.clock import Clock
from headrace.broker.authorization import ANONYMOUS, Authorizer
from headrace.broker.context import ConnectionInfo
from headrace.broker.dispatcher import Dispatcher
from headrace.broker.metrics import BrokerMetrics
from headrace.server import file_sender
from headrace.server.brief_polling import NO_POLLING, BriefPolling
from headrace.server.connection import Connection
from headrace.server.connection_limits import (
    ConnectionCounts,
    ConnectionLimits,
    ListenerCounts,
    RefusalLog,
)
from headrace.server.request_memory import RequestMemory
from headrace.server.resumptions import Resumptions
from headrace.server.sockets import BACKLOG

logger = logging.getLogger(__name__)

_IDLE_CHECK_S = 1.0
#: Below this much, one read and one write are cheaper than `sendfile` besides a write.
_SEND_FILES_FROM = 64 * 1024
_NEVER = 1 << 62


class Listener:
    """One configured listener, for instance PLAINTEXT://localhost:9092."""

    def __init__(
        self,
        name: str,
        sock: socket.socket,
        *,
        dispatcher: Dispatcher,
        authorizer: Authorizer,
        limits: ConnectionLimits,
        counts: ConnectionCounts,
        clock: Clock,
        metrics: BrokerMetrics,
        own_counts: ListenerCounts | None = None,
        polling: BriefPolling = NO_POLLING,
        memory: RequestMemory | None = None,
        backlog: int = BACKLOG,
    ) -> None:
        self.name = name
        self._socket = sock
        self.host, self.port = sock.getsockname()[:2]
        self.frame_size_max = limits.frame_size_max
        self.resumptions = Resumptions()
        self.polling = polling
        self.memory = memory or RequestMemory()
        self._dispatcher = dispatcher
        self._authorizer = authorizer
        self._limits = limits
        self._counts = counts
        self._own_counts = own_counts or ListenerCounts(name)
        self._backlog = backlog
        self._refusals = RefusalLog(logger)
        self._clock = clock
        self._metrics = metrics
        self._connections: dict[Connection, str] = {}
        self.opened_total = 0
        self.closed_total = 0
        self._server: asyncio.Server | None = None
        self._idle_check: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Accept connections from now on."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._make_connection, sock=self._socket, backlog=self._backlog
        )
        self._schedule_idle_check()

    @property
    def is_open(self) -> bool:
        return self._server is not None and self._server.is_serving()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def _make_connection(self) -> Connection:
        return Connection(self, self._dispatcher)

    def opened(self, connection: Connection) -> ConnectionInfo | None:
        transport = connection.transport
        peer = transport.get_extra_info("peername") or ("", 0)
        local = transport.get_extra_info("sockname") or (self.host, self.port)
        client_host = _plain_host(peer[0])
        now_ms = self._clock.mono_ms()
        refusal = self._counts.admit(client_host, now_ms, self._own_counts)
        if refusal is not None:
            self._refusals.note(client_host, refusal, now_ms)
            return None
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            # A Mac refuses both for a client that has gone again; the transport will notice.
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # A client that vanished without a word is noticed in the end.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connections[connection] = client_host
        self.opened_total += 1
        self._metrics.connections_opened += 1
        return ConnectionInfo(
            ANONYMOUS,
            self._authorizer,
            self.name,
            client_host,
            peer[1],
            _plain_host(local[0]),
            local[1],
            _SEND_FILES_FROM if file_sender.IS_AVAILABLE else _NEVER,
        )

    def closed(self, connection: Connection) -> None:
        host = self._connections.pop(connection, None)
        if host is not None:
            self._counts.release(host, self._own_counts)
            self.closed_total += 1
            self._metrics.connections_closed += 1

    def _schedule_idle_check(self) -> None:
        loop = asyncio.get_running_loop()
        self._idle_check = loop.call_later(_IDLE_CHECK_S, self._check_idle)

    def _check_idle(self) -> None:
        self.close_idle()
        self._schedule_idle_check()

    def close_idle(self) -> None:
        """End connections that nothing came from for too long, waiting requests or not."""
        now_ms = self._clock.mono_ms()
        for connection in list(self._connections):
            if connection.quiet_ms(now_ms) > self._limits.idle_ms_max:
                connection.abort()

    async def stop(self) -> None:
        """Stop accepting, and end the connections."""
        if self._idle_check is not None:
            self._idle_check.cancel()
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()
        # One turn of the loop, so that transports flush and report their end.
        await asyncio.sleep(0)


def _plain_host(host: str) -> str:
    """An IPv4 client of a socket that serves both families appears as `::ffff:10.0.0.7`."""
    mapped = host.removeprefix("::ffff:")
    return mapped if "." in mapped else host
