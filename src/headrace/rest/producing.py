"""Records to Kafka: those of one request are handed over at once and awaited together.

One producer serves all requests. Its delivery reports are collected on the event loop itself,
every fraction of a millisecond while something is under way: a thread for them would take the
interpreter away from the loop for each single record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

#: How soon delivery reports are looked for, and how rarely when none come.
_POLL_SECONDS = 0.0005
_POLL_SECONDS_MAX = 0.01
_POLL_SLOWER = 1.25
#: So many records are handed over before other requests get their turn.
_STEP = 1000


#: Partition (-1 leaves the choice to the partitioner), key, value, timestamp (0: now), headers.
#: Plain tuples: there are very many of them.
OutgoingRecord = tuple[
    int, bytes | None, bytes | None, int, list[tuple[str, str | bytes | None]] | None
]
#: Partition, offset, timestamp, and what went wrong.
Delivery = tuple[int, int, int, KafkaError | None]
_UNKNOWN: Delivery = (-1, -1, -1, None)


class RecordSender:
    """Sends lists of records and tells of each what became of it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._producer = Producer(
            {"linger.ms": 2, "acks": "all", "delivery.timeout.ms": 120_000, **settings}
        )
        self._waiting = 0
        self._pause_s = _POLL_SECONDS
        self._poll_handle: asyncio.TimerHandle | None = None

    async def send(self, topic: str, records: Sequence[OutgoingRecord]) -> list[Delivery]:
        """The fate of every record, in the order of the records."""
        return await (await self.hand_over(topic, records))

    async def hand_over(
        self, topic: str, records: Sequence[OutgoingRecord]
    ) -> asyncio.Future[list[Delivery]]:
        """Returns when Kafka's client has all records; what becomes of them comes later."""
        loop = asyncio.get_running_loop()
        batch = _Batch(len(records), loop.create_future())
        if not records:
            batch.future.set_result([])
            return batch.future
        self._waiting += 1
        batch.future.add_done_callback(self._count_down)
        try:
            for start in range(0, len(records), _STEP):
                if start:
                    await asyncio.sleep(0)
                await self._hand_over(topic, records[start : start + _STEP], batch, start)
        except BaseException:
            batch.future.cancel()
            raise
        self._poll_soon(loop)
        return batch.future

    def _count_down(self, _future: object) -> None:
        self._waiting -= 1

    async def _hand_over(
        self, topic: str, records: Sequence[OutgoingRecord], batch: _Batch, start: int
    ) -> None:
        produce, done = self._producer.produce, batch.done
        for index, (partition, key, value, timestamp, headers) in enumerate(records, start):
            report = partial(done, index)
            while True:
                try:
                    produce(topic, value, key, partition, report, None, timestamp, headers)
                except BufferError:
                    self._producer.poll(0)
                    await asyncio.sleep(_POLL_SECONDS)
                    continue
                except KafkaException as error:
                    batch.fail(index, error.args[0])
                except (TypeError, ValueError) as error:
                    batch.fail(index, KafkaError(KafkaError._INVALID_ARG, str(error)))
                break

    def _poll_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._poll_handle is not None and self._pause_s > 2 * _POLL_SECONDS:
            self._poll_handle.cancel()
            self._poll_handle = None
        if self._poll_handle is None:
            self._pause_s = _POLL_SECONDS
            self._poll_handle = loop.call_later(self._pause_s, self._poll, loop)

    def _poll(self, loop: asyncio.AbstractEventLoop) -> None:
        self._poll_handle = None
        if self._producer.poll(0):
            self._pause_s = _POLL_SECONDS
        else:
            # Kafka may be away for minutes.
            self._pause_s = min(self._pause_s * _POLL_SLOWER, _POLL_SECONDS_MAX)
        if self._waiting:
            self._poll_handle = loop.call_later(self._pause_s, self._poll, loop)

    def close(self, timeout_s: float) -> None:
        """Send what is under way; blocks."""
        if self._poll_handle is not None:
            self._poll_handle.cancel()
        self._producer.flush(timeout_s)


class _Batch:
    """Counts delivery reports down to the last one."""

    __slots__ = ("deliveries", "future", "left")

    def __init__(self, count: int, future: asyncio.Future[list[Delivery]]) -> None:
        self.deliveries: list[Delivery] = [_UNKNOWN] * count
        self.future = future
        self.left = count

    def done(self, index: int, error: KafkaError | None, message: Any) -> None:
        if error is None:
            place = message.partition(), message.offset(), message.timestamp()[1], None
            self.deliveries[index] = place
            self.left -= 1
            if not self.left:
                self._finish()
        else:
            self.fail(index, error)

    def fail(self, index: int, error: KafkaError) -> None:
        self.deliveries[index] = (-1, -1, -1, error)
        self.left -= 1
        if not self.left:
            self._finish()

    def _finish(self) -> None:
        # Whoever waited may be gone.
        if not self.future.done():
            self.future.set_result(self.deliveries)
