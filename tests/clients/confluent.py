"""confluent-kafka (librdkafka)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.clients.client import Client, Row, SendFailedError


class Confluent(Client):
    name: ClassVar[str] = "confluent-kafka"

    def write(
        self,
        topic: str,
        rows: Sequence[Row],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
        max_bytes: int = 1_000_000,
    ) -> list[int]:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": idempotent,
                "message.max.bytes": max_bytes,
                "message.timeout.ms": 30_000,
                "linger.ms": 5,
            }
        )
        offsets: list[int] = []
        errors: list[str] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                errors.append(error.name())
            else:
                offsets.append(-1 if acks == 0 else message.offset())

        for row in rows:
            producer.produce(
                topic,
                value=row.value,
                key=row.key,
                headers=list(row.headers),
                timestamp=row.timestamp,
                partition=partition,
                on_delivery=delivered,
            )
        assert producer.flush(60) == 0
        if errors:
            raise SendFailedError(errors[0])
        return offsets

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {partition: [] for partition in starts}
        consumer = self.consumer()
        try:
            consumer.assign([TopicPartition(topic, p, offset) for p, offset in starts.items()])
            while sum(map(len, found.values())) < count:
                for message in consumer.consume(count, timeout=0.05):
                    assert message.error() is None, message.error()
                    found[message.partition()].append(_row(message))
        finally:
            consumer.close()
        return found

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        consumer = self.consumer()
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
            return low, high
        finally:
            consumer.close()

    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        consumer = self.consumer()
        try:
            (found,) = consumer.offsets_for_times(
                [TopicPartition(topic, partition, timestamp)], timeout=30
            )
            return found.offset if found.offset >= 0 else None
        finally:
            consumer.close()

    def consumer(self, **settings: Any) -> Any:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "not-used",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
                **settings,
            }
        )


def _row(message: Any) -> Row:
    return Row(
        message.value(),
        message.key(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
        message.offset(),
    )
