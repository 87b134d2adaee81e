"""An error that concerns a whole request reaches the client in every API and version."""

from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.api_table import OPEN, Api, ApiTable
from headrace.broker.error_replies import error_response
from headrace.broker.parked import Close
from headrace.protocol.apis import ApiKey
from headrace.protocol.compiler import decode, encode
from headrace.protocol.messages.delete_topics import DeleteTopicsRequest
from headrace.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.protocol.messages.metadata import MetadataRequest
from headrace.protocol.messages.produce import ProduceRequest
from headrace.protocol.schema import Struct
from tests.support.message_values import build, plain
from tests.unit.broker.frames import error_codes
from tests.unit.broker.harness import Broker

ERROR = KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "not now")


def row(key: ApiKey) -> Api:
    table = ApiTable([(key, OPEN, lambda context, request: None)])
    api = table.get(key)
    assert api is not None
    return api


def refusal(api: Api, request: Any, version: int) -> Any:
    """The error response after a trip over the wire."""
    response = error_response(api, version, request, ERROR)
    assert isinstance(response, Struct)
    return decode(api.response, version, encode(response, version))


def test_every_served_api_has_a_place_for_the_error_in_every_version(broker: Broker) -> None:
    for table in (broker.table, broker.controller_table):
        for api in table:
            for version in range(api.version_min, api.version_max + 1):
                if api.key == ApiKey.DESCRIBE_LOG_DIRS and version < 3:
                    continue  # Kafka has none there either
                request = build(api.request, version, plain)
                codes = error_codes(refusal(api, request, version))
                assert codes == {ErrorCode.THROTTLING_QUOTA_EXCEEDED}, (api.key, version)


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.name)
def test_no_api_at_all_makes_it_raise(key: ApiKey) -> None:
    api = row(key)
    for version in range(api.version_min, api.version_max + 1):
        refusal(api, build(api.request, version, plain), version)


def test_an_empty_request_is_refused_without_an_exception(broker: Broker) -> None:
    for api in broker.table:
        for version in range(api.version_min, api.version_max + 1):
            request = api.request()
            if isinstance(request, ProduceRequest):
                request.acks = 1
            refusal(api, request, version)


@pytest.mark.parametrize("version", [4, 6, 7, 12, 17])
def test_fetch_says_it_at_the_top_or_before_that_for_each_partition(version: int) -> None:
    partitions = [FetchPartition(partition=index) for index in (3, 5)]
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=partitions)])
    response = refusal(row(ApiKey.FETCH), request, version)
    if version >= 7:
        assert response.error_code == ERROR.code
        assert response.responses == []
    else:
        (topic,) = response.responses
        assert topic.topic == "t"
        assert [(p.partition_index, p.error_code) for p in topic.partitions] == [
            (3, ERROR.code),
            (5, ERROR.code),
        ]


def test_delete_topics_names_each_topic_in_old_and_new_versions() -> None:
    old = refusal(row(ApiKey.DELETE_TOPICS), DeleteTopicsRequest(topic_names=["a", "b"]), 5)
    assert [(one.name, one.error_code) for one in old.responses] == [
        ("a", ERROR.code),
        ("b", ERROR.code),
    ]
    assert [one.error_message for one in old.responses] == ["not now", "not now"]


def test_metadata_for_all_topics_says_it_at_the_top_where_there_is_room() -> None:
    api = row(ApiKey.METADATA)
    assert refusal(api, MetadataRequest(topics=None), 13).error_code == ERROR.code
    assert refusal(api, MetadataRequest(topics=None), 12).topics == []


def test_produce_without_acks_ends_the_connection_instead() -> None:
    reply = error_response(row(ApiKey.PRODUCE), 9, ProduceRequest(acks=0), ERROR)
    assert isinstance(reply, Close)
