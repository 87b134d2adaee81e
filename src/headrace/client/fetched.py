"""From the bytes of a Fetch answer to records: control batches and aborted data left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.aborted import AbortedData
from headrace.client.leaders import TopicPartition
from headrace.protocol.messages.fetch import PartitionData
from headrace.records.batch import MAGIC_V2, BatchHeader, Buffer, check_batch
from headrace.records.legacy import iter_any_headers, read_message
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record


@dataclass(slots=True)
class FetchedBatch:
    """The records of one batch; `error` instead of records when its inside cannot be read."""

    partition: TopicPartition
    records: list[Record]
    next_offset: int
    timestamp_type: str
    leader_epoch: int
    error: KafkaError | None = None


def read_fetched(
    partition: TopicPartition, data: PartitionData, start: int, *, read_committed: bool
) -> Iterator[FetchedBatch]:
    """The batches from offset `start` on, in order; offsets before it are left out."""
    buffer: Buffer = data.records or b""
    aborted = AbortedData(data.aborted_transactions) if read_committed else None
    seen = False
    for position, header in iter_any_headers(buffer):
        seen = True
        if header.last_offset < start:
            continue
        batch = FetchedBatch(
            partition, [], header.next_offset, _timestamp_type(header), header.leader_epoch
        )
        try:
            rows = _read(buffer, position, header)
        except KafkaError as error:
            batch.error = error
            rows = []
        if header.is_control:
            if aborted is not None and rows:
                aborted.end(header, rows[0])
            rows = []
        elif aborted is not None and aborted.holds(header):
            rows = []
        batch.records = [row for row in rows if row.offset >= start]
        yield batch
    if not seen and len(buffer) > 0:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"{partition[0]}-{partition[1]}: no whole batch in {len(buffer)} bytes at {start}.",
        )


def _read(buffer: Buffer, position: int, header: BatchHeader) -> list[Record]:
    if header.magic != MAGIC_V2:
        return read_message(buffer, position)
    check_batch(buffer, position, header)
    return read_checked_batch(buffer, position, header)


def _timestamp_type(header: BatchHeader) -> str:
    """As Kafka's console prints it; format 0 had no timestamps."""
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.uses_append_time else "CreateTime"
