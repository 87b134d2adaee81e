"""The events of the verifiable clients: one JSON object per line, with a time and a name first."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType


def emit(name: str, **fields: object) -> None:
    """Print an event at once, so that whoever watches sees it when it happens."""
    event = {"timestamp": time.time_ns() // 1_000_000, "name": name, **fields}
    sys.stdout.write(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n")
    sys.stdout.flush()


class StopSignal:
    """Set by SIGTERM and SIGINT: the tool ends what it is doing and closes in order.

    Who sends a second one will not wait for that.
    """

    def __init__(self) -> None:
        self.is_set = False

    def __enter__(self) -> StopSignal:
        self._before: dict[signal.Signals, Callable[..., object] | int | None] = {}
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(ValueError):  # not in the main thread: nobody sends signals here
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_set:
            raise KeyboardInterrupt
        self.is_set = True
