"""A well-behaved client that must not notice what others do to its broker."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, TopicPartition

from tests.support.load import Load
from tests.support.node import Node
from tests.support.readiness import eventually
from tests.support.reading import OFFSET_BEGINNING
from tests.support.workload import create_topic

#: Well below what a loaded machine does; a probe needs progress, not speed.
_AHEAD_MAX = 200


class Probe:
    """Produces to a topic of its own without a pause, and reads it as it grows."""

    def __init__(self, node: Node, topic: str = "probe") -> None:
        create_topic(node, topic)
        self._node = node
        self.load = Load(node, topic, ahead_max=_AHEAD_MAX)
        self._numbers: list[int] = []
        self._stop = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"probe of {topic}", daemon=True)

    def __enter__(self) -> Self:
        self.load.start()
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.load.abandon()
            self._stop.set()

    def must_progress(self, records: int = 50) -> None:
        """Wait until so many more records went through, there and back."""
        wanted = len(self._numbers) + records
        eventually(lambda: len(self._numbers) >= wanted, timeout=20)

    def finish(self) -> None:
        """Everything that was acknowledged came through, once and in order."""
        self.load.finish()
        eventually(lambda: len(self._numbers) >= len(self.load.acknowledged))
        self._stop.set()
        self._reader.join(30)
        assert self._numbers == sorted(self.load.acknowledged.values())
        self.load.check_all_there_once_and_in_order()

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._node.bootstrap,
                "group.id": "none",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.load.topic, 0, OFFSET_BEGINNING)])
        while not self._stop.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                self._numbers.append(int(message.value() or b""))
            time.sleep(0)
        consumer.close()
