"""Runs the proxy on uvicorn until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from headrace.rest.app import make_app
from headrace.rest.config import RestConfig, RestConfigError
from headrace.web.guarding import GuardedProtocol, GuardedServer
from headrace.web.loop import loop_factory
from headrace.web.server import ListenError, bind

#: How long open requests may take to end after a stop was asked for.
_GRACE_SECONDS = 5


class RestServer:
    """One proxy; `serve` returns once it has stopped."""

    def __init__(self, config: RestConfig) -> None:
        self._socket = _bind(config.host, config.port)
        self.config = config
        port = self._socket.getsockname()[1]
        host = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host  # noqa: S104
        #: How this machine reaches the proxy.
        self.url = f"http://{host}:{port}"
        settings = uvicorn.Config(
            make_app(config),
            log_level="warning",
            access_log=False,
            http=GuardedProtocol,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=_GRACE_SECONDS,
            server_header=False,
            loop="auto",
        )
        self._server = _Server(settings)
        self._server.idle_timeout_s = config.idle_timeout_ms / 1000

    async def serve(self, ready: Callable[[RestServer], None] | None = None) -> None:
        self._server.on_ready = None if ready is None else lambda: ready(self)
        try:
            await self._server.serve([self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """From any thread."""
        self._server.should_exit = True


class _Server(GuardedServer):
    on_ready: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.on_ready is not None:
            self.on_ready()


def run(config: RestConfig, ready: Callable[[RestServer], None] | None = None) -> None:
    """Until SIGINT or SIGTERM."""
    run_on_loop(RestServer(config), ready)


def run_on_loop(server: RestServer, ready: Callable[[RestServer], None] | None = None) -> None:
    """Serve with an event loop of its own, in the thread that calls."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(server.serve(ready))


def _bind(host: str, port: int) -> socket.socket:
    try:
        return bind(f"http://{f'[{host}]' if ':' in host else host}:{port}")[0]
    except ListenError as error:
        raise RestConfigError(str(error)) from error
