"""Members of consumer groups, each in a thread of its own, watched through one board."""

from __future__ import annotations

import asyncio
import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar, cast

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AioRange
from aiokafka.coordinator.assignors.roundrobin import (
    RoundRobinPartitionAssignor as AioRoundRobin,
)
from confluent_kafka import Consumer
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

PATIENCE_S = 30
#: Members hear of a rebalance by their next heartbeat.
HEARTBEAT_MS = 200


Test = TypeVar("Test", bound=Callable[..., None])


def tried_again_for_kafka_python(test: Test) -> Test:
    """Run a test with kafka-python members up to three times.

    kafka-python 3.0 now and then keeps its own event loop busy for a tenth of a second at a time
    (it warns of that itself), sends no heartbeats meanwhile, is removed from its group as it must
    be, and does not come back. A fault of the node would fail all three.

    It is not our answers that bring it about: three of its members joining one after the other and
    the first one leaving, in turns against both brokers on a busy machine and with 12 s of
    patience, ended like that in 2 of 17 rounds with Apache Kafka 4.3.1 and in 0 of 17 with a node.
    """

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        for _ in range(2):
            try:
                test(*args, **kwargs)
            except AssertionError as error:
                kinds = repr(kwargs)
                if "Member" in kinds and "KafkaPython" not in kinds:
                    raise
                print(f"once more after: {error}")
            else:
                return
        test(*args, **kwargs)

    return cast(Test, pytest.mark.timeout(300)(run))


class Board:
    """What all members have and have read; tests wait here until it looks as they expect."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.partitions: dict[str, frozenset[int]] = {}
        self.values: list[bytes] = []
        self.readers: dict[bytes, str] = {}
        self.failures: list[BaseException] = []

    def note(self, name: str, partitions: frozenset[int], values: list[bytes]) -> None:
        with self._changed:
            self.partitions[name] = partitions
            self.values += values
            self.readers.update(dict.fromkeys(values, name))
            self._changed.notify_all()

    def gone(self, name: str, failure: BaseException | None) -> None:
        with self._changed:
            self.partitions.pop(name, None)
            if failure is not None:
                self.failures.append(failure)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            is_so = self._changed.wait_for(lambda: self.failures or condition(), PATIENCE_S)
        assert not self.failures, self.failures
        assert is_so, f"{self.partitions}, {len(self.values)} values"

    def shares(self, count: int, of: int) -> bool:
        """Whether so many members have all partitions among them, each once and evenly."""
        held = sorted(index for partitions in self.partitions.values() for index in partitions)
        sizes = {len(partitions) for partitions in self.partitions.values()}
        is_even = not sizes or max(sizes) - min(sizes) <= 1
        return len(self.partitions) == count and held == list(range(of)) and is_even


class Member(ABC):
    """One consumer that subscribes, polls until it is stopped, and leaves in order."""

    kind: ClassVar[str]

    def __init__(self, board: Board, name: str, bootstrap: str, topic: str, group: str) -> None:
        self.name = name
        self._board = board
        self._bootstrap = bootstrap
        self._topic = topic
        self._group = group
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        failure = None
        try:
            self.consume()
        except BaseException as error:
            failure = error
        self._board.gone(self.name, failure)

    @abstractmethod
    def consume(self) -> None:
        """Poll until `_stopped` is set."""


class ConfluentMember(Member):
    """librdkafka; further settings as it names them."""

    kind = "confluent"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args)
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.revoked = 0

    def consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": self._group,
                "client.id": self.name,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "range",
                "heartbeat.interval.ms": HEARTBEAT_MS,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
                **self._settings,
            }
        )
        consumer.subscribe([self._topic], on_revoke=self._revoke)
        while not self._stopped.is_set():
            messages = [one for one in consumer.consume(100, 0.05) if one.error() is None]
            held = frozenset(one.partition for one in consumer.assignment())
            self._board.note(self.name, held, [one.value() or b"" for one in messages])
        consumer.close()

    def _revoke(self, consumer: Consumer, partitions: list[Any]) -> None:
        if not self._stopped.is_set():
            self.revoked += 1


class KafkaPythonMember(Member):
    """kafka-python."""

    kind = "kafka-python"
    strategies: ClassVar[dict[str, Any]] = {}

    def consume(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=self._group,
            client_id=self.name,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=HEARTBEAT_MS,
            reconnect_backoff_max_ms=100,
            **self.strategies,
        )
        # kafka-python may lead a group before it has heard of the topic, and then assigns nothing.
        assert consumer.partitions_for_topic(self._topic)
        consumer.subscribe([self._topic])
        while not self._stopped.is_set():
            polled = consumer.poll(timeout_ms=50)
            held = frozenset(one.partition for one in consumer.assignment())
            values = [one.value for records in polled.values() for one in records]
            self._board.note(self.name, held, values)
        consumer.close()


class KafkaPythonRange(KafkaPythonMember):
    strategies: ClassVar[dict[str, Any]] = {
        "partition_assignment_strategy": [RangePartitionAssignor]
    }


class KafkaPythonRoundRobin(KafkaPythonMember):
    strategies: ClassVar[dict[str, Any]] = {
        "partition_assignment_strategy": [RoundRobinPartitionAssignor]
    }


class AioMember(Member):
    """aiokafka, with a loop of its own."""

    kind = "aiokafka"
    strategies: ClassVar[dict[str, Any]] = {}

    def consume(self) -> None:
        asyncio.run(self._consume())

    async def _consume(self) -> None:
        async with AIOKafkaConsumer(
            self._topic,
            bootstrap_servers=self._bootstrap,
            group_id=self._group,
            client_id=self.name,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=HEARTBEAT_MS,
            **self.strategies,
        ) as consumer:
            while not self._stopped.is_set():
                polled = await consumer.getmany(timeout_ms=50)
                held = frozenset(one.partition for one in consumer.assignment())
                values = [one.value for records in polled.values() for one in records]
                self._board.note(self.name, held, values)


class AioRangeMember(AioMember):
    strategies: ClassVar[dict[str, Any]] = {"partition_assignment_strategy": [AioRange]}


class AioRoundRobinMember(AioMember):
    strategies: ClassVar[dict[str, Any]] = {"partition_assignment_strategy": [AioRoundRobin]}
