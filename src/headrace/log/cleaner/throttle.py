"""`log.cleaner.io.max.bytes.per.second`, kept by pausing after every piece of work.

The clock and the pause come from whoever runs the job: a helper process may sleep, a test counts.
"""

from collections.abc import Callable

#: The longest single pause. A rate that asks for more is kept on the average no longer, but a round
#: under it comes to an end, and no clock has to count further than it can.
_PAUSE_MS_MAX = 3_600_000.0

#: Told of bytes read or written; returns when the next ones may follow.
Throttle = Callable[[int], None]


def unlimited(_: int) -> None:
    """No limit, the default."""


def throttle_for(
    bytes_per_second: float, mono_ms: Callable[[], float], pause_ms: Callable[[float], None]
) -> Throttle:
    """Of `log.cleaner.io.max.bytes.per.second`, which may be any number.

    One of no bytes at all is no limit here; in Apache Kafka a negative one is none either, and with
    0 the cleaner sleeps for ever.
    """
    if bytes_per_second > 0:
        return RateThrottle(bytes_per_second, mono_ms, pause_ms)
    return unlimited


class RateThrottle:
    """Keeps the average since the first byte at or below a rate above 0."""

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
            self._pause_ms(min(due_ms - now_ms, _PAUSE_MS_MAX))
