"""Requests to the leaders of partitions."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.offsets import LATEST, MAX_TIMESTAMP, list_offsets
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.client.scripted_broker import Answer, Script, ScriptedBroker, api_versions
from tests.unit.client.test_blocking import client_of


def offsets_script(codes: dict[int, list[ErrorCode]]) -> Script:
    """Answers each partition with its codes one after the other, then with offset 100 + index."""

    def script(request: ListOffsetsRequest, _version: int) -> Answer:
        rows = []
        for partition in request.topics[0].partitions:
            index = partition.partition_index
            left = codes.get(index, [])
            code = left.pop(0) if left else ErrorCode.NONE
            rows.append(
                ListOffsetsPartitionResponse(
                    partition_index=index, error_code=code, offset=100 + index
                )
            )
        topic = ListOffsetsTopicResponse(name=request.topics[0].name, partitions=rows)
        return ListOffsetsResponse(topics=[topic])

    return script


def test_only_partitions_whose_leader_moved_are_asked_again() -> None:
    script = offsets_script({1: [ErrorCode.NOT_LEADER_OR_FOLLOWER]})
    with ScriptedBroker({ApiKey.LIST_OFFSETS: script}) as broker:
        broker.topics = {"t": 3}
        with client_of(broker.address) as client:
            found = list_offsets(client, {("t", index): LATEST for index in range(3)})
    assert found == {("t", 0): 100, ("t", 1): 101, ("t", 2): 102}
    asked = [len(r.topics[0].partitions) for r in broker.asked if isinstance(r, ListOffsetsRequest)]
    assert asked == [3, 1]


def test_an_error_for_good_is_that_partitions_answer() -> None:
    script = offsets_script({0: [ErrorCode.TOPIC_AUTHORIZATION_FAILED]})
    with ScriptedBroker({ApiKey.LIST_OFFSETS: script}) as broker:
        broker.topics = {"t": 2}
        with client_of(broker.address) as client:
            found = list_offsets(client, {("t", 0): LATEST, ("t", 1): LATEST})
    refused = found["t", 0]
    assert isinstance(refused, KafkaError)
    assert refused.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert found["t", 1] == 101


def test_a_special_timestamp_that_the_broker_is_too_old_for_is_told() -> None:
    scripts = {ApiKey.API_VERSIONS: lambda _r, _v: api_versions(list_offsets=(1, 6))}
    with ScriptedBroker(scripts) as broker:
        broker.topics = {"t": 1}
        with client_of(broker.address) as client:
            found = list_offsets(client, {("t", 0): MAX_TIMESTAMP})
    refused = found["t", 0]
    assert isinstance(refused, KafkaError)
    assert refused.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_partition_that_does_not_exist_times_out_with_its_error() -> None:
    with (
        ScriptedBroker({}) as broker,
        client_of(broker.address, **{"default.api.timeout.ms": "20"}) as client,
    ):
        found = list_offsets(client, {("nope", 0): LATEST})
    assert isinstance(found["nope", 0], KafkaError)
