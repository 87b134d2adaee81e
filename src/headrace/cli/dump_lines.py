"""The fields that `headrace dump-log` prints of batches, records and control records."""

from __future__ import annotations

from headrace.cli.dump_decoders import RecordDecoder
from headrace.cli.message_json import message_as_json
from headrace.protocol.compiler import read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.schema import Message
from headrace.records.batch import MAGIC_V2, SEQUENCE_LIMIT, BatchHeader, Buffer
from headrace.records.codecs import Codec
from headrace.records.control import ControlType, control_type, end_txn_marker
from headrace.records.record import Record


def batch_fields(
    view: Buffer, position: int, header: BatchHeader, *, is_valid: bool
) -> dict[str, object]:
    fields: dict[str, object]
    if header.magic == MAGIC_V2:
        fields = {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.record_count,
            "baseSequence": header.base_sequence,
            "lastSequence": header.last_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.leader_epoch,
            "isTransactional": header.is_transactional,
            "isControl": header.is_control,
            "deleteHorizonMs": header.base_timestamp if header.has_delete_horizon else None,
        }
        crc = header.crc
    else:
        fields = {"offset": header.last_offset}
        crc = int.from_bytes(view[position + 12 : position + 16], "big")
    return {
        **fields,
        "position": position,
        timestamp_type(header): header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": _codec(header),
        "crc": crc,
        "isvalid": is_valid,
    }


def timestamp_type(header: BatchHeader) -> str:
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.uses_append_time else "CreateTime"


def _codec(header: BatchHeader) -> str:
    return Codec(header.codec).name.lower() if header.codec in list(Codec) else str(header.codec)


def record_fields(
    header: BatchHeader, record: Record, decoder: RecordDecoder | None, *, with_metadata: bool
) -> dict[str, object]:
    """One record; without metadata, a control record has no fields, as in Kafka."""
    fields = _metadata(header, record) if with_metadata else {}
    if decoder is None or header.is_control:
        return fields
    key, payload = decoder.decode(record)
    if key is not None:
        fields["key"] = key
    if payload is not None:
        fields["payload"] = payload
    return fields


def _metadata(header: BatchHeader, record: Record) -> dict[str, object]:
    fields: dict[str, object] = {
        "offset": record.offset,
        timestamp_type(header): record.timestamp,
        "keySize": _size(record.key),
        "valueSize": _size(record.value),
    }
    if header.magic == MAGIC_V2:
        fields["sequence"] = _sequence(header, record)
        fields["headerKeys"] = [name for name, _ in record.headers]
    return fields | _control(record) if header.is_control else fields


def _sequence(header: BatchHeader, record: Record) -> int:
    if header.base_sequence < 0:
        return -1
    return (header.base_sequence + record.offset - header.base_offset) % SEQUENCE_LIMIT


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _control(record: Record) -> dict[str, object]:
    kind = control_type(record)
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        marker = end_txn_marker(record)
        epoch = marker.coordinator_epoch if marker is not None else -1
        return {"endTxnMarker": kind.name, "coordinatorEpoch": epoch}
    name, message = _control_messages().get(kind, ("", None))
    if message is None:
        return {"controlType": f"{kind.name}({int(kind)})"}
    value = record.value or b""
    version = int.from_bytes(value[:2], "big")
    try:
        decoded, _ = read(message, version, value)
    except ProtocolError as error:
        return {name: str(error)}
    return {name: message_as_json(decoded, version)}


def _control_messages() -> dict[ControlType, tuple[str, type[Message] | None]]:
    from headrace.protocol import embedded

    return {
        ControlType.LEADER_CHANGE: ("LeaderChange", embedded.LeaderChangeMessage),
        ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", embedded.SnapshotHeaderRecord),
        ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", embedded.SnapshotFooterRecord),
        ControlType.KRAFT_VERSION: ("KRaftVersion", embedded.KRaftVersionRecord),
        ControlType.KRAFT_VOTERS: ("KRaftVoters", embedded.VotersRecord),
    }
