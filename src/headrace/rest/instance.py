"""One consumer that a client drives over HTTP.

Kafka's client blocks, so every call runs in a thread, one after the other per instance. Records
that were fetched and did not fit into an answer wait for the next one; only what a client was
given is ever committed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from headrace.rest.config import RestConfig
from headrace.rest.errors import RestError, illegal_state, instance_not_found
from headrace.rest.kafka_errors import from_kafka
from headrace.rest.record_reading import RecordReading
from headrace.rest.schemas import SchemaManager

_FETCH_MAX = 1000
#: Once something came, so long is waited for more.
_MORE_SECONDS = 0.02
_COMMIT_SECONDS = 5.0
_EXCLUSIVE = "Subscription to topics, partitions and pattern are mutually exclusive"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class InstanceConfig:
    """What a client may say when it makes an instance."""

    format: str
    auto_offset_reset: str | None
    auto_commit: bool
    fetch_min_bytes: int | None
    request_timeout_ms: int | None


class ConsumerInstance:
    """A consumer, what it fetched ahead, and how far its client has read."""

    def __init__(
        self,
        consumer: Consumer,
        config: RestConfig,
        instance_config: InstanceConfig,
        schemas: SchemaManager,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._consumer = consumer
        self._config = config
        self.config = instance_config
        self._reading = RecordReading(instance_config.format, schemas)
        self._threads = threads
        self._lock = asyncio.Lock()
        self._ahead: deque[Message] = deque()
        #: The next offset of each partition, as far as the client was given records.
        self._read_to: dict[tuple[str, int], int] = {}
        self._topics: list[str] = []
        self._assigned: list[tuple[str, int]] | None = None
        self._committed_at = 0.0
        self._is_closed = False
        self.used_at = time.monotonic()

    @property
    def is_busy(self) -> bool:
        return self._lock.locked()

    async def run(self, call: Callable[..., _T], *args: Any) -> _T:
        """A step of this instance in a thread, alone; its failures are the API's."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            if self._is_closed:
                raise instance_not_found()
            try:
                return await loop.run_in_executor(self._threads, call, *args)
            except KafkaException as error:
                raise from_kafka(error) from error
            finally:
                self.used_at = time.monotonic()

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        async with self._lock:
            if not self._is_closed:
                self._is_closed = True
                await loop.run_in_executor(self._threads, self._close)

    def _close(self) -> None:
        try:
            self._commit_if_possible()
            self._consumer.close()
        except (KafkaException, RuntimeError):
            # The group notices by itself that a member is gone.
            pass

    # ---------------------------------------------------------------- which partitions

    def subscribe(self, topics: list[str]) -> None:
        if self._assigned is not None:
            raise illegal_state(_EXCLUSIVE)
        self._consumer.subscribe(topics, on_assign=self._forget, on_revoke=self._revoked)
        self._topics = topics

    def unsubscribe(self) -> None:
        self._commit_if_possible()
        self._consumer.unsubscribe()
        if self._assigned is not None:
            self._consumer.unassign()
        self._ahead.clear()
        self._read_to.clear()
        self._topics, self._assigned = [], None

    def topics(self) -> list[str]:
        return self._topics

    def assign(self, partitions: list[tuple[str, int]]) -> None:
        if self._topics:
            raise illegal_state(_EXCLUSIVE)
        self._consumer.assign([TopicPartition(*place) for place in partitions])
        self._assigned = partitions
        self._ahead.clear()
        self._read_to.clear()

    def assignment(self) -> list[tuple[str, int]]:
        if self._assigned is not None:
            return self._assigned
        return [(place.topic, place.partition) for place in self._consumer.assignment()]

    def _revoked(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._commit_if_possible()
        self._forget(consumer, places)

    def _forget(self, _consumer: Consumer, places: list[TopicPartition]) -> None:
        """What was fetched ahead of these partitions is fetched again by whoever has them."""
        gone = {(place.topic, place.partition) for place in places}
        kept = [one for one in self._ahead if _place(one) not in gone]
        self._ahead = deque(kept)
        for place in gone:
            self._read_to.pop(place, None)

    # ---------------------------------------------------------------- positions

    def seek(self, offsets: dict[tuple[str, int], int]) -> None:
        assigned = set(self.assignment())
        for topic, partition in offsets:
            if (topic, partition) not in assigned:
                raise illegal_state(f"No current assignment for partition {topic}-{partition}")
        places = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        self._forget(self._consumer, places)
        if self._assigned is None:
            for place in places:
                self._consumer.seek(place)
            return
        # Right after an assignment there is nothing yet that could be moved, so it is made anew.
        starts = {place: self._read_to.get(place) for place in self._assigned} | offsets
        self._consumer.assign(
            [
                TopicPartition(*place) if start is None else TopicPartition(*place, start)
                for place, start in starts.items()
            ]
        )
        self._read_to |= {place: offset for place, offset in offsets.items() if offset >= 0}

    def seek_to_beginning(self, places: list[tuple[str, int]]) -> None:
        self.seek(dict.fromkeys(places, OFFSET_BEGINNING))

    def seek_to_end(self, places: list[tuple[str, int]]) -> None:
        self.seek(dict.fromkeys(places, OFFSET_END))

    def seek_to_times(self, times: dict[tuple[str, int], int]) -> None:
        asked = [TopicPartition(*place, time_ms) for place, time_ms in times.items()]
        found = self._consumer.offsets_for_times(asked, self._config.client_timeout_s)
        self.seek({(one.topic, one.partition): one.offset for one in found})

    # ---------------------------------------------------------------- records

    def records(self, timeout_ms: int, max_bytes: int) -> bytes:
        """Records as a list in JSON: until the time is over, or there are enough of them."""
        timeout = self.config.request_timeout_ms
        timeout = self._config.request_timeout_ms if timeout is None or timeout < 0 else timeout
        if timeout_ms > 0:
            timeout = min(timeout, timeout_ms)
        limit = self._config.request_max_bytes
        limit = min(limit, max_bytes) if max_bytes > 0 else limit
        messages = self._fetch(time.monotonic() + timeout / 1000, limit)
        read = self._reading.read(messages)
        # What cannot be read waits for the client: it may seek past it, or read it as binary.
        self._ahead.extendleft(reversed(messages[read.number :]))
        if read.failure is not None and not read.number:
            raise read.failure
        for message in messages[: read.number]:
            self._read_to[_place(message)] = int(message.offset() or 0) + 1
        now = time.monotonic()
        if self.config.auto_commit and now - self._committed_at > _COMMIT_SECONDS:
            self._committed_at = now
            self._commit_if_possible()
        return read.body

    def _fetch(self, deadline: float, limit: int) -> list[Message]:
        least = self.config.fetch_min_bytes
        least = self._config.fetch_min_bytes if least is None else least
        taken: list[Message] = []
        size = 0
        while True:
            while self._ahead:
                message = self._ahead[0]
                needed = len(message.value() or b"") + len(message.key() or b"")
                if taken and size + needed > limit:
                    return taken
                taken.append(self._ahead.popleft())
                size += needed
            wait_s = deadline - time.monotonic()
            if wait_s <= 0 or size >= limit or (taken and 0 <= least <= size):
                return taken
            quick = bool(taken) and least < 0
            came = self._consumer.consume(
                _FETCH_MAX, min(wait_s, _MORE_SECONDS) if quick else min(wait_s, 0.1)
            )
            self._take_in(came, has_some=bool(taken))
            if quick and not came:
                return taken

    def _take_in(self, messages: list[Message], *, has_some: bool) -> None:
        for message in messages:
            error = message.error()
            if error is None:
                self._ahead.append(message)
            elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                # A topic that is subscribed to may come later.
                continue
            elif not has_some and not self._ahead:
                raise _read_error(error)

    # ---------------------------------------------------------------- committing

    def commit(self, offsets: list[tuple[str, int, int, str | None]] | None) -> list[Any]:
        """Commit these offsets, or all that was read."""
        if offsets is None:
            return self._commit_read()
        places = [
            TopicPartition(topic, partition, offset + 1, metadata or "")
            for topic, partition, offset, metadata in offsets
        ]
        return list(self._consumer.commit(offsets=places, asynchronous=False) or [])

    def _commit_if_possible(self) -> None:
        """The client did not ask for this commit, so its failure is not the client's."""
        if self.config.auto_commit:
            with suppress(KafkaException):
                self._commit_read()

    def _commit_read(self) -> list[Any]:
        places = [TopicPartition(*place, offset) for place, offset in self._read_to.items()]
        if not places:
            return []
        return list(self._consumer.commit(offsets=places, asynchronous=False) or [])

    def committed(self, places: list[tuple[str, int]]) -> list[TopicPartition]:
        asked = [TopicPartition(*place) for place in places]
        found = self._consumer.committed(asked, self._config.client_timeout_s)
        return [one for one in found if one.offset >= 0]


def _place(message: Message) -> tuple[str, int]:
    return str(message.topic()), int(message.partition() or 0)


def _read_error(error: KafkaError) -> RestError:
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return RestError(500, 50002, f"Kafka error: {error.str()}")
    return from_kafka(error)
