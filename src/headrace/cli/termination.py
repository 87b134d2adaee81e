"""SIGTERM as an exception, as Ctrl-C is one: wherever a tool waits, it closes what it has open."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: What a shell tells of a program that SIGTERM ended.
EXIT_TERMINATED = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """Somebody has asked this process to end."""


class SigtermRaises:
    """Within it the signal raises `Terminated`, in some places a little later."""

    def __init__(self) -> None:
        self._is_held_back = False
        self._has_come = False

    def __enter__(self) -> SigtermRaises:
        self._before = signal.getsignal(signal.SIGTERM)
        with suppress(ValueError):  # not in the main thread: nobody sends signals here
            signal.signal(signal.SIGTERM, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):
            signal.signal(signal.SIGTERM, self._before)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """What is done here is done to its end, unless the signal comes a second time."""
        self._is_held_back = True
        try:
            yield
        finally:
            self._is_held_back = False
        if self._has_come:
            raise Terminated

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        is_second, self._has_come = self._has_come, True
        if is_second or not self._is_held_back:
            raise Terminated
