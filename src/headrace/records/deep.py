"""Work on a batch that needs its records: deep validation and recompression.

Never on the event loop: a batch of a megabyte may unpack to a hundred and costs milliseconds.
Callers in a helper process may pass the compiled decoder (`columns_numba.decode`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records import columns
from headrace.records.batch import CODEC_MASK, BatchHeader, Buffer, check_batch, read_header
from headrace.records.builder import frame_batch
from headrace.records.codecs import DEFAULT_LIMIT, Codec, compress
from headrace.records.reader import unpack_records

Decoder = Callable[..., columns.Columns]


@dataclass(frozen=True, slots=True)
class RecordError:
    """One record that made a batch be refused (KIP-467)."""

    batch_index: int
    message: str


class RefusedRecordsError(KafkaError):
    """A batch refused because of some of its records; the reply names each of them."""

    def __init__(self, code: ErrorCode, record_errors: Sequence[RecordError]) -> None:
        super().__init__(code, record_errors[0].message)
        self.record_errors = record_errors


def validate_deep(
    batch: Buffer,
    *,
    key_required: bool,
    timestamps_between: tuple[int, int] | None = None,
    limit: int = DEFAULT_LIMIT,
    decode: Decoder = columns.decode,
) -> None:
    """Check every record of a produced batch; raise KafkaError at what Kafka would refuse.

    `key_required` is for compacted topics; `timestamps_between` are the earliest and latest
    create time that message.timestamp.before.max.ms and .after.max.ms allow.
    """
    header = read_header(batch)
    table = _decode_one(batch, header, limit, decode)
    base_offset = header.base_offset
    # The walk has seen deltas rise; ending at n - 1 they are therefore 0 to n - 1.
    if len(table) != header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"{len(table)} records for {header.last_offset_delta + 1} offsets"
            f" from {base_offset} on.",
        )
    if key_required:
        _require_keys(table)
    if timestamps_between is not None and not header.uses_append_time:
        _require_timestamps(table, *timestamps_between)


def recompress(
    batch: Buffer,
    codec: int,
    level: int | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    decode: Decoder = columns.decode,
) -> bytearray:
    """The same records in another codec; offsets and all else stay as they are.

    The largest timestamp is taken from the records rather than from the header's word for it.
    """
    header = read_header(batch)
    timestamp = header.max_timestamp
    if not header.uses_append_time and header.record_count > 0:
        timestamp = max_timestamp(batch, limit=limit, decode=decode)[0]
    else:
        check_batch(batch, 0, header)
    payload = unpack_records(batch, 0, header, limit=limit)
    return frame_batch(
        payload if codec == Codec.NONE else compress(codec, payload, level),
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=header.attributes & ~CODEC_MASK | codec,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=header.record_count,
    )


def max_timestamp(
    batch: Buffer, *, limit: int = DEFAULT_LIMIT, decode: Decoder = columns.decode
) -> tuple[int, int]:
    """The largest timestamp in a batch and the first offset that has it; (-1, -1) if empty."""
    table = _decode_one(batch, read_header(batch), limit, decode)
    best = max(range(len(table)), key=table.timestamps.__getitem__, default=-1)
    if best < 0:
        return -1, -1
    return int(table.timestamps[best]), int(table.offsets[best])


def _decode_one(batch: Buffer, header: BatchHeader, limit: int, decode: Decoder) -> columns.Columns:
    if header.size != len(batch):
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"A batch of {header.size} bytes in {len(batch)} bytes."
        )
    return decode(batch, limit=limit)


def _require_keys(table: columns.Columns) -> None:
    lengths = table.keys.lengths
    message = "Compacted topic cannot accept message without key."
    errors = [RecordError(row, message) for row in range(len(table)) if lengths[row] < 0]
    if errors:
        raise RefusedRecordsError(ErrorCode.INVALID_RECORD, errors)


def _require_timestamps(table: columns.Columns, earliest: int, latest: int) -> None:
    errors = []
    for row in range(len(table)):
        timestamp = table.timestamps[row]
        # -1 stands for a producer that gave no time.
        if timestamp != -1 and not earliest <= timestamp <= latest:
            message = f"Timestamp {timestamp} is not within [{earliest}, {latest}]."
            errors.append(RecordError(row, message))
    if errors:
        raise RefusedRecordsError(ErrorCode.INVALID_TIMESTAMP, errors)
