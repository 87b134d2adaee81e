"""Batches of a buffer, checked and unpacked into one stretch of bytes that a walker can read.

Bulk decoding begins here, whichever walker follows. A batch is judged by its header first, so what
nobody wants (control records, aborted transactions, offsets already seen) is never decompressed.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Buffer,
    check_batch,
    iter_headers,
)
from headrace.records.codecs import DEFAULT_LIMIT, Codec, decompress
from headrace.records.walk import SMALLEST_RECORD, invalid

_LARGEST_DATA = (1 << 31) - 1  # positions are 32-bit, as in Arrow
_OFFSET_LIMIT = 1 << 63


class BadBatchError(KafkaError):
    """A batch that cannot be read; whoever wants to go on continues at `next_offset`."""

    def __init__(self, error: KafkaError, header: BatchHeader) -> None:
        where = f"Offsets {header.base_offset} to {header.last_offset}: "
        super().__init__(error.code, where + error.message)
        self.base_offset = header.base_offset
        # A header that lies about its range must not send the reader backwards.
        self.next_offset = max(header.next_offset, header.base_offset + 1)


@dataclass(slots=True)
class Spans:
    """The batches to walk: records of `headers[i]` are encoded in `data[starts[i]:ends[i]]`."""

    data: Buffer
    headers: list[BatchHeader] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)  # of the batches in the source buffer
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    consumed: int = 0  # bytes of the source buffer that are done with
    next_offset: int = -1  # where to go on; -1 if there was no whole batch at all

    def add(self, position: int, header: BatchHeader, start: int, end: int) -> None:
        if header.record_count * SMALLEST_RECORD > end - start:
            raise BadBatchError(
                invalid(f"{end - start} bytes cannot hold {header.record_count} records"), header
            )
        self.headers.append(header)
        self.positions.append(position)
        self.starts.append(start)
        self.ends.append(end)

    def cut(self, position: int, header: BatchHeader) -> None:
        """Leave out the batch at `position` and all that follow it."""
        row = bisect_left(self.positions, position)
        del self.headers[row:], self.positions[row:], self.starts[row:], self.ends[row:]
        self.consumed = position
        self.next_offset = header.base_offset


def unpack_batches(
    buffer: Buffer,
    *,
    start_offset: int = 0,
    end_offset: int | None = None,
    keep: Callable[[BatchHeader], bool] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Spans:
    """Unpack the whole batches of `buffer` that reach into [start_offset, end_offset).

    Stops early before a batch that would take the decompressed bytes beyond `limit`, and before a
    bad batch. Only if there is nothing before the bad batch does it raise BadBatchError: a reader
    gets all that is good, and then hears of the bad place.
    """
    if len(buffer) > _LARGEST_DATA:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"{len(buffer)} bytes at once are too many.")
    spans = Spans(buffer)
    chosen: list[tuple[int, BatchHeader]] = []
    try:
        for position, header in iter_headers(buffer):
            if end_offset is not None and header.base_offset >= end_offset:
                break
            if header.next_offset > start_offset and (keep is None or keep(header)):
                _check(buffer, position, header)
                if header.record_count > 0:
                    chosen.append((position, header))
            spans.consumed = position + header.size
            spans.next_offset = header.next_offset
    except KafkaError:
        if not chosen:
            raise
    if all(header.codec == Codec.NONE for _, header in chosen):
        _leave_in_place(chosen, spans)
    else:
        _join(buffer, chosen, spans, min(limit, _LARGEST_DATA))
    return spans


def _check(buffer: Buffer, position: int, header: BatchHeader) -> None:
    try:
        check_batch(buffer, position, header)
    except KafkaError as error:
        raise BadBatchError(error, header) from None
    if header.base_offset < 0 or header.next_offset >= _OFFSET_LIMIT:
        raise BadBatchError(invalid("no such offsets"), header)


def _leave_in_place(chosen: list[tuple[int, BatchHeader]], spans: Spans) -> None:
    for position, header in chosen:
        try:
            spans.add(position, header, position + HEADER_SIZE, position + header.size)
        except KafkaError:
            if not spans.headers:
                raise
            spans.cut(position, header)
            return


def _join(buffer: Buffer, chosen: list[tuple[int, BatchHeader]], spans: Spans, limit: int) -> None:
    view = memoryview(buffer)
    spans.data = joined = bytearray()
    for position, header in chosen:
        payload = view[position + HEADER_SIZE : position + header.size]
        start = len(joined)
        try:
            if header.codec == Codec.NONE and len(payload) <= limit - start:
                joined += payload
            else:
                joined += decompress(header.codec, payload, limit - start)
            spans.add(position, header, start, len(joined))
        except KafkaError as error:
            if not spans.headers:
                raise BadBatchError(error, header) from None
            spans.cut(position, header)
            return
