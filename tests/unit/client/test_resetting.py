"""Where a reader begins when nothing is committed, as a scripted broker is asked for it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.offsets import LATEST
from headrace.client.resetting import ByDuration, reset_positions
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.client.scripted_broker import ScriptedBroker

HOUR_MS = 3_600_000


def answer(request: ListOffsetsRequest, _version: int) -> ListOffsetsResponse:
    """Partition 0 has a record at offset 3 that is young enough, partition 1 has none; both end."""
    rows = [
        ListOffsetsPartitionResponse(
            partition_index=row.partition_index,
            offset=9 if row.timestamp == LATEST else 3 if row.partition_index == 0 else -1,
        )
        for row in request.topics[0].partitions
    ]
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=rows)])


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker({ApiKey.LIST_OFFSETS: answer}) as scripted:
        scripted.topics = {"t": 2}
        yield scripted


def asked(broker: ScriptedBroker) -> list[ListOffsetsRequest]:
    return [request for request in broker.asked if isinstance(request, ListOffsetsRequest)]


def test_a_duration_is_a_time_and_the_end_where_nothing_is_that_young(
    broker: ScriptedBroker,
) -> None:
    before = time.time_ns() // 1_000_000
    with KafkaClient(ClientConfig.from_settings({"bootstrap.servers": broker.address})) as client:
        found = reset_positions(
            client, [("t", 0), ("t", 1)], ByDuration(HOUR_MS), read_committed=False
        )
    assert found == {("t", 0): 3, ("t", 1): 9}
    by_time, end = asked(broker)
    for row in by_time.topics[0].partitions:
        assert before - HOUR_MS <= row.timestamp <= time.time_ns() // 1_000_000 - HOUR_MS
    assert [row.partition_index for row in end.topics[0].partitions] == [1]


@pytest.mark.parametrize("read_committed", [True, False])
def test_the_end_is_that_of_what_may_be_read(broker: ScriptedBroker, read_committed: bool) -> None:
    with KafkaClient(ClientConfig.from_settings({"bootstrap.servers": broker.address})) as client:
        reset_positions(client, [("t", 0)], LATEST, read_committed=read_committed)
    assert [request.isolation_level for request in asked(broker)] == [int(read_committed)]
