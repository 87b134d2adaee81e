"""What a member of a group commits, with a scripted broker as its coordinator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.fetch_request import FetchConfig
from headrace.client.groups_consumer import GroupConsumer, GroupConsumerConfig
from headrace.client.membership.config import MemberConfig
from headrace.client.offsets import LATEST
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tests.unit.client.scripted_broker import ScriptedBroker
from tests.unit.client.scripted_groups import END, coordinate_one_member

TOPICS = {"t": 2}
AT_THE_END = {("t", 0): END, ("t", 1): END}


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as scripted:
        scripted.topics = dict(TOPICS)
        yield scripted


def join(client: KafkaClient, *, commits: bool = True) -> GroupConsumer:
    """A member that has its partitions; it begins at the end of them."""
    config = GroupConsumerConfig(
        MemberConfig("g"), FetchConfig(reset_to=LATEST), enable_auto_commit=commits
    )
    consumer = GroupConsumer(client, config, lambda: TOPICS)
    while not consumer.reader.positions:
        consumer.keep_up(1_000)
    return consumer


def connect(broker: ScriptedBroker) -> KafkaClient:
    return KafkaClient(ClientConfig.from_settings({"bootstrap.servers": broker.address}))


@pytest.mark.parametrize("commits", [True, False])
def test_where_a_member_begins_is_committed_though_nothing_comes(
    broker: ScriptedBroker, commits: bool
) -> None:
    offsets = coordinate_one_member(broker)
    with connect(broker) as client:
        join(client, commits=commits).close()
    assert offsets == (AT_THE_END if commits else {})


def test_where_a_member_goes_on_when_its_offset_is_gone_is_committed(
    broker: ScriptedBroker,
) -> None:
    def gone(request: FetchRequest, _version: int) -> FetchResponse:
        code = ErrorCode.OFFSET_OUT_OF_RANGE
        rows = [
            PartitionData(partition_index=row.partition, error_code=code)
            for row in request.topics[0].partitions
        ]
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=rows)])

    broker.scripts[ApiKey.FETCH] = gone
    offsets = coordinate_one_member(broker)
    offsets |= {("t", 0): END + 50, ("t", 1): END + 50}
    with connect(broker) as client:
        consumer = join(client)
        assert list(consumer.reader.poll(0)) == []
        consumer.close()
    assert offsets == AT_THE_END
