"""The bytes of committed offsets, written and read without the general codec.

Nothing is written as often as these records and no log has more of them to read at a start, so
their newest layout has its own few lines; `None` sends everything else to `record_codec`.
"""

from __future__ import annotations

import struct

from headrace.base.uuids import ZERO_UUID
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue

_TYPE = 1
_VERSION = 4
_NO_EXPIRY = -1
#: One tagged field, number 0, of 16 bytes.
_TOPIC_ID_TAG = b"\x01\x00\x10"
#: A compact string up to here has its length in one byte.
_SHORT_MAX = 126

_pack_head = struct.Struct(">hh").pack
_pack_length = struct.Struct(">h").pack
_pack_partition = struct.Struct(">i").pack
_pack_offset = struct.Struct(">hqiB").pack
_pack_time = struct.Struct(">q").pack
_head = struct.Struct(">hh").unpack_from
_length = struct.Struct(">h").unpack_from
_partition = struct.Struct(">i").unpack_from
_offset = struct.Struct(">hqiB").unpack_from
_time = struct.Struct(">q").unpack_from
_OFFSET_SIZE = 15
_TAGS_SIZE = 3 + 16


def encode_offset(
    key: OffsetCommitKey, value: OffsetCommitValue | None
) -> tuple[bytes, bytes | None] | None:
    """Key and value in the layout that Kafka 4.3 writes; None where they need another one."""
    group, topic = key.group.encode(), key.topic.encode()
    key_bytes = b"".join(
        (
            _pack_head(_TYPE, len(group)),
            group,
            _pack_length(len(topic)),
            topic,
            _pack_partition(key.partition),
        )
    )
    if value is None:
        return key_bytes, None
    metadata = value.metadata.encode()
    if value.expire_timestamp != _NO_EXPIRY or len(metadata) > _SHORT_MAX:
        return None
    topic_id = value.topic_id
    return key_bytes, b"".join(
        (
            _pack_offset(_VERSION, value.offset, value.leader_epoch, len(metadata) + 1),
            metadata,
            _pack_time(value.commit_timestamp),
            b"\x00" if topic_id == ZERO_UUID else _TOPIC_ID_TAG + topic_id,
        )
    )


def decode_offset(key: bytes, value: bytes) -> tuple[OffsetCommitKey, OffsetCommitValue] | None:
    """The record, if it is laid out as `encode_offset` does it; its sizes are checked."""
    try:
        kind, group_size = _head(key)
        topic_at = 4 + group_size
        (topic_size,) = _length(key, topic_at)
        end = topic_at + 2 + topic_size
        version, offset, leader_epoch, metadata_size = _offset(value)
        time_at = _OFFSET_SIZE + metadata_size - 1
        (commit_timestamp,) = _time(value, time_at)
        tags = value[time_at + 8 :]
        if (
            kind != _TYPE
            or version != _VERSION
            or min(group_size, topic_size) < 0
            or len(key) != end + 4
            or not 0 < metadata_size <= _SHORT_MAX + 1
        ):
            return None
        if tags == b"\x00":
            topic_id = ZERO_UUID
        elif len(tags) == _TAGS_SIZE and tags.startswith(_TOPIC_ID_TAG):
            topic_id = tags[3:]
        else:
            return None
        return (
            OffsetCommitKey(
                group=key[4:topic_at].decode(),
                topic=key[topic_at + 2 : end].decode(),
                partition=_partition(key, end)[0],
            ),
            OffsetCommitValue(
                offset=offset,
                leader_epoch=leader_epoch,
                metadata=value[_OFFSET_SIZE:time_at].decode(),
                commit_timestamp=commit_timestamp,
                topic_id=topic_id,
            ),
        )
    except (struct.error, UnicodeDecodeError):
        return None
