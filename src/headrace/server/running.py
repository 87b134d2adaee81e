"""Runs a node until a signal ends it: what `headrace server start` and `headrace up` share."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Callable
from typing import Any

from headrace.base.clock import Clock
from headrace.server.allocator import keep_freed_memory
from headrace.server.config import NodeConfig
from headrace.server.file_limit import raise_file_limit
from headrace.server.node import Node
from headrace.server.recovery import StartStoppedError
from headrace.server.time_slice import shorten_time_slice

logger = logging.getLogger(__name__)


class NodeFailedError(Exception):
    """The node stopped by itself; the text says why."""


def run_node(
    config: NodeConfig,
    on_ready: Callable[[Node], None],
    *,
    before_stop: Callable[[], None] = lambda: None,
    clock: Clock | None = None,
    runner: asyncio.Runner | None = None,
) -> None:
    """Start, tell `on_ready`, serve until SIGTERM or SIGINT, stop in order.

    A signal that comes while logs are loaded ends the start, and `on_ready` hears nothing.
    `before_stop` runs in a thread while the node still serves: it may wait for clients to leave.
    """
    keep_freed_memory()
    shorten_time_slice()
    raise_file_limit()
    with runner or new_runner() as running:
        running.run(_serve(config, on_ready, before_stop, clock))


def new_runner() -> asyncio.Runner:
    """On uvloop where it is installed."""
    if sys.platform != "win32":
        with contextlib.suppress(ImportError):
            import uvloop

            return asyncio.Runner(loop_factory=uvloop.new_event_loop)
    return asyncio.Runner()


async def _serve(
    config: NodeConfig,
    on_ready: Callable[[Node], None],
    before_stop: Callable[[], None],
    clock: Clock | None,
) -> None:
    node = Node(config, clock, has_own_process=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked_to_stop(number: signal.Signals) -> None:
        logger.info("stopping: %s", number.name)
        node.ask_to_stop()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop, number)
    try:
        await node.start()
    except StartStoppedError:
        logger.info("stopped before all logs were loaded: the next start recovers them")
        return
    _spare_the_collector()
    if not stop.is_set():
        on_ready(node)
    reason = await stopped_or_failed(node, stop)
    if reason is not None:
        logger.info("stopping: %s", reason)
    await asyncio.to_thread(before_stop)
    await node.stop()
    if reason is not None:
        raise NodeFailedError(reason)


def _spare_the_collector() -> None:
    """Look for cyclic garbage seldom, and never among what a node is made of.

    Requests leave no cycles behind, but each allocates enough to start a collection every few
    dozen of them, and a full one walks every partition: milliseconds that a client would wait.
    One of the middle generation walks what 60,000 new objects at most have left: with more of them
    a large group that changes its protocol would stop the node for as long as a full one does.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 5, 1_000)


async def stopped_or_failed(node: Node, stop: asyncio.Event) -> str | None:
    """Wait until `stop` is set, or until the node cannot go on: then the reason."""
    assert node.failed is not None  # noqa: S101 - set by start
    waiting = asyncio.ensure_future(stop.wait())
    awaited: list[asyncio.Future[Any]] = [waiting, node.failed]
    await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    return node.failed.result() if node.failed.done() else None
