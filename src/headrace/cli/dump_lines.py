"""The lines of `headrace dump-log` for batches, records and control records."""

from __future__ import annotations

from headrace.cli.dump_decoders import RecordDecoder, compact_json
from headrace.cli.message_json import message_as_json
from headrace.protocol.compiler import read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.schema import Message
from headrace.records.batch import MAGIC_V2, SEQUENCE_LIMIT, BatchHeader, Buffer
from headrace.records.codecs import Codec
from headrace.records.control import ControlType, control_type, end_txn_marker
from headrace.records.record import Record


def batch_line(view: Buffer, position: int, header: BatchHeader, *, is_valid: bool) -> str:
    if header.magic == MAGIC_V2:
        horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else None
        text = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset}"
            f" count: {header.record_count} baseSequence: {header.base_sequence}"
            f" lastSequence: {header.last_sequence} producerId: {header.producer_id}"
            f" producerEpoch: {header.producer_epoch}"
            f" partitionLeaderEpoch: {header.leader_epoch}"
            f" isTransactional: {_flag(header.is_transactional)}"
            f" isControl: {_flag(header.is_control)}"
            f" deleteHorizonMs: {horizon or 'OptionalLong.empty'}"
        )
        crc = header.crc
    else:
        text = f"offset: {header.last_offset}"
        crc = int.from_bytes(view[position + 12 : position + 16], "big")
    return (
        f"{text} position: {position} {timestamp_type(header)}: {header.max_timestamp}"
        f" size: {header.size} magic: {header.magic} compresscodec: {_codec(header)}"
        f" crc: {crc} isvalid: {_flag(is_valid)}"
    )


def timestamp_type(header: BatchHeader) -> str:
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.uses_append_time else "CreateTime"


def _codec(header: BatchHeader) -> str:
    return Codec(header.codec).name.lower() if header.codec in list(Codec) else str(header.codec)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def record_line(
    header: BatchHeader, record: Record, decoder: RecordDecoder | None, *, with_metadata: bool
) -> str:
    """One record; without metadata, a control record is an empty line, as in Kafka."""
    text = _metadata_text(header, record) if with_metadata else ""
    if decoder is None or header.is_control:
        return text
    key, payload = decoder.decode(record)
    if key is not None:
        text += f"{' ' if text else '| '}key: {key}"
    if payload is not None:
        text += f"{' ' if text else '| '}payload: {payload}"
    return text


def _metadata_text(header: BatchHeader, record: Record) -> str:
    text = (
        f"| offset: {record.offset} {timestamp_type(header)}: {record.timestamp}"
        f" keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    )
    if header.magic == MAGIC_V2:
        names = ",".join(name for name, _ in record.headers)
        text += f" sequence: {_sequence(header, record)} headerKeys: [{names}]"
    if header.is_control:
        text += " " + _control_text(record)
    return text


def _sequence(header: BatchHeader, record: Record) -> int:
    if header.base_sequence < 0:
        return -1
    return (header.base_sequence + record.offset - header.base_offset) % SEQUENCE_LIMIT


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _control_text(record: Record) -> str:
    kind = control_type(record)
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        marker = end_txn_marker(record)
        epoch = marker.coordinator_epoch if marker is not None else -1
        return f"endTxnMarker: {kind.name} coordinatorEpoch: {epoch}"
    name, message = _control_messages().get(kind, ("", None))
    if message is None:
        return f"controlType: {kind.name}({int(kind)})"
    value = record.value or b""
    version = int.from_bytes(value[:2], "big")
    try:
        decoded, _ = read(message, version, value)
    except ProtocolError as error:
        return f"{name} {error}"
    return f"{name} {compact_json(message_as_json(decoded, version))}"


def _control_messages() -> dict[ControlType, tuple[str, type[Message] | None]]:
    from headrace.protocol import embedded

    return {
        ControlType.LEADER_CHANGE: ("LeaderChange:", embedded.LeaderChangeMessage),
        ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", embedded.SnapshotHeaderRecord),
        ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", embedded.SnapshotFooterRecord),
        ControlType.KRAFT_VERSION: ("KRaftVersion", embedded.KRaftVersionRecord),
        ControlType.KRAFT_VOTERS: ("KRaftVoters", embedded.VotersRecord),
    }
