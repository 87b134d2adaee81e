"""`log.cleaner.io.max.bytes.per.second`, kept by pausing after every piece of work.

The clock and the pause come from whoever runs the job: a helper process may sleep, a test counts.
"""

from collections.abc import Callable

#: Told of bytes read or written; returns when the next ones may follow.
Throttle = Callable[[int], None]


def unlimited(_: int) -> None:
    """No limit, the default."""


class RateThrottle:
    """Keeps the average since the first byte at or below a rate."""

    __slots__ = ("_bytes", "_bytes_per_second", "_mono_ms", "_pause_ms", "_start_ms")

    def __init__(
        self,
        bytes_per_second: float,
        mono_ms: Callable[[], float],
        pause_ms: Callable[[float], None],
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._mono_ms = mono_ms
        self._pause_ms = pause_ms
        self._bytes = 0
        self._start_ms: float | None = None

    def __call__(self, count: int) -> None:
        now_ms = self._mono_ms()
        if self._start_ms is None:
            self._start_ms = now_ms
        self._bytes += count
        due_ms = self._start_ms + self._bytes * 1000.0 / self._bytes_per_second
        if due_ms > now_ms:
            self._pause_ms(due_ms - now_ms)
