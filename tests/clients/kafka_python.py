"""kafka-python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from tests.clients.client import Client, Row, SendFailedError


class KafkaPython(Client):
    name: ClassVar[str] = "kafka-python"

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
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            compression_type=None if codec == "none" else codec,
            acks=acks,
            enable_idempotence=idempotent,
            max_request_size=max_bytes,
            linger_ms=5,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    value=row.value,
                    key=row.key,
                    headers=list(row.headers),
                    timestamp_ms=row.timestamp,
                    partition=partition,
                )
                for row in rows
            ]
            producer.flush(60)
            return [future.get(30).offset for future in futures]
        except KafkaError as error:
            raise SendFailedError(type(error).__name__) from error
        finally:
            producer.close()

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {partition: [] for partition in starts}
        consumer = self.consumer()
        try:
            consumer.assign([TopicPartition(topic, partition) for partition in starts])
            for partition, offset in starts.items():
                consumer.seek(TopicPartition(topic, partition), offset)
            while sum(map(len, found.values())) < count:
                for where, messages in consumer.poll(50).items():
                    found[where.partition] += map(_row, messages)
        finally:
            consumer.close()
        return found

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        consumer = self.consumer()
        where = TopicPartition(topic, partition)
        try:
            return consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]
        finally:
            consumer.close()

    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        consumer = self.consumer()
        where = TopicPartition(topic, partition)
        try:
            found = consumer.offsets_for_times({where: timestamp})[where]
            return None if found is None else found.offset
        finally:
            consumer.close()

    def consumer(self, **settings: Any) -> Any:
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            auto_offset_reset="none",
            fetch_max_wait_ms=50,
            **settings,
        )


def _row(message: Any) -> Row:
    return Row(
        message.value, message.key, tuple(message.headers), message.timestamp, message.offset
    )
