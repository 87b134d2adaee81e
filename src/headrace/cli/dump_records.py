"""Log segments and snapshots for `headrace dump-log`: batches, records, and what they say."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import sys
from typing import Protocol

from headrace.base.errors import KafkaError
from headrace.cli.failure import CommandFailedError
from headrace.cli.message_json import message_as_json, record_type
from headrace.protocol.compiler import read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.schema import Message
from headrace.records.batch import (
    HEADER_SIZE,
    MAGIC_V2,
    SEQUENCE_LIMIT,
    BatchHeader,
    Buffer,
)
from headrace.records.checksum import crc32c
from headrace.records.codecs import Codec
from headrace.records.control import ControlType, control_type, end_txn_marker
from headrace.records.legacy import check_message, iter_any_headers, read_message
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record

_EVERYTHING = 2**31 - 1
_CHECKED_FROM = 21  # the CRC covers everything from the attributes on


class RecordDecoder(Protocol):
    """Turns a record's key and value into text; None where there is nothing to print."""

    def decode(self, record: Record) -> tuple[str | None, str | None]: ...


class PlainDecoder:
    """Keys and values as text or numbers, by the names of Kafka's decoder classes."""

    def __init__(self, key_class: str, value_class: str) -> None:
        self._key = _plain_decoder(key_class)
        self._value = _plain_decoder(value_class)

    def decode(self, record: Record) -> tuple[str | None, str | None]:
        key = None if record.key is None else _decode(self._key, record.key)
        value = None if record.value is None else _decode(self._value, record.value)
        return key, value


def _plain_decoder(class_name: str) -> int:
    """The width of the number that a decoder reads, 0 for text."""
    widths = {"StringDecoder": 0, "DefaultDecoder": 0, "IntegerDecoder": 4, "LongDecoder": 8}
    name = class_name.rpartition(".")[2]
    if name not in widths:
        raise CommandFailedError(
            f"The decoder {class_name} is a Java class; there are {', '.join(widths)}."
        )
    return widths[name]


def _decode(width: int, data: bytes) -> str:
    if width:
        return str(int.from_bytes(data[:width], "big", signed=True))
    return data.decode("utf-8", "replace")


class MetadataDecoder:
    """The records of the metadata log, as JSON."""

    def decode(self, record: Record) -> tuple[str | None, str | None]:
        from headrace.metadata.record_codec import UnknownRecord, decode_record

        value = record.value or b""
        try:
            decoded = decode_record(value)
        except ProtocolError as error:
            return None, f"Error at {record.offset}, skipping. {error}"
        if isinstance(decoded, UnknownRecord):
            return None, f"Error at {record.offset}, skipping. Unknown record {decoded.api_key}."
        version = value[2]  # frame version, type and version are one byte each
        document = {
            "type": record_type(type(decoded)),
            "version": version,
            "data": message_as_json(decoded, version),
        }
        return None, compact_json(document)


def compact_json(document: object) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


# -------------------------------------------------------------------- the file


def dump_log(
    path: str, decoder: RecordDecoder | None, args: argparse.Namespace, *, deep: bool
) -> bool:
    """Print a segment or a snapshot; True if a batch of it is not valid."""
    print(_first_line(path))
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            view = memoryview(mapped)
            try:
                return _dump_batches(path, view, decoder, args, deep=deep)
            finally:
                view.release()


def _first_line(path: str) -> str:
    name = os.path.basename(path)
    stem = name.partition(".")[0]
    if name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    offset, dash, epoch = stem.partition("-")
    if not offset.isdecimal() or (dash and not epoch.isdecimal()):
        raise CommandFailedError(f"The name of {path} does not begin with an offset.")
    if dash:
        return f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}"
    return f"Log starting offset: {int(offset)}"


def _dump_batches(
    path: str,
    view: memoryview,
    decoder: RecordDecoder | None,
    args: argparse.Namespace,
    *,
    deep: bool,
) -> bool:
    end = min(len(view), args.max_bytes)
    valid_bytes = 0
    is_bad = False
    gaps: list[tuple[int, int]] = []
    last_offset = -1
    for position, header in iter_any_headers(view, 0, end):
        is_valid = _is_valid(view, position, header)
        is_bad = is_bad or not is_valid
        print(batch_line(view, position, header, is_valid=is_valid))
        valid_bytes = position + header.size
        if not deep:
            continue
        for record in _records(view, position, header):
            if last_offset >= 0 and record.offset != last_offset + 1:
                gaps.append((last_offset, record.offset))
            last_offset = record.offset
            print(record_line(header, record, decoder, with_metadata=not args.skip_record_metadata))
    if end - valid_bytes > 0 and args.max_bytes == _EVERYTHING:
        name = os.path.basename(path)
        print(f"Found {end - valid_bytes} invalid bytes at the end of {name}")
    if gaps:
        print(f"Non-consecutive offsets in {os.path.abspath(path)}", file=sys.stderr)
        for first, second in gaps:
            print(f"  {first} is followed by {second}", file=sys.stderr)
    return is_bad


def _is_valid(view: memoryview, position: int, header: BatchHeader) -> bool:
    if header.magic == MAGIC_V2:
        if header.size < HEADER_SIZE:
            return False
        return crc32c(view[position + _CHECKED_FROM : position + header.size]) == header.crc
    try:
        check_message(view, position, header)
    except KafkaError:
        return False
    return True


def _records(view: memoryview, position: int, header: BatchHeader) -> list[Record]:
    try:
        if header.magic != MAGIC_V2:
            return read_message(view, position)
        return read_checked_batch(view, position, header)
    except KafkaError as error:
        print(f"The batch at {position} cannot be read: {error}", file=sys.stderr)
        return []


# -------------------------------------------------------------------- the lines


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
