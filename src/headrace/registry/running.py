"""A registry from its start to its end: sockets, service, web server, and back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from headrace.registry.config import RegistryConfig
from headrace.registry.http.application import RegistryApplication
from headrace.registry.kafka.identity import Identity
from headrace.registry.service import RegistryService
from headrace.web.loop import loop_factory
from headrace.web.server import WebServer, bind


class RunningRegistry:
    """Within an event loop; `headrace up` may run it beside a node."""

    def __init__(self, config: RegistryConfig) -> None:
        self._sockets = bind(config.listeners)
        port = int(self._sockets[0].getsockname()[1])
        host, advertised = config.address(port)
        self.me = Identity(host, advertised, config.leader_eligibility)
        self.service = RegistryService(config, self.me)
        self._web = WebServer(
            RegistryApplication(self.service),
            self._sockets,
            idle_timeout_ms=config.idle_timeout_ms,
        )

    @property
    def port(self) -> int:
        return self._web.ports[0]

    async def start(self) -> None:
        """Return once it answers."""
        try:
            await self.service.start()
        except BaseException:
            for one in self._sockets:
                one.close()
            raise
        await self._web.start()

    async def stop(self) -> None:
        """Let requests end, leave the group, and close everything."""
        await self._web.stop()
        await self.service.stop()


def run_registry(config: RegistryConfig, on_ready: Callable[[RunningRegistry], None]) -> None:
    """Start, tell `on_ready`, serve until SIGTERM or SIGINT, stop in order."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(config, on_ready))


async def _serve(config: RegistryConfig, on_ready: Callable[[RunningRegistry], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    registry = RunningRegistry(config)
    await registry.start()
    on_ready(registry)
    await stop.wait()
    await registry.stop()
