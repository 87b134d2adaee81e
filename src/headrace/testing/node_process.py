"""The child process of an embedded node: `EmbeddedKafka` starts it and speaks to it over pipes.

In: one line of JSON with the data directory and the settings; after that a line for each move of
the node's clock. The pipe is a lifeline as well: while it is open the parent lives; when it ends
the parent is gone, and this process leaves at once and takes the data directory with it.
Out: one line of JSON, the addresses or what went wrong, and one for each move.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
import threading
from typing import TYPE_CHECKING, Any

from headrace.testing.virtual_time import MovableClock, movable_runner, move

if TYPE_CHECKING:
    from headrace.server.node import Node

logger = logging.getLogger(__name__)

_PARENT_CHECK_S = 1.0


def main() -> None:
    """Serve until SIGTERM, or until the parent is gone."""
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    moves = ClockMoves(order["ahead_ms"])
    threading.Thread(
        target=_watch_parent,
        args=(os.getppid(), order["remove"], moves),
        name="lifeline",
        daemon=True,
    ).start()
    sys.exit(_serve(order, moves))


class ClockMoves:
    """Takes the parent's orders to move the clock over to the node's loop."""

    def __init__(self, ahead_ms: int) -> None:
        self.clock = MovableClock(ahead_ms)
        self._loop: asyncio.AbstractEventLoop | None = None

    def began(self) -> None:
        """Called on the loop once the node is up."""
        self._loop = asyncio.get_running_loop()

    def ordered(self, line: bytes) -> None:
        """From the thread that reads the pipe; answered when the node has moved."""
        elapsed_ms = json.loads(line)["advance_ms"]
        if self._loop is None:
            raise RuntimeError("the clock of a node that is not up cannot be moved")
        asyncio.run_coroutine_threadsafe(self._move(elapsed_ms), self._loop)

    async def _move(self, elapsed_ms: int) -> None:
        await move(self.clock, elapsed_ms)
        _say({"ahead_ms": self.clock.ahead_ms})


def _serve(order: dict[str, Any], moves: ClockMoves) -> int:
    from headrace.base.checks import InvariantBrokenError
    from headrace.base.errors import KafkaError
    from headrace.log.directories import DataDirectoryError
    from headrace.server.config import NodeConfig
    from headrace.server.development import ensure_formatted
    from headrace.server.running import NodeFailedError, run_node
    from headrace.server.sockets import BindError
    from headrace.server.structured_log import configure_logging

    configure_logging(order["log_level"])
    try:
        config = NodeConfig.for_development(order["data_dir"], 0, order["settings"])
        for warning in config.warnings:
            logger.warning("%s", warning)
        ensure_formatted(config)

        def ready(node: Node) -> None:
            moves.began()
            _say(describe(node))

        run_node(config, ready, clock=moves.clock, runner=movable_runner(moves.clock))
    except (
        BindError,
        DataDirectoryError,
        InvariantBrokenError,
        KafkaError,
        NodeFailedError,
        OSError,
        ValueError,
    ) as error:
        _say({"error": str(error)})
        return 1
    return 0


def describe(node: Node) -> dict[str, Any]:
    """The addresses of a node that has started."""
    return {
        "bootstrap": node.bootstrap,
        "ports": {listener.name: listener.port for listener in node.listeners},
        "metrics": node.status and f"{node.status.host}:{node.status.port}",
    }


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _watch_parent(parent: int, remove: str | None, moves: ClockMoves) -> None:
    """Blocks on the pipe. A fork of the parent may hold it open too, hence the second look."""
    from headrace.client.readable import is_readable

    pipe = sys.stdin.fileno()
    while os.getppid() == parent:
        if not is_readable(pipe, _PARENT_CHECK_S):
            continue
        line = os.read(pipe, 4096)
        if not line:
            break
        moves.ordered(line)
    if remove is not None:
        shutil.rmtree(remove, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()
