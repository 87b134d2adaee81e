"""The bytes of committed offsets, written and read without the general codec.

Nothing is written as often as these records and no log has more of them to read at a start, so
their newest layout has its own few lines; `None` sends everything else to `record_codec`.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from headrace.base.uuids import ZERO_UUID
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue

_TYPE = 1
_VERSION = 4
_NO_EXPIRY = -1
#: One tagged field, number 0, of 16 bytes.
_TOPIC_ID_TAG = b"\x01\x00\x10"
#: A compact string up to here has its length in one byte.
_SHORT_MAX = 126
#: Groups with their topics whose bytes are remembered: they come back with every commit.
_REMEMBERED = 4096
#: Longer ones are not: anybody may name thousands of them.
_REMEMBERED_LENGTH_MAX = 512

_pack_head = struct.Struct(">hh").pack
_pack_length = struct.Struct(">h").pack
_pack_partition = struct.Struct(">i").pack
_pack_offset = struct.Struct(">hqiB").pack
_pack_bare = struct.Struct(">hqiBq3s16s").pack
_pack_time = struct.Struct(">q").pack
_head = struct.Struct(">hh").unpack_from
_length = struct.Struct(">h").unpack_from
_partition = struct.Struct(">i").unpack_from
_offset = struct.Struct(">hqiB").unpack_from
_time = struct.Struct(">q").unpack_from
_OFFSET_SIZE = 15
_TAGS_SIZE = 3 + 16


def _names(group: str, topic: str) -> bytes:
    """A key up to its partition."""
    group_bytes, topic_bytes = group.encode(), topic.encode()
    return b"".join(
        (
            _pack_head(_TYPE, len(group_bytes)),
            group_bytes,
            _pack_length(len(topic_bytes)),
            topic_bytes,
        )
    )


_known_names = lru_cache(_REMEMBERED)(_names)


def encode_offset(
    key: OffsetCommitKey, value: OffsetCommitValue | None
) -> tuple[bytes, bytes | None] | None:
    """Key and value in the layout that Kafka 4.3 writes; None where they need another one."""
    group, topic = key.group, key.topic
    names = _known_names if len(group) + len(topic) <= _REMEMBERED_LENGTH_MAX else _names
    key_bytes = names(group, topic) + _pack_partition(key.partition)
    if value is None:
        return key_bytes, None
    if value.expire_timestamp != _NO_EXPIRY:
        return None
    topic_id = value.topic_id
    if not value.metadata and topic_id != ZERO_UUID:
        # Nearly every commit of a new client looks like this.
        return key_bytes, _pack_bare(
            _VERSION,
            value.offset,
            value.leader_epoch,
            1,
            value.commit_timestamp,
            _TOPIC_ID_TAG,
            topic_id,
        )
    metadata = value.metadata.encode()
    if len(metadata) > _SHORT_MAX:
        return None
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
