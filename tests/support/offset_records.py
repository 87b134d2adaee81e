"""Records of `__consumer_offsets` by the million, written by a producer that may do so.

Brokers take records for their internal topics from one client id only; Kafka's own does the same.
A coordinator that runs does not look at them: it reads its log when it starts.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Producer

from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue

_ADMIN_CLIENT_ID = "__admin_client"
_TOPIC = "__consumer_offsets"
#: Records between two looks at the acknowledgements.
_POLL_EVERY = 10_000

OffsetRecord = tuple[OffsetCommitKey, OffsetCommitValue | None]


def offset_record(
    group: str, topic: str, partition: int, offset: int, commit_timestamp_ms: int
) -> OffsetRecord:
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    return key, OffsetCommitValue(offset=offset, commit_timestamp=commit_timestamp_ms)


def write_offset_records(
    bootstrap: str, records: Iterable[OffsetRecord], *, partition: int = 0
) -> int:
    """Write them to one partition, in order; returns how many there were."""
    failed: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": _ADMIN_CLIENT_ID,
            "enable.idempotence": False,
            "max.in.flight": 1,
            "acks": "all",
            "linger.ms": 5,
            "batch.size": 100_000,
            "queue.buffering.max.messages": 1_000_000,
            "log_level": 3,
        }
    )
    codec = GroupRecordCodec()
    count = 0
    for key, value in records:
        key_bytes, value_bytes = codec.encode(key, value)
        producer.produce(_TOPIC, value_bytes, key_bytes, partition=partition, on_delivery=delivered)
        count += 1
        if count % _POLL_EVERY == 0:
            producer.poll(0)
            while len(producer) > 500_000:
                producer.poll(0.05)
    producer.flush(60)
    assert not failed, failed[0]
    return count
