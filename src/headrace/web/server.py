"""An ASGI application on sockets, within a running event loop: uvicorn without its signals."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from headrace.web.guarding import GuardedProtocol, GuardedServer
from headrace.web.limits import IDLE_TIMEOUT_MS

_KEEP_ALIVE_S = 65
_GRACE_S = 10
_BACKLOG = 1024
#: Beyond these a request is answered with 503.
_CONNECTIONS_MAX = 10_000


class ListenError(Exception):
    """An address that cannot be listened on, in one sentence."""


def bind(listeners: str) -> list[socket.socket]:
    """Sockets for `http://host:port,...`; port 0 is any free one."""
    sockets: list[socket.socket] = []
    try:
        named = filter(None, (one.strip() for one in listeners.split(",")))
        sockets.extend(_bind_one(listener) for listener in named)
    except ListenError:
        for one in sockets:
            one.close()
        raise
    if not sockets:
        raise ListenError("listeners names no address.")
    return sockets


def _bind_one(listener: str) -> socket.socket:
    parts = urlsplit(listener)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "http" or port is None:
        raise ListenError(f"A listener is http://host:port, not {listener}.")
    host = parts.hostname or "0.0.0.0"  # noqa: S104 - as in Kafka, no host means all
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ListenError(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return bound


class WebServer:
    """Serves until `stop`, which lets requests that are under way end."""

    def __init__(
        self,
        application: Any,
        sockets: Sequence[socket.socket],
        *,
        idle_timeout_ms: int = IDLE_TIMEOUT_MS,
    ) -> None:
        self._sockets = list(sockets)
        config = uvicorn.Config(
            application,
            http=GuardedProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            limit_concurrency=_CONNECTIONS_MAX,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
        )
        self._server = _QuietServer(config)
        self._server.idle_timeout_s = idle_timeout_ms / 1000
        self._task: asyncio.Task[None] | None = None

    @property
    def ports(self) -> list[int]:
        return [int(one.getsockname()[1]) for one in self._sockets]

    async def start(self) -> None:
        self._task = asyncio.create_task(self._server.serve(self._sockets))
        while not self._server.started:
            if self._task.done():
                await self._task
                raise ListenError("The web server ended as soon as it began.")
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        self._server.should_exit = True
        if self._task is not None:
            await self._task


class _QuietServer(GuardedServer):
    """Signals are the business of whoever runs the loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
