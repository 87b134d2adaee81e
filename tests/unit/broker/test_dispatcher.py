"""From a frame to a response: headers, versions, errors, and frames that are none."""

import logging
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.api_table import OPEN, ApiTable
from headrace.broker.context import RequestContext
from headrace.broker.dispatcher import Dispatcher
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.parked import Close, Parked
from headrace.protocol.apis import ApiKey
from headrace.protocol.compiler import decode, encode
from headrace.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.protocol.messages.describe_cluster import DescribeClusterRequest
from headrace.protocol.messages.metadata import MetadataRequest, MetadataResponse
from headrace.protocol.messages.produce import ProduceRequest
from headrace.protocol.messages.vote import VoteRequest
from headrace.protocol.schema import Request
from headrace.protocol.wire import write_uvarint
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.frames import decode_response, request_frame
from tests.unit.broker.harness import Broker


def serve(broker: Broker, frame: bytes) -> list[Any]:
    """All replies to one frame."""
    replies: list[Any] = []
    broker.dispatcher.serve(broker.connection, memoryview(bytearray(frame)), replies.append)
    return replies


def closes(broker: Broker, frame: bytes) -> str:
    """The reason for which a frame costs its sender the connection."""
    (reply,) = serve(broker, frame)
    assert isinstance(reply, Close)
    return reply.reason


# Headers


def test_an_answer_carries_the_correlation_id_of_its_request(broker: Broker) -> None:
    for correlation_id in (0, 1, -1, 2**31 - 1):
        frame = request_frame(MetadataRequest(), 12, correlation_id=correlation_id)
        (reply,) = serve(broker, frame)
        assert decode_response(3, 12, reply)[0] == correlation_id


@pytest.mark.parametrize("client_id", [None, "", "librdkafka", "ümläut" * 100])
def test_a_client_may_call_itself_what_it_likes(broker: Broker, client_id: str | None) -> None:
    for version in (0, 8, 12):
        (reply,) = serve(
            broker, request_frame(MetadataRequest(topics=[]), version, client_id=client_id)
        )
        assert isinstance(reply, bytes)


def test_tagged_fields_of_a_newer_request_header_are_skipped(broker: Broker) -> None:
    frame = request_frame(MetadataRequest(), 12)
    body = encode(MetadataRequest(), 12)
    start = frame[: len(frame) - len(body) - 1]
    tags = write_uvarint(2) + b"\x05\x03abc" + write_uvarint(300) + write_uvarint(200) + bytes(200)
    (reply,) = serve(broker, start + tags + body)
    assert isinstance(decode_response(3, 12, reply)[1], MetadataResponse)


@pytest.mark.parametrize(
    "tags",
    [
        b"\x01",
        b"\x01\x05\x7fabc",
        write_uvarint(2_000) + b"\x01\x00" * 2_000,
        b"\xff\xff\xff\xff\xff\xff",
    ],
    ids=["cut off", "beyond the frame", "too many", "not a number"],
)
def test_bad_tagged_fields_in_a_header_end_the_connection(broker: Broker, tags: bytes) -> None:
    frame = request_frame(ApiVersionsRequest(), 3)
    body = encode(ApiVersionsRequest(), 3)
    start = frame[: len(frame) - len(body) - 1]
    assert closes(broker, start + tags).startswith("malformed request")


def test_a_client_id_that_is_longer_than_the_frame_ends_the_connection(broker: Broker) -> None:
    header = pack(">hhih", ApiKey.API_VERSIONS, 0, 1, 500) + b"short"
    assert "client id" in closes(broker, header)


def test_a_client_id_that_is_no_text_ends_the_connection(broker: Broker) -> None:
    header = pack(">hhih", ApiKey.API_VERSIONS, 0, 1, 2) + b"\xff\xfe"
    assert closes(broker, header).startswith("malformed request")


# Frames


