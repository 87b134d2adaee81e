"""Time as an argument: the pure parts never read a clock of their own."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where the shell gets time from; tests hand in a `ManualClock`."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch; may jump, so only timestamps and retention use it."""
        ...

    def mono_ms(self) -> float:
        """Milliseconds that never go back; leases and time-outs use it."""
        ...


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def mono_ms(self) -> float:
        return time.monotonic() * 1000.0


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, wall_ms: int = 1_700_000_000_000, mono_ms: float = 0.0) -> None:
        self._wall_ms = wall_ms
        self._mono_ms = mono_ms

    def wall_ms(self) -> int:
        return self._wall_ms

    def mono_ms(self) -> float:
        return self._mono_ms

    def advance(self, elapsed_ms: int) -> None:
        self._wall_ms += elapsed_ms
        self._mono_ms += elapsed_ms
