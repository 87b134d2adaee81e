"""An embedded node inside this process: an event loop of its own in a background thread.

It starts faster than a child process and a debugger sees into it, but it shares the interpreter
with the test, and nobody can kill it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from headrace.testing.node_handle import NodeAddresses, NodeStartError
from headrace.testing.node_process import describe
from headrace.testing.virtual_time import MovableClock, movable_runner, move

if TYPE_CHECKING:
    from headrace.server.config import NodeConfig
    from headrace.server.node import Node


class ThreadNode:
    """Runs one node at a time on a thread."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._clock = MovableClock()
        self._loop: asyncio.AbstractEventLoop | None = None
        #: Safe to call from any thread.
        self._ask_to_stop: Callable[[], object] = lambda: None

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def pid(self) -> int:
        return os.getpid()

    def start(self, data_dir: str, settings: Mapping[str, str], ahead_ms: int) -> NodeAddresses:
        from headrace.base.errors import KafkaError
        from headrace.server.config import NodeConfig
        from headrace.server.development import ensure_formatted

        try:
            config = NodeConfig.for_development(data_dir, 0, settings)
            ensure_formatted(config)
        except (KafkaError, OSError, ValueError) as error:
            raise NodeStartError(str(error)) from error
        self._clock = MovableClock(ahead_ms)
        started: Future[Node] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(config, started), name="headrace-node", daemon=True
        )
        self._thread.start()
        try:
            answer = describe(started.result())
        except Exception as error:
            self._thread.join()
            raise NodeStartError(str(error)) from error
        return NodeAddresses(answer["bootstrap"], answer["ports"], answer["metrics"])

    def advance(self, elapsed_ms: int) -> None:
        if self._loop is None or not self.is_running:
            raise RuntimeError("The node has not been started.")
        asyncio.run_coroutine_threadsafe(move(self._clock, elapsed_ms), self._loop).result()

    def stop(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._ask_to_stop()
            self._thread.join()

    def kill(self) -> None:
        raise RuntimeError(
            "A node inside this process cannot be killed: leave in_process out to get one that can."
        )

    def _run(self, config: NodeConfig, started: Future[Node]) -> None:
        with movable_runner(self._clock) as runner:
            runner.run(self._serve(config, started))

    async def _serve(self, config: NodeConfig, started: Future[Node]) -> None:
        from headrace.server.node import Node
        from headrace.server.running import stopped_or_failed

        node = Node(config, self._clock)
        try:
            await node.start()
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits
            started.set_exception(error)
            return
        stop = asyncio.Event()
        self._loop = loop = asyncio.get_running_loop()
        self._ask_to_stop = partial(loop.call_soon_threadsafe, stop.set)
        started.set_result(node)
        await stopped_or_failed(node, stop)
        await node.stop()