@pytest.mark.parametrize("size", range(10))
def test_a_frame_too_short_for_a_header_ends_the_connection(broker: Broker, size: int) -> None:
    assert closes(broker, request_frame(MetadataRequest(), 12)[:size])


def test_a_request_cut_off_anywhere_ends_the_connection(broker: Broker) -> None:
    broker.create_topic("t")
    frame = request_frame(DescribeClusterRequest(include_fenced_brokers=True), 2)
    for size in range(len(frame)):
        assert closes(broker, frame[:size])
    assert isinstance(serve(broker, frame)[0], bytes)


def test_bytes_behind_a_request_are_ignored(broker: Broker) -> None:
    (reply,) = serve(broker, request_frame(MetadataRequest(), 12) + b"more")
    assert isinstance(reply, bytes)


def test_bad_frames_are_counted(broker: Broker) -> None:
    closes(broker, b"")
    closes(broker, b"GET / HTTP/1.1")
    assert broker.metrics.malformed == 2


# Versions


@pytest.mark.parametrize("key", [4, 7, 93, 999, -1, 32767])
def test_an_unknown_api_ends_the_connection(broker: Broker, key: int) -> None:
    frame = pack(">hhih", key, 0, 1, -1) + b"whatever"
    assert "not served" in closes(broker, frame)


def test_an_api_that_is_known_but_not_served_ends_the_connection(broker: Broker) -> None:
    assert "not served" in closes(broker, request_frame(VoteRequest(), 2))


@pytest.mark.parametrize("version", [-1, 14, 100, 32767])
def test_an_unknown_version_ends_the_connection(broker: Broker, version: int) -> None:
    frame = pack(">hhih", ApiKey.METADATA, version, 1, -1) + b"whatever"
    assert "not served" in closes(broker, frame)


def test_produce_is_listed_from_version_0_but_served_from_version_3(broker: Broker) -> None:
    listed = {api.api_key: api for api in broker.ask(ApiVersionsRequest(), 0).api_keys}
    assert listed[ApiKey.PRODUCE].min_version == 0
    frame = pack(">hhih", ApiKey.PRODUCE, 2, 1, -1) + encode(ProduceRequest(acks=1), 3)
    assert "not served" in closes(broker, frame)


@pytest.mark.parametrize("version", [5, 6, 1000, 32767, -1])
def test_api_versions_of_the_future_is_answered_with_version_0_and_ours(
    broker: Broker, version: int
) -> None:
    """A client newer than we are learns what we speak and asks again (KIP-511)."""
    frame = pack(">hhih", ApiKey.API_VERSIONS, version, 99, 3) + b"new" + b"\x00\x05hello\x00"
    (raw,) = serve(broker, frame)
    assert raw[4:8] == pack(">i", 99)
    response = decode(ApiVersionsResponse, 0, raw[8:])
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    (own,) = response.api_keys
    assert (own.api_key, own.min_version, own.max_version) == (ApiKey.API_VERSIONS, 0, 4)


def test_api_versions_has_no_tags_in_its_response_header_in_any_version(broker: Broker) -> None:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    for version in range(5):
        (raw,) = serve(broker, request_frame(request, version, correlation_id=5))
        assert raw[4:8] == pack(">i", 5)
        decode(ApiVersionsResponse, version, raw[8:])


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "ü", "x\n", "x" * 3 + "\0"])
def test_api_versions_with_a_strange_software_name_is_an_invalid_request(
    broker: Broker, name: str
) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    assert broker.ask(request, 4).error_code == ErrorCode.INVALID_REQUEST
    assert broker.ask(request, 2).error_code == ErrorCode.NONE


def test_every_served_version_of_every_api_is_listed_and_nothing_else(broker: Broker) -> None:
    response = broker.ask(ApiVersionsRequest(), 0)
    listed = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    served = {api.key: (api.listed_min, api.version_max) for api in broker.table}
    assert listed == served
    assert listed[ApiKey.INIT_PRODUCER_ID][1] == 5


# Handlers


