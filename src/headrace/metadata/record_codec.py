"""The value of a record in the metadata log: frame version, record type, version, fields.

Which version of a type is written follows from the cluster's metadata.version, as in Kafka, so
that the oldest node of the cluster can read it.
"""

from dataclasses import dataclass

from headrace.metadata import records
from headrace.metadata.features import (
    CORDONED_DIRECTORIES_LEVEL,
    DIRECTORY_ASSIGNMENT_LEVEL,
    ELR_LEVEL,
    LATEST_METADATA_VERSION,
)
from headrace.metadata.records import MetadataRecord
from headrace.protocol import compiler, wire
from headrace.protocol.errors import ProtocolError

FRAME_VERSION = 1

RECORD_TYPES: dict[int, type[MetadataRecord]] = {
    cls.api_key: cls
    for cls in vars(records).values()
    if isinstance(cls, type) and issubclass(cls, MetadataRecord) and cls is not MetadataRecord
}


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record type of a newer Kafka: kept as it was, so that a snapshot does not lose it."""

    api_key: int
    version: int
    #: The whole value, frame included.
    value: bytes


AnyRecord = MetadataRecord | UnknownRecord


def encode_record(record: AnyRecord, metadata_version: int = LATEST_METADATA_VERSION) -> bytes:
    """The value for the log."""
    if isinstance(record, UnknownRecord):
        return record.value
    version = record_version(record, metadata_version)
    # Types and versions are below 128, so each is a varint of one byte.
    chunks: list[compiler.Buffer] = [bytes((FRAME_VERSION, record.api_key, version))]
    compiler.writer(type(record), version)(record, chunks.append)
    return b"".join(chunks)


def decode_record(value: compiler.Buffer) -> AnyRecord:
    """The record in a value; `ProtocolError` if it is none, or newer than this node can know."""
    view = value if isinstance(value, memoryview) else memoryview(value)
    try:
        frame_version, position = wire.read_uvarint(view, 0)
        api_key, position = wire.read_uvarint(view, position)
        version, position = wire.read_uvarint(view, position)
    except IndexError:
        raise ProtocolError("a metadata record ends inside its frame") from None
    if frame_version != FRAME_VERSION:
        raise ProtocolError(f"a metadata record has the unknown frame version {frame_version}")
    cls = RECORD_TYPES.get(api_key)
    if cls is None:
        return UnknownRecord(api_key, version, bytes(view))
    record, end = compiler.read(cls, version, view, position)
    if end != len(view):
        raise ProtocolError(f"{cls.__name__} has {len(view) - end} bytes over")
    return record


def record_version(record: MetadataRecord, metadata_version: int) -> int:
    """The version in which to write a record for a cluster at this metadata.version."""
    if isinstance(record, records.PartitionRecord | records.PartitionChangeRecord):
        if metadata_version >= ELR_LEVEL:
            return 2
        return 1 if metadata_version >= DIRECTORY_ASSIGNMENT_LEVEL else 0
    if isinstance(record, records.RegisterBrokerRecord):
        if metadata_version >= CORDONED_DIRECTORIES_LEVEL:
            return 4
        if metadata_version >= DIRECTORY_ASSIGNMENT_LEVEL:
            return 3
        return 2 if metadata_version >= 8 else 1
    if isinstance(record, records.BrokerRegistrationChangeRecord):
        # The lowest version that can say it; Kafka does the same.
        if record.cordoned_log_dirs is not None:
            return 3
        if record.log_dirs:
            return 2
        return 1 if record.in_controlled_shutdown else 0
    return 0
