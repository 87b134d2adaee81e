"""A coordinator whose partition of `__consumer_offsets` was never compacted: two million records.

It answers COORDINATOR_LOAD_IN_PROGRESS until it has read them, the node serves everybody else in
the meantime, and then every offset is the last one that was written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.support.headrace_node import HeadraceNode
from tests.support.offset_records import OffsetRecord, offset_record, write_offset_records
from tests.support.raw_call import calls_to

RECORDS = 2_000_000
GROUPS = 2_000
PARTITIONS = 12
KEYS = GROUPS * PARTITIONS
SETTINGS = {"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1"}
DEADLINE_S = 120.0


def records() -> Iterator[OffsetRecord]:
    """Every key comes some eighty times, with a rising offset; of group-7 only deletions stay."""
    now_ms = int(time.time() * 1000)
    for number in range(RECORDS):
        place, offset = number % KEYS, number // KEYS
        yield offset_record(f"group-{place % GROUPS}", "orders", place // GROUPS, offset, now_ms)
    for partition in range(PARTITIONS):
        yield offset_record("group-7", "orders", partition, 0, now_ms)[0], None


def last_offset(group: int, partition: int) -> int:
    place = partition * GROUPS + group
    return (RECORDS - 1 - place) // KEYS


@pytest.mark.timeout(400)
def test_two_million_records_are_read_while_others_are_served(tmp_path: Path) -> None:
    node = HeadraceNode(tmp_path / "data", settings=SETTINGS)
    with node:
        create_topic(node, "orders")
        commit_one(node)
        assert write_offset_records(node.bootstrap, records()) == RECORDS + PARTITIONS
    assert sum(one.stat().st_size for one in (tmp_path / "data").glob("__consumer_offsets-0/*.log"))
    node.start()
    try:
        answers_meanwhile = wait_until_loaded(node)
        # Whether it was loading at all when the first question came is for the log size to see to.
        assert answers_meanwhile > 0
        for group in (0, 1, 999, GROUPS - 1):
            assert committed(node, group) == [last_offset(group, p) for p in range(PARTITIONS)]
        assert committed(node, 7) == [-1001] * PARTITIONS
    finally:
        node.stop()


def wait_until_loaded(node: HeadraceNode) -> int:
    """Ask for an offset until the coordinator answers; counts what others got until then."""
    offset_fetch = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id="group-0",
                topics=[OffsetFetchRequestTopics(name="orders", partition_indexes=[0])],
            )
        ]
    )
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    served = 0
    deadline = time.monotonic() + DEADLINE_S
    with calls_to(node) as call:
        while time.monotonic() < deadline:
            code = ErrorCode(call(offset_fetch, 9).groups[0].error_code)
            if code is ErrorCode.NONE:
                return served
            assert code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert call(metadata, None).topics[0].error_code == 0
            served += 1
    raise AssertionError(f"not loaded within {DEADLINE_S} s")


def create_topic(node: HeadraceNode, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)


def commit_one(node: HeadraceNode) -> None:
    """The internal topic is made by the first group that needs it."""
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "first"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    consumer.close()


def committed(node: HeadraceNode, group: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": f"group-{group}"})
    places = [TopicPartition("orders", partition) for partition in range(PARTITIONS)]
    try:
        return [one.offset for one in consumer.committed(places, timeout=30)]
    finally:
        consumer.close()
