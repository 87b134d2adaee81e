"""Varints, tagged fields, nulls and versions: the building blocks of the wire format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.protocol import wire
from headrace.protocol.compiler import decode, encode, encode_chunks, read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.headers import RequestHeader
from headrace.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.protocol.messages.fetch import FetchRequest, FetchTopic
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.protocol.schema import Versions

# Varints


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_an_unsigned_varint_is_read_as_it_was_written(value: int) -> None:
    data = wire.write_uvarint(value)
    assert len(data) <= 5
    assert wire.read_uvarint(memoryview(data + b"rest"), 0) == (value, len(data))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_varints_have_kafkas_bytes(value: int, data: str) -> None:
    assert wire.write_uvarint(value).hex() == data


@pytest.mark.parametrize("data", ["ffffffffff01", "ffffffff10", "8080808080", "ffffffff7f"])
def test_a_varint_beyond_32_bits_is_refused(data: str) -> None:
    with pytest.raises(ProtocolError):
        wire.read_uvarint(memoryview(bytes.fromhex(data)), 0)


# Strings


def test_a_request_may_not_have_a_string_longer_than_kafkas() -> None:
    def request(size: int) -> bytes:
        return encode(FindCoordinatorRequest(key="x" * size), 3)

    assert decode(FindCoordinatorRequest, 3, request(32767)).key == "x" * 32767
    with pytest.raises(ProtocolError):
        decode(FindCoordinatorRequest, 3, request(32768))


# Versions


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0+", [0, 5, 99], [-1]),
        ("3-5", [3, 4, 5], [2, 6]),
        ("7", [7], [6, 8]),
        ("none", [], [0, 1]),
    ],
)
def test_versions_are_read_in_kafkas_notation(
    text: str, inside: list[int], outside: list[int]
) -> None:
    versions = Versions.parse(text)
    assert str(versions) == text
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)


@pytest.mark.parametrize("version", [-1, 14, 999])
def test_a_version_that_does_not_exist_is_refused(version: int) -> None:
    with pytest.raises(ProtocolError, match="has no version"):
        read(MetadataRequest, version, b"")
    with pytest.raises(ProtocolError, match="has no version"):
        encode(MetadataRequest(), version)


# Messages


def test_fields_that_a_version_lacks_have_their_defaults() -> None:
    sent = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    assert decode(MetadataRequest, 3, encode(sent, 3)).allow_auto_topic_creation is True
    assert decode(MetadataRequest, 4, encode(sent, 4)).allow_auto_topic_creation is False


def test_lists_are_never_shared_between_messages() -> None:
    one, other = MetadataRequest(topics=[]), FetchRequest()
    other.topics.append(FetchTopic())
    assert FetchRequest().topics == []
    data = encode(one, 12)
    first, second = decode(MetadataRequest, 12, data), decode(MetadataRequest, 12, data)
    assert first.topics is not None
    first.topics.append(MetadataRequestTopic())
    assert second.topics == []


def test_messages_compare_by_their_fields() -> None:
    assert MetadataRequest(topics=None) == MetadataRequest(topics=None)
    assert MetadataRequest(topics=None) != MetadataRequest(topics=[])
    assert MetadataRequest() != FetchRequest()
    assert "topics=None" in repr(MetadataRequest(topics=None))


def test_null_where_the_version_has_none_is_refused() -> None:
    with pytest.raises(ProtocolError, match="must not be null"):
        decode(MetadataRequest, 0, b"\xff\xff\xff\xff")
    assert decode(MetadataRequest, 1, b"\xff\xff\xff\xff").topics is None


def test_bytes_left_over_are_refused_by_decode_and_reported_by_read() -> None:
    data = encode(MetadataRequest(topics=None), 12)
    with pytest.raises(ProtocolError, match="3 bytes over"):
        decode(MetadataRequest, 12, data + b"abc")
    assert read(MetadataRequest, 12, data + b"abc")[1] == len(data)
    assert read(MetadataRequest, 12, b"abc" + data, 3)[1] == len(data) + 3


def test_text_that_is_not_utf_8_is_refused() -> None:
    data = encode(ApiVersionsRequest(client_software_name="abc"), 3)
    with pytest.raises(ProtocolError, match="UTF-8"):
        decode(ApiVersionsRequest, 3, data.replace(b"abc", b"\xff\xfe\xfd"))


def test_records_are_not_copied_in_or_out() -> None:
    batch = b"r" * 1_000
    partition = PartitionProduceData(index=1, records=batch)
    request = ProduceRequest(
        acks=1, topic_data=[TopicProduceData(name="t", partition_data=[partition])]
    )
    chunks = encode_chunks(request, 9)
    assert any(chunk is batch for chunk in chunks)
    buffer = bytearray(b"".join(chunks))
    found = decode(ProduceRequest, 9, memoryview(buffer)).topic_data[0].partition_data[0].records
    assert isinstance(found, memoryview)
    assert found.obj is buffer
    found[0] = 7
    assert bytes(found[:2]) == b"\x07r"


def test_the_client_id_keeps_its_old_length_in_flexible_headers() -> None:
    header = RequestHeader(
        request_api_key=3, request_api_version=12, correlation_id=5, client_id="me"
    )
    assert encode(header, 2) == b"\0\x03\0\x0c\0\0\0\x05\0\x02me\0"
    assert decode(RequestHeader, 2, encode(header, 2)) == header


# Tagged fields


def test_tagged_fields_of_a_newer_peer_are_kept_and_passed_on() -> None:
    message = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    message.unknown_tags = {200: b"new", 7: b""}
    data = encode(message, 3)
    again = decode(ApiVersionsRequest, 3, data)
    assert again.unknown_tags == {200: b"new", 7: b""}
    assert encode(again, 3) == data


def test_tagged_fields_with_their_defaults_take_no_room() -> None:
    assert encode(ApiVersionsResponse(), 3) == encode(
        ApiVersionsResponse(finalized_features_epoch=-1, zk_migration_ready=False), 3
    )
    assert len(encode(ApiVersionsResponse(finalized_features_epoch=7), 3)) > len(
        encode(ApiVersionsResponse(), 3)
    )


def test_a_tagged_field_whose_size_is_wrong_is_refused() -> None:
    sound = encode(ApiVersionsResponse(finalized_features_epoch=7), 3)
    tag = sound.index(b"\x01\x01\x08")
    for size in (b"\x07", b"\x09", b"\x7f"):
        with pytest.raises(ProtocolError):
            decode(ApiVersionsResponse, 3, sound[: tag + 2] + size + sound[tag + 3 :])
