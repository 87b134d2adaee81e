"""NoOp records in a metadata log that would otherwise stand still.

Kafka writes one whenever nothing was written for `metadata.max.idle.interval.ms`, so that other
voters and brokers see the high watermark move. A node that is alone has nobody to tell, and two
fsyncs a second for nothing wear its disk: it begins only when a second node registers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headrace.metadata.image import MetadataImage


class IdleRecords:
    """The timer behind the NoOps."""

    def __init__(
        self, interval_ms: int, *, next_offset: Callable[[], int], write: Callable[[], None]
    ) -> None:
        self._interval_ms = interval_ms
        self._next_offset = next_offset
        self._write = write
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        return self._timer is not None

    def start_unless_alone(self, image: MetadataImage, voter_ids: tuple[int, ...]) -> None:
        """Begin if the cluster has other nodes than this one."""
        nodes = image.brokers.keys() | image.controllers.keys() | set(voter_ids)
        if self._interval_ms > 0 and self._timer is None and len(nodes) > 1:
            self._arm()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._interval_ms = 0

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._interval_ms / 1000, self._expire, self._next_offset())

    def _expire(self, seen_offset: int) -> None:
        if self._interval_ms > 0:
            if self._next_offset() == seen_offset:
                self._write()
            self._arm()
