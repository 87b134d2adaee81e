"""The bytes of the records of `__consumer_offsets`.

Key and value each begin with two bytes. In front of a key they say what kind of record it is, in
front of a value which version of its layout follows. Kinds that we do not know (share and streams
groups, or those of newer brokers) stay in the log and out of our state.
"""

from __future__ import annotations

import struct

from headrace.groups import records
from headrace.groups.offset_codec import decode_offset, encode_offset
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue
from headrace.protocol import compiler
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.errors import ProtocolError

_SHORT = struct.Struct(">h")
_NO_EXPIRY = -1


def _classes(suffix: str) -> dict[int, type[CoordinatorRecord]]:
    return {
        cls.record_type: cls
        for name, cls in vars(records).items()
        if name.endswith(suffix) and isinstance(cls, type) and issubclass(cls, CoordinatorRecord)
    }


_KEYS = _classes("Key")
_VALUES = _classes("Value")


def value_version(value: CoordinatorRecord) -> int:
    """The version that Kafka 4.3 writes."""
    if isinstance(value, OffsetCommitValue):
        # Only version 1 has room for an expiry of its own, as old clients ask for it.
        return 4 if value.expire_timestamp == _NO_EXPIRY else 1
    if isinstance(value, records.GroupMetadataValue):
        return 3
    return 0


class GroupRecordCodec:
    """Encodes what coordinators write, decodes what any broker wrote."""

    def encode(
        self, key: CoordinatorRecord, value: CoordinatorRecord | None
    ) -> tuple[bytes, bytes | None]:
        if type(key) is OffsetCommitKey and (value is None or type(value) is OffsetCommitValue):
            encoded = encode_offset(key, value)
            if encoded is not None:
                return encoded
        key_bytes = _SHORT.pack(key.record_type) + compiler.encode(key, 0)
        if value is None:
            return key_bytes, None
        version = value_version(value)
        return key_bytes, _SHORT.pack(version) + compiler.encode(value, version)

    def decode(
        self, key: bytes, value: bytes | None
    ) -> tuple[CoordinatorRecord, CoordinatorRecord | None] | None:
        if value is not None:
            offset = decode_offset(key, value)
            if offset is not None:
                return offset
        if len(key) < 2:
            raise ProtocolError("a record of __consumer_offsets has no type")
        (kind,) = _SHORT.unpack_from(key)
        key_class = _KEYS.get(kind)
        if key_class is None:
            return None
        decoded_key, _ = compiler.read(key_class, 0, key, 2)
        if value is None:
            return decoded_key, None
        if len(value) < 2:
            raise ProtocolError("a record of __consumer_offsets has a value without a version")
        (version,) = _SHORT.unpack_from(value)
        value_class = _VALUES[kind]
        if version not in value_class.versions:
            raise ProtocolError(f"version {version} of {value_class.__name__} is not known")
        decoded_value, _ = compiler.read(value_class, version, value, 2)
        return decoded_key, decoded_value
