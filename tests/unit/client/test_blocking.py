"""The blocking client against brokers that misbehave."""

from __future__ import annotations

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.errors import ConnectionFailedError, UnreachableError
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.api_versions import ApiVersionsResponse
from headrace.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.unit.client.scripted_broker import Answer, Script, ScriptedBroker, api_versions


def client_of(*addresses: str, **settings: str) -> KafkaClient:
    config = ClientConfig.from_settings(
        {
            "bootstrap.servers": ",".join(addresses),
            "request.timeout.ms": "5000",
            "retry.backoff.ms": "1",
            **settings,
        }
    )
    return KafkaClient(config, bootstrap_wait_ms=0)


def test_the_first_bootstrap_server_that_answers_is_used() -> None:
    with ScriptedBroker() as broker, client_of("127.0.0.1:1", broker.address) as client:
        view = client.cluster()
    assert view.cluster_id == "scripted"
    assert list(view.nodes) == [1]


def test_nobody_there_is_one_sentence() -> None:
    with client_of("127.0.0.1:1") as client, pytest.raises(UnreachableError) as caught:
        client.cluster()
    assert caught.value.message == "No broker can be reached at 127.0.0.1:1 (connection refused)."


def test_several_servers_that_are_not_there_are_all_named() -> None:
    with (
        client_of("127.0.0.1:1", "127.0.0.1:2") as client,
        pytest.raises(
            UnreachableError, match=r"None of the bootstrap servers 127\.0\.0\.1:1, 127\.0\.0\.1:2"
        ),
    ):
        client.cluster()


def test_something_that_is_not_kafka_is_told_as_such() -> None:
    scripts = {ApiKey.API_VERSIONS: lambda _r, _v: b"HTTP/1.1 400 Bad Request\r\n\r\n"}
    with (
        ScriptedBroker(scripts) as broker,
        client_of(broker.address) as client,
        pytest.raises(ConnectionFailedError, match="not a Kafka broker"),
    ):
        client.cluster()


def test_a_broker_that_closes_the_connection_is_told() -> None:
    with (
        ScriptedBroker({ApiKey.METADATA: lambda _r, _v: None}) as broker,
        client_of(broker.address) as client,
        pytest.raises(ConnectionFailedError, match="closed the connection"),
    ):
        client.cluster()


def test_a_broker_that_never_answers_costs_the_request_time_out_and_no_more() -> None:
    with (
        ScriptedBroker({ApiKey.METADATA: lambda _r, _v: b""}) as broker,
        client_of(broker.address, **{"request.timeout.ms": "50"}) as client,
        pytest.raises(ConnectionFailedError, match="did not answer in time"),
    ):
        client.cluster()


def test_an_advertised_address_that_nobody_listens_on_is_explained() -> None:
    wrong = MetadataResponse(brokers=[MetadataResponseBroker(node_id=5, host="127.0.0.1", port=1)])
    with (
        ScriptedBroker({ApiKey.METADATA: lambda _r, _v: wrong}) as broker,
        client_of(broker.address) as client,
        pytest.raises(UnreachableError, match=r"Node 5 advertises .* advertised\.listen"),
    ):
        client.node(5)


def test_a_node_that_is_not_in_the_cluster_is_told() -> None:
    with (
        ScriptedBroker() as broker,
        client_of(broker.address) as client,
        pytest.raises(KafkaError, match="Node 7 is not available"),
    ):
        client.node(7)


def answers(*codes: ErrorCode) -> tuple[list[ErrorCode], Script]:
    left = list(codes)

    def script(_request: CreateTopicsRequest, _version: int) -> Answer:
        code = left.pop(0)
        row = CreatableTopicResult(name="t", error_code=code, error_message="because")
        return CreateTopicsResponse(topics=[row])

    return left, script


def create(client: KafkaClient) -> None:
    def check(response: CreateTopicsResponse) -> None:
        for row in response.topics:
            if row.error_code:
                raise KafkaError(ErrorCode(row.error_code), row.error_message or "")

    client.admin(CreateTopicsRequest(), CreateTopicsResponse, check=check)


def test_a_retriable_error_is_tried_again_until_it_succeeds() -> None:
    left, script = answers(ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE)
    with (
        ScriptedBroker({ApiKey.CREATE_TOPICS: script}) as broker,
        client_of(broker.address) as client,
    ):
        create(client)
    assert left == []


def test_an_error_that_is_an_answer_is_not_tried_again() -> None:
    left, script = answers(ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NONE)
    with (
        ScriptedBroker({ApiKey.CREATE_TOPICS: script}) as broker,
        client_of(broker.address) as client,
        pytest.raises(KafkaError, match="because"),
    ):
        create(client)
    assert left == [ErrorCode.NONE]


def test_a_connection_that_breaks_is_opened_anew() -> None:
    scripts = iter([None, CreateTopicsResponse()])
    with (
        ScriptedBroker({ApiKey.CREATE_TOPICS: lambda _r, _v: next(scripts)}) as broker,
        client_of(broker.address) as client,
    ):
        create(client)
    assert sum(isinstance(request, CreateTopicsRequest) for request in broker.asked) == 2


def test_a_connection_that_breaks_again_and_again_is_given_up() -> None:
    with (
        ScriptedBroker({ApiKey.CREATE_TOPICS: lambda _r, _v: None}) as broker,
        client_of(broker.address) as client,
        pytest.raises(ConnectionFailedError),
    ):
        create(client)
    assert sum(isinstance(request, CreateTopicsRequest) for request in broker.asked) == 3


def test_the_handshake_falls_back_to_what_an_older_broker_knows() -> None:
    def script(_request: object, version: int) -> Answer:
        return api_versions() if version <= 2 else None

    refusals = iter([True])

    def handshake(request: object, version: int) -> Answer:
        if next(refusals, False):
            refused = api_versions(api_versions=(0, 2))
            refused.error_code = ErrorCode.UNSUPPORTED_VERSION
            return _as_version_0(refused)
        return script(request, version)

    with (
        ScriptedBroker({ApiKey.API_VERSIONS: handshake}) as broker,
        client_of(broker.address) as client,
    ):
        assert client.cluster().cluster_id == "scripted"


def _as_version_0(response: ApiVersionsResponse) -> bytes:
    import struct

    from headrace.protocol.compiler import encode
    from headrace.protocol.headers import ResponseHeader

    body = encode(ResponseHeader(correlation_id=0), 0) + encode(response, 0)
    return struct.pack(">i", len(body)) + body
