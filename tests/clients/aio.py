"""aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.clients.client import Client, Row, SendFailedError


class Aio(Client):
    name: ClassVar[str] = "aiokafka"

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
        async def send() -> list[int]:
            async with AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                compression_type=None if codec == "none" else codec,
                acks="all" if acks == -1 else acks,
                enable_idempotence=idempotent,
                max_request_size=max_bytes,
                linger_ms=5,
            ) as producer:
                futures = [
                    await producer.send(
                        topic,
                        value=row.value,
                        key=row.key,
                        headers=list(row.headers),
                        timestamp_ms=row.timestamp,
                        partition=partition,
                    )
                    for row in rows
                ]
                sent = await asyncio.gather(*futures)
                return [-1 if one is None else one.offset for one in sent]

        try:
            return asyncio.run(send())
        except KafkaError as error:
            raise SendFailedError(type(error).__name__) from error

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {partition: [] for partition in starts}

        async def fetch() -> None:
            async with self.consumer() as consumer:
                consumer.assign([TopicPartition(topic, partition) for partition in starts])
                for partition, offset in starts.items():
                    consumer.seek(TopicPartition(topic, partition), offset)
                while sum(map(len, found.values())) < count:
                    for where, messages in (await consumer.getmany(timeout_ms=50)).items():
                        found[where.partition] += map(_row, messages)

        asyncio.run(fetch())
        return found

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        where = TopicPartition(topic, partition)

        async def ask() -> tuple[int, int]:
            async with self.consumer() as consumer:
                low = await consumer.beginning_offsets([where])
                high = await consumer.end_offsets([where])
                return low[where], high[where]

        return asyncio.run(ask())

    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        where = TopicPartition(topic, partition)

        async def ask() -> int | None:
            async with self.consumer() as consumer:
                found = (await consumer.offsets_for_times({where: timestamp}))[where]
                return None if found is None else found.offset

        return asyncio.run(ask())

    def consumer(self, **settings: Any) -> Any:
        return AIOKafkaConsumer(
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
