"""Offsets that nobody needs any more leave a running node, and stay away after a restart."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.testing import EmbeddedKafka
from tests.support.offset_records import offset_record, write_offset_records

SETTINGS = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "100",
    "offsets.topic.num.partitions": "1",
}
NO_OFFSET = -1001
DEADLINE_S = 30.0
MINUTE_MS = 60_000


def test_old_offsets_and_their_empty_groups_expire_and_young_ones_stay() -> None:
    with EmbeddedKafka(SETTINGS) as kafka:
        topic = kafka.topic(partitions=2)
        commit(kafka, "young", topic)
        now_ms = int(time.time() * 1000)
        write_offset_records(
            kafka.bootstrap_servers,
            [
                offset_record("old", topic, 0, 5, now_ms - 2 * MINUTE_MS),
                offset_record("old", topic, 1, 6, now_ms - 2 * MINUTE_MS),
                offset_record("mixed", topic, 0, 7, now_ms - 2 * MINUTE_MS),
                offset_record("mixed", topic, 1, 8, now_ms + 60 * MINUTE_MS),
            ],
        )
        kafka.stop()
        kafka.start()
        wait_until_gone(kafka, "old")
        assert committed(kafka, "old", topic) == [NO_OFFSET, NO_OFFSET]
        assert committed(kafka, "mixed", topic) == [NO_OFFSET, 8]
        assert committed(kafka, "young", topic) == [3, 4]
        kafka.settings["offsets.retention.check.interval.ms"] = "600000"
        kafka.kill()
        kafka.start()
        assert groups(kafka) == {"mixed", "young"}
        assert committed(kafka, "mixed", topic) == [NO_OFFSET, 8]


def commit(kafka: EmbeddedKafka, group: str, topic: str) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
    offsets = [TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def committed(kafka: EmbeddedKafka, group: str, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
    try:
        places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        return [one.offset for one in consumer.committed(places, timeout=30)]
    finally:
        consumer.close()


def groups(kafka: EmbeddedKafka) -> set[str]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return {one.group_id for one in admin.list_consumer_groups().result(30).valid}


def wait_until_gone(kafka: EmbeddedKafka, group: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while group in groups(kafka):
        assert time.monotonic() < deadline, f"{group} is still there"
