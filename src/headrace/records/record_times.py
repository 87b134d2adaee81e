"""When the records of a batch are from, and nothing else of them.

For lookups by time, which need no keys and values and stop at the first record that is new enough:
the rest of each record is passed over by its length. Whether that is sound (`records.walk` has the
rules), whoever reads the record finds out.
"""

from collections.abc import Iterator

from headrace.records.batch import BatchHeader
from headrace.records.varint import decode_varint32, decode_varint64
from headrace.records.walk import (
    LOWEST_TIMESTAMP,
    SMALLEST_RECORD,
    TIMESTAMP_LIMIT,
    check_room,
    invalid,
)


def iter_times(data: bytes, header: BatchHeader) -> Iterator[tuple[int, int]]:
    """Yield (offset, timestamp) of each record of the batch whose encoded records are `data`."""
    check_room(header, len(data))
    try:
        yield from _times(data, header)
    except IndexError:
        raise invalid("the records end too early") from None


def _times(data: bytes, header: BatchHeader) -> Iterator[tuple[int, int]]:
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta = header.last_offset_delta
    append_time = header.max_timestamp if header.uses_append_time else None
    position, end = 0, len(data)
    previous = -1
    for _ in range(header.record_count):
        length, position = decode_varint32(data, position)
        record_end = position + length
        if length < SMALLEST_RECORD - 1 or record_end > end:
            raise invalid(f"a record of {length} bytes with {end - position} left")
        # Behind the attributes, of which none are defined for a record.
        distance, position = decode_varint64(data, position + 1)
        delta, position = decode_varint32(data, position)
        if position > record_end:
            raise invalid(f"the offset of a record ends at byte {position}, not in its own bytes")
        if not previous < delta <= last_delta:
            raise invalid(f"offset delta {delta} after {previous}, with the last at {last_delta}")
        previous = delta
        timestamp = base_timestamp + distance if append_time is None else append_time
        if not LOWEST_TIMESTAMP <= timestamp < TIMESTAMP_LIMIT:
            raise invalid(f"timestamp {timestamp} does not fit 64 bits")
        yield base_offset + delta, timestamp
        position = record_end
    if position != end:
        raise invalid(f"{end - position} bytes follow the last record")
