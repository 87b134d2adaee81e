"""Work on a batch that needs its records: deep validation and recompression.

Never on the event loop, but for the smallest batches: one of a megabyte may unpack to a hundred and
costs milliseconds. Records are looked at one after the other and none is kept, so that memory stays
near the size of what a batch unpacks to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    CODEC_MASK,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    check_batch,
    read_header,
)
from headrace.records.builder import frame_batch
from headrace.records.codecs import DEFAULT_LIMIT, Codec, compress
from headrace.records.reader import unpack_records
from headrace.records.record_times import iter_times
from headrace.records.walk import iter_rows

#: Bounds that every timestamp is within.
ANY_TIME = (-(1 << 63), 1 << 63)
#: A batch may hold more bad records than anybody wants to read about.
RECORD_ERRORS_MAX = 1000
_KEYLESS = "Compacted topic cannot accept message without key."


@dataclass(frozen=True, slots=True)
class RecordError:
    """One record that made a batch be refused (KIP-467)."""

    batch_index: int
    message: str


class RefusedRecordsError(KafkaError):
    """A batch refused because of some of its records; the reply names the first of them."""

    def __init__(self, code: ErrorCode, record_errors: Sequence[RecordError]) -> None:
        super().__init__(code, record_errors[0].message)
        self.record_errors = record_errors


def validate_deep(
    batch: Buffer,
    *,
    key_required: bool,
    timestamps_between: tuple[int, int] = ANY_TIME,
    limit: int = DEFAULT_LIMIT,
) -> None:
    """Check every record of a produced batch; raise KafkaError at what Kafka would refuse.

    `key_required` is for compacted topics; `timestamps_between` are the earliest and latest
    create time that message.timestamp.before.max.ms and .after.max.ms allow.
    """
    header = _check_one(batch)
    data = unpack_records(batch, 0, header, limit=limit)
    earliest, latest = ANY_TIME if header.uses_append_time else timestamps_between
    code = ErrorCode.INVALID_RECORD
    errors: list[RecordError] = []
    count = 0
    for count, row in enumerate(iter_rows(data, 0, len(data), header), 1):
        timestamp, key_length = row[1], row[3]
        if key_required and key_length < 0:
            message = _KEYLESS
        elif earliest <= timestamp <= latest or timestamp == NO_TIMESTAMP:
            continue
        else:
            code = ErrorCode.INVALID_TIMESTAMP  # also where other records have no key, as in Kafka
            message = f"Timestamp {timestamp} is not within [{earliest}, {latest}]."
        if len(errors) < RECORD_ERRORS_MAX:
            errors.append(RecordError(count - 1, message))
    # The walk has seen deltas rise; ending at n - 1 they are therefore 0 to n - 1.
    if count != header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"{count} records for {header.last_offset_delta + 1} offsets"
            f" from {header.base_offset} on.",
        )
    if errors:
        raise RefusedRecordsError(code, errors)


def recompress(
    batch: Buffer, codec: int, level: int | None = None, *, limit: int = DEFAULT_LIMIT
) -> bytearray:
    """The same records in another codec; offsets and all else stay as they are.

    The largest timestamp is taken from the records rather than from the header's word for it.
    """
    header = _check_one(batch)
    payload = unpack_records(batch, 0, header, limit=limit)
    timestamp = header.max_timestamp
    if not header.uses_append_time and header.record_count > 0:
        timestamp = max(timestamp for _, timestamp in iter_times(payload, header))
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


def _check_one(batch: Buffer) -> BatchHeader:
    """The header of a sound batch that `batch` consists of."""
    header = read_header(batch)
    if header.size != len(batch):
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"A batch of {header.size} bytes in {len(batch)} bytes."
        )
    check_batch(batch, 0, header)
    return header
