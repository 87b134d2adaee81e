"""Records of `__consumer_offsets` as Kafka 4.3 writes them, and what others may have written."""

from __future__ import annotations

import pytest

from headrace.groups import records as r
from headrace.groups.record_codec import GroupRecordCodec
from headrace.protocol.errors import ProtocolError

codec = GroupRecordCodec()
KEY = r.OffsetCommitKey(group="g", topic="t", partition=3)


def test_an_offset_is_written_in_the_version_with_topic_ids() -> None:
    value = r.OffsetCommitValue(
        offset=7, leader_epoch=2, metadata="m", commit_timestamp=5, topic_id=b"i" * 16
    )
    key_bytes, value_bytes = codec.encode(KEY, value)
    assert key_bytes == b"\0\1" + b"\0\1g" + b"\0\1t" + b"\0\0\0\3"
    assert value_bytes == (
        b"\0\4" + (7).to_bytes(8, "big") + (2).to_bytes(4, "big") + b"\2m"
        + (5).to_bytes(8, "big") + b"\1\0\x10" + b"i" * 16
    )  # fmt: skip


def test_an_offset_with_an_expiry_of_its_own_is_written_in_version_1() -> None:
    value = r.OffsetCommitValue(offset=7, metadata="m", commit_timestamp=5, expire_timestamp=9)
    _, value_bytes = codec.encode(KEY, value)
    assert value_bytes == (
        b"\0\1" + (7).to_bytes(8, "big") + b"\0\1m" + (5).to_bytes(8, "big")
        + (9).to_bytes(8, "big")
    )  # fmt: skip


def test_a_group_is_written_in_version_3() -> None:
    value = r.GroupMetadataValue(protocol_type="consumer", protocol=None, leader=None)
    _, value_bytes = codec.encode(r.GroupMetadataKey(group="g"), value)
    assert value_bytes is not None
    assert value_bytes[:2] == b"\0\3"


def test_what_is_written_is_read_again() -> None:
    member = r.MemberMetadata(member_id="m", subscription=b"s", assignment=b"a")
    value = r.GroupMetadataValue(
        protocol_type="consumer", generation=4, protocol="range", leader="m", members=[member]
    )
    key = r.GroupMetadataKey(group="g")
    decoded = codec.decode(*codec.encode(key, value))
    assert decoded is not None
    assert decoded[0] == key
    assert decoded[1] == value
    assert codec.decode(*codec.encode(key, None)) == (key, None)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_older_layouts_of_an_offset_are_read(version: int) -> None:
    body = (7).to_bytes(8, "big")
    if version == 3:
        body += (2).to_bytes(4, "big")
    body += b"\0\1m" + (5).to_bytes(8, "big")
    if version == 1:
        body += (9).to_bytes(8, "big")
    key, _ = codec.encode(KEY, None)
    decoded = codec.decode(key, version.to_bytes(2, "big") + body)
    assert decoded is not None
    value = decoded[1]
    assert isinstance(value, r.OffsetCommitValue)
    assert (value.offset, value.metadata, value.commit_timestamp) == (7, "m", 5)
    assert value.expire_timestamp == (9 if version == 1 else -1)
    assert value.leader_epoch == (2 if version == 3 else -1)


@pytest.mark.parametrize("kind", [10, 17, 30])
def test_kinds_that_we_do_not_keep_are_left_alone(kind: int) -> None:
    assert codec.decode(kind.to_bytes(2, "big") + b"whatever", b"\0\0what") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b"\0\0"),
        (b"\0\1\0\1g", b"\0\4"),
        (b"\0\2\0\1g", b""),
        (b"\0\2\0\1g", b"\0\x63"),
        (b"\0\2\0\1g", b"\0\3\0\1"),
    ],
)
def test_what_is_broken_is_said_to_be_broken(key: bytes, value: bytes) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(key, value)
