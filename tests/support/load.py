"""Producers that never stop writing, and remember what was acknowledged and where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from confluent_kafka import KafkaError, Message, Producer

from tests.support.background import Background
from tests.support.node import Node
from tests.support.reading import Seen, read_topic

IDEMPOTENT = {"enable.idempotence": True}
#: How far a producer may be ahead of its acknowledgements.
_AHEAD_MAX = 2_000


class Load(Background):
    """One producer in a thread of its own; values are numbers, in the order of sending."""

    def __init__(
        self,
        node: Node,
        topic: str,
        *,
        partitions: int = 1,
        keys: int | None = None,
        ahead_max: int = _AHEAD_MAX,
        options: Mapping[str, object] = IDEMPOTENT,
    ) -> None:
        super().__init__(f"load on {topic}")
        self.topic = topic
        self._node = node
        self._partitions = partitions
        self._keys = keys
        self._ahead_max = ahead_max
        #: Acknowledged: (partition, offset) -> number.
        self.acknowledged: dict[tuple[int, int], int] = {}
        self.failed: list[str] = []
        self._sent = 0
        self._producer = Producer(
            {
                "bootstrap.servers": node.bootstrap,
                "linger.ms": 2,
                "batch.num.messages": 50,
                "reconnect.backoff.ms": 5,
                "reconnect.backoff.max.ms": 30,
                "retry.backoff.ms": 10,
                "message.timeout.ms": 120_000,
                "topic.metadata.refresh.interval.ms": 500,
                "log_level": 0,
                **dict(options),
            }
        )

    def finish(self, timeout: float = 60.0) -> None:
        """Send no more, and wait until every record has its answer."""
        self.stop(timeout)
        assert self._producer.flush(timeout) == 0, f"{self.topic}: records without an answer"

    def _run(self) -> None:
        while not self._stop.is_set():
            if len(self._producer) < self._ahead_max:
                for _ in range(20):
                    self._send()
            self._producer.poll(0.002)

    def _send(self) -> None:
        number = self._sent
        self._sent += 1
        self._producer.produce(
            self.topic,
            b"%d" % number,
            b"%d" % (number % self._keys) if self._keys else None,
            partition=number % self._partitions,
            on_delivery=self._delivered,
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        self.acknowledged[partition, offset] = int(message.value() or b"")

    def check_all_there_once_and_in_order(self, *, some_failed: bool = False) -> list[Seen]:
        """What is read is what was acknowledged, at those offsets, once and in order.

        With `some_failed`, records whose producer got no answer may be there as well.
        """
        assert some_failed or self.failed == []
        records = read_topic(self._node, self.topic, partitions=self._partitions)
        found = {(one.partition, one.offset): int(one.value or b"") for one in records}
        lost = self.acknowledged.items() - found.items()
        assert lost == set(), f"{self.topic}: {len(lost)} acknowledged records are not there"
        by_partition = defaultdict(list)
        for one in records:
            by_partition[one.partition].append((one.offset, int(one.value or b"")))
        for partition, pairs in by_partition.items():
            numbers = [number for _, number in pairs]
            assert numbers == sorted(set(numbers)), f"{self.topic}-{partition}: order or doubles"
            offsets = [offset for offset, _ in pairs]
            assert offsets == list(range(len(offsets))), f"{self.topic}-{partition}: a gap"
        assert len(found) - len(self.acknowledged) <= len(self.failed)
        return records

    def check_latest_of_every_key(self) -> list[Seen]:
        """For compacted topics: nothing is older than what was acknowledged last for its key."""
        assert self.failed == []
        records = read_topic(self._node, self.topic, partitions=self._partitions)
        latest: dict[bytes | None, int] = {}
        for one in records:
            number = int(one.value or b"")
            assert self.acknowledged.get((one.partition, one.offset)) == number
            latest[one.key] = max(number, latest.get(one.key, -1))
        expected: dict[bytes | None, int] = {}
        assert self._keys is not None
        for number in sorted(self.acknowledged.values()):
            expected[b"%d" % (number % self._keys)] = number
        assert latest == expected
        return records
