"""Control records: what brokers write among the records of a partition for one another.

Transaction markers end a transaction in a partition; the others belong to the metadata log and its
snapshots. The key says which (two int16: version and type); the value is a small structure. Those
of the metadata log are encoded by the protocol layer and pass through here as bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import Buffer, read_header
from headrace.records.builder import build_batch
from headrace.records.reader import read_batch
from headrace.records.record import Record

_KEY = Struct(">hh")
_END_TXN_VALUE = Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """Types of control records. Newer ones are met as UNKNOWN, and passed over."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True)
class EndTxnMarker:
    """The end of a producer's transaction in one partition."""

    committed: bool
    coordinator_epoch: int


def control_batch(
    control_type: ControlType,
    value: bytes,
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """A control batch of one record, outside any transaction."""
    return control_batch_of(
        [(control_type, value)],
        timestamp=timestamp,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )


def control_batch_of(
    messages: Sequence[tuple[ControlType, bytes]],
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """A control batch of several records, as at the head of a snapshot."""
    records = [
        Record(base_offset + index, timestamp, control_key(control_type), value)
        for index, (control_type, value) in enumerate(messages)
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def end_txn_batch(
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """The marker that commits or aborts what a producer wrote to a partition."""
    control_type = ControlType.COMMIT if marker.committed else ControlType.ABORT
    value = _END_TXN_VALUE.pack(_VERSION, marker.coordinator_epoch)
    return build_batch(
        [Record(base_offset, timestamp, control_key(control_type), value)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def control_key(control_type: ControlType) -> bytes:
    return _KEY.pack(_VERSION, control_type)


def control_type(record: Record) -> ControlType:
    """The type of a record from a control batch; a newer version's key begins the same way."""
    if record.key is None or len(record.key) < _KEY.size:
        raise _invalid("a control record's key is too short")
    version, number = _KEY.unpack_from(record.key)
    if version < 0:
        raise _invalid(f"version {version} of a control record's key")
    return ControlType(number) if number in _KNOWN else ControlType.UNKNOWN


def end_txn_marker(record: Record) -> EndTxnMarker | None:
    """The marker in a record from a control batch, or None if it is some other control record."""
    found = control_type(record)
    if found not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if record.value is None or len(record.value) < _END_TXN_VALUE.size:
        raise _invalid("a transaction marker's value is too short")
    version, coordinator_epoch = _END_TXN_VALUE.unpack_from(record.value)
    if version < 0:
        raise _invalid(f"version {version} of a transaction marker")
    return EndTxnMarker(found is ControlType.COMMIT, coordinator_epoch)


def read_control_batch(buffer: Buffer, position: int = 0) -> list[tuple[ControlType, Record]]:
    """The records of a control batch with their types."""
    if not read_header(buffer, position).is_control:
        raise _invalid("not a control batch")
    return [(control_type(record), record) for record in read_batch(buffer, position)]


_KNOWN = frozenset(kind.value for kind in ControlType)


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, f"Bad control record: {reason}.")
