"""The client's end of a connection, byte by byte."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode
from headrace.client.wire import ClientWire
from headrace.protocol.apis import ApiKey
from headrace.protocol.compiler import encode
from headrace.protocol.errors import ProtocolError
from headrace.protocol.headers import ResponseHeader
from headrace.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from headrace.protocol.messages.list_offsets import ListOffsetsRequest
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)


def frame(correlation_id: int, response: MetadataResponse, version: int) -> bytes:
    head = encode(ResponseHeader(correlation_id=correlation_id), 1 if version >= 9 else 0)
    body = head + encode(response, version)
    return struct.pack(">i", len(body)) + body


def test_a_request_is_framed_with_its_size_header_and_body() -> None:
    data = b"".join(ClientWire("me").request(MetadataRequest(topics=None), 4))
    size, key, version, correlation_id = struct.unpack_from(">ihhi", data)
    assert size == len(data) - 4
    assert (key, version, correlation_id) == (ApiKey.METADATA, 4, 0)
    assert data[12:16] == b"\x00\x02me"


def test_correlation_ids_rise_and_answers_are_matched_in_order() -> None:
    wire = ClientWire("me")
    wire.request(MetadataRequest(), 4)
    wire.request(MetadataRequest(), 12)
    first = frame(0, MetadataResponse(cluster_id="one"), 4)
    second = frame(1, MetadataResponse(cluster_id="two"), 12)
    answers = wire.receive(first + second)
    assert [answer.cluster_id for answer in answers if isinstance(answer, MetadataResponse)] == [
        "one",
        "two",
    ]
    assert wire.in_flight == 0


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_an_answer_may_arrive_in_pieces_of_any_size(sizes: list[int]) -> None:
    wire = ClientWire("me")
    wire.request(MetadataRequest(), 9)
    data = frame(0, MetadataResponse(cluster_id="c" * 50), 9)
    found = []
    position = 0
    for size in [*sizes, len(data)]:
        found += wire.receive(data[position : position + size])
        position += size
    assert found == [MetadataResponse(cluster_id="c" * 50)]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 90_000)), max_size=20))
def test_large_answers_are_read_in_place_or_by_pieces(pieces: list[tuple[bool, int]]) -> None:
    wire = ClientWire("me")
    answers = [MetadataResponse(cluster_id=letter * 30_000) for letter in "abc"]
    answers[1].brokers = [
        MetadataResponseBroker(node_id=index, host="h" * 9_000) for index in range(20)
    ]
    for _ in answers:
        wire.request(MetadataRequest(), 9)
    data = b"".join(frame(index, answer, 9) for index, answer in enumerate(answers))
    found = []
    position = 0
    for in_place, size in [*pieces, *[(True, len(data)), (False, len(data))] * 4]:
        room = wire.room() if in_place else None
        part = data[position : position + (size if room is None else min(size, len(room)))]
        if not part:
            continue
        if room is None:
            found += wire.receive(part)
        else:
            room[: len(part)] = part
            found += wire.fill(len(part))
        position += len(part)
    assert found == answers


def test_an_answer_out_of_order_is_refused() -> None:
    wire = ClientWire("me")
    wire.request(MetadataRequest(), 4)
    wire.request(MetadataRequest(), 4)
    with pytest.raises(ProtocolError, match="came when 0 was due"):
        wire.receive(frame(1, MetadataResponse(), 4))


def test_an_answer_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(ProtocolError, match="nobody asked"):
        ClientWire("me").receive(frame(0, MetadataResponse(), 4))


@pytest.mark.parametrize("size", [-1, 0, 3, 1001, 0x48545450])
def test_an_impossible_size_is_refused_before_anything_is_held(size: int) -> None:
    wire = ClientWire("me", response_bytes_max=1000)
    wire.request(MetadataRequest(), 4)
    with pytest.raises(ProtocolError, match="not a Kafka broker"):
        wire.receive(struct.pack(">i", size) + b"x" * 8)


@given(st.binary(max_size=200))
def test_garbage_in_an_answer_is_a_protocol_error_and_nothing_else(garbage: bytes) -> None:
    wire = ClientWire("me")
    wire.request(ListOffsetsRequest(), 9)
    body = struct.pack(">i", 0) + garbage
    try:
        wire.receive(struct.pack(">i", len(body)) + body)
    except ProtocolError:
        return


def test_a_request_without_an_answer_leaves_nothing_in_flight() -> None:
    wire = ClientWire("me")
    wire.request(MetadataRequest(), 4, expect_response=False)
    assert wire.in_flight == 0


def test_a_node_that_does_not_know_our_version_is_understood_all_the_same() -> None:
    wire = ClientWire("me")
    wire.request(ApiVersionsRequest(), 4)
    refusal = ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=18, min_version=0, max_version=3)],
    )
    body = encode(ResponseHeader(correlation_id=0), 0) + encode(refusal, 0)
    (answer,) = wire.receive(struct.pack(">i", len(body)) + body)
    assert isinstance(answer, ApiVersionsResponse)
    assert answer.api_keys[0].max_version == 3