class Scripted:
    """A handler that does what it is told."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def __call__(self, context: RequestContext, request: Request) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def scripted(broker: Broker, outcome: Any) -> Dispatcher:
    table = ApiTable([(ApiKey.METADATA, OPEN, Scripted(outcome))])
    return Dispatcher(table, BrokerMetrics(), broker.clock)


def replies_of(broker: Broker, dispatcher: Dispatcher, version: int = 12) -> list[Any]:
    replies: list[Any] = []
    frame = memoryview(request_frame(MetadataRequest(topics=None), version))
    dispatcher.serve(broker.connection, frame, replies.append)
    return replies


def test_a_handler_that_fails_answers_and_the_next_request_is_served(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    dispatcher = scripted(broker, ZeroDivisionError("a bug"))
    with caplog.at_level(logging.ERROR):
        (reply,) = replies_of(broker, dispatcher, 13)
    response: Any = decode_response(3, 13, reply)[1]
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "a bug" in caplog.text


def test_an_expected_error_is_answered_without_a_word_in_the_log(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    dispatcher = scripted(broker, KafkaError(ErrorCode.INVALID_REQUEST))
    (reply,) = replies_of(broker, dispatcher, 13)
    response: Any = decode_response(3, 13, reply)[1]
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert caplog.text == ""


def test_a_response_that_cannot_be_written_ends_the_connection(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    (reply,) = replies_of(broker, scripted(broker, MetadataResponse(controller_id=2**40)))
    assert isinstance(reply, Close)
    assert "cannot be written" in caplog.text


def test_a_late_response_that_cannot_be_written_hurts_nobody_else(broker: Broker) -> None:
    waiting = Parked()
    replies = replies_of(broker, scripted(broker, waiting))
    assert replies == []
    waiting.complete(MetadataResponse(controller_id=2**40))
    assert isinstance(replies[0], Close)


def test_a_parked_request_is_answered_once(broker: Broker) -> None:
    waiting = Parked()
    replies = replies_of(broker, scripted(broker, waiting))
    waiting.complete(MetadataResponse(cluster_id="first"))
    waiting.complete(MetadataResponse(cluster_id="second"))
    assert len(replies) == 1
    response: Any = decode_response(3, 12, replies[0])[1]
    assert response.cluster_id == "first"


def test_a_request_that_was_parked_and_is_done_already_is_answered_at_once(broker: Broker) -> None:
    waiting = Parked()
    waiting.complete(MetadataResponse())
    assert len(replies_of(broker, scripted(broker, waiting))) == 1


def test_an_abandoned_request_is_not_answered(broker: Broker) -> None:
    waiting = Parked()
    replies = replies_of(broker, scripted(broker, waiting))
    waiting.abandon()
    waiting.complete(MetadataResponse())
    assert replies == []


def test_requests_are_counted_by_api_and_version(broker: Broker) -> None:
    for version in (12, 12, 0):
        broker.ask(MetadataRequest(), version)
    assert broker.metrics.api(ApiKey.METADATA, 12).count == 2
    assert broker.metrics.api(ApiKey.METADATA, 0).count == 1


def test_time_is_measured_until_the_answer_not_until_it_is_parked(broker: Broker) -> None:
    waiting = Parked()
    dispatcher = scripted(broker, waiting)
    replies_of(broker, dispatcher)
    broker.clock.advance(40)
    waiting.complete(MetadataResponse())
    metrics = dispatcher._metrics.api(ApiKey.METADATA, 12)
    assert (metrics.count, metrics.time_total_ms) == (1, 40)


def test_what_needs_the_cluster_is_refused_before_the_handler_runs(tmp_path: Path) -> None:
    broker = Broker(tmp_path, authorizer=DenyAll())
    guarded = [api for api in broker.table if api.access.scope.value == "cluster"]
    assert guarded
    for api in guarded:
        response = broker.ask(api.request(), api.version_max)
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, api.key
    broker.close()
