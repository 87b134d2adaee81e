"""Indexes and producer snapshots for `headrace dump-log`, compared with the log they belong to."""

from __future__ import annotations

import argparse
import os
import sys

from headrace.base.errors import KafkaError
from headrace.cli.dump_output import DumpOutput
from headrace.cli.failure import CommandFailedError
from headrace.log.errors import CorruptIndexError, CorruptSnapshotError
from headrace.log.offset_index import OffsetIndex
from headrace.log.producer_entry import NO_TRANSACTION, ProducerEntry
from headrace.log.producer_snapshot import read_snapshot
from headrace.log.time_index import TimeIndex
from headrace.log.txn_index import TxnIndex
from headrace.records.batch import HEADER_SIZE, BatchHeader
from headrace.records.legacy import read_any_header


def dump_index_file(path: str, args: argparse.Namespace, output: DumpOutput) -> bool:
    """Print a file beside a segment; True if it does not fit its log."""
    stem, kind = os.path.splitext(path)
    name = os.path.basename(stem)
    if not name.isdecimal():
        raise CommandFailedError(f"The name of {path} does not begin with an offset.")
    base_offset = int(name)
    if kind == ".txnindex":
        return _dump_aborted(path, base_offset, output)
    if kind == ".snapshot":
        return _dump_producers(path, output)
    if not os.path.exists(stem + ".log"):
        raise CommandFailedError(f"The log {stem}.log that {path} belongs to does not exist.")
    try:
        with LogFile(stem + ".log") as log:
            if kind == ".index":
                index = OffsetIndex(path, base_offset)
                return _dump_offsets(index, log, args, output)
            times = TimeIndex(path, base_offset)
            offsets = OffsetIndex(stem + ".index", base_offset)
            return _dump_times(times, offsets, log, args, output)
    except CorruptIndexError as error:
        raise CommandFailedError(f"{path} is corrupt: {error}.") from error


class LogFile:
    """The batches of a segment, one header at a time."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._fd).st_size

    def __enter__(self) -> LogFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def header_at(self, position: int) -> BatchHeader | None:
        data = os.pread(self._fd, HEADER_SIZE, position)
        try:
            header = read_any_header(data)
        except KafkaError:
            return None
        return header if header.size > 0 and position + header.size <= self.size else None

    def batch_with(self, offset: int, position: int) -> BatchHeader | None:
        """The first batch from `position` on that ends at or after `offset`."""
        while (header := self.header_at(position)) is not None:
            if header.last_offset >= offset:
                return header
            position += header.size
        return None


def _dump_offsets(
    index: OffsetIndex, log: LogFile, args: argparse.Namespace, output: DumpOutput
) -> bool:
    if len(index) == 0:
        output.note(f"{index.path} is empty.")
        return False
    if args.index_sanity_check:
        index.check(log.size)
        output.note(f"{index.path} passed sanity check.")
        return False
    mismatches = []
    for relative, position in index.entries():
        offset = index.base_offset + relative
        header = log.header_at(position)
        found = -1 if header is None else header.last_offset
        if found != offset:
            mismatches.append(f"  Index offset: {offset}, log offset: {found}")
        if not args.verify_index_only:
            output.entry("offsetIndex", {"offset": offset, "position": position})
    return _report(f"Mismatches in :{os.path.abspath(index.path)}", mismatches)


def _dump_times(
    index: TimeIndex,
    offsets: OffsetIndex,
    log: LogFile,
    args: argparse.Namespace,
    output: DumpOutput,
) -> bool:
    if args.index_sanity_check:
        index.check()
        output.note(f"{index.path} passed sanity check.")
        return False
    mismatches, disorder, missing = [], [], []
    previous = -1
    for timestamp, relative in index.entries():
        offset = index.base_offset + relative
        header = log.batch_with(offset, offsets.lookup(offset))
        if header is None or header.last_offset != offset:
            found = -1 if header is None else header.last_offset
            missing.append(f"Indexed offset: {offset}, found log offset: {found}")
        elif header.max_timestamp != timestamp:
            mismatches.append(
                f"  Index timestamp: {timestamp}, log timestamp: {header.max_timestamp}"
            )
        if previous >= timestamp:
            disorder.append(
                f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}"
            )
        if not args.verify_index_only:
            output.entry("timeIndex", {"timestamp": timestamp, "offset": offset})
        previous = timestamp
    path = os.path.abspath(index.path)
    problems = _report(f"Found timestamp mismatch in :{path}", mismatches)
    problems |= _report(f"Found out of order timestamp in :{path}", disorder)
    return problems | _report("The following indexed offsets are not found in the log.", missing)


def _report(title: str, lines: list[str]) -> bool:
    if lines:
        print("\n".join([title, *lines]), file=sys.stderr)
    return bool(lines)


def _dump_aborted(path: str, base_offset: int, output: DumpOutput) -> bool:
    for txn in TxnIndex(path, base_offset).entries:
        output.entry(
            "abortedTransaction",
            {
                "version": 0,
                "producerId": txn.producer_id,
                "firstOffset": txn.first_offset,
                "lastOffset": txn.last_offset,
                "lastStableOffset": txn.last_stable_offset,
            },
        )
    return False


def _dump_producers(path: str, output: DumpOutput) -> bool:
    try:
        entries = read_snapshot(path)
    except CorruptSnapshotError as error:
        print(error, file=sys.stderr)
        return True
    for entry in entries:
        # Kafka leaves a blank behind the line of a producer without a batch.
        output.entry("producer", _producer_fields(entry), suffix="" if entry.batches else " ")
    return False


def _producer_fields(entry: ProducerEntry) -> dict[str, object]:
    first = entry.txn_first_offset
    fields: dict[str, object] = {
        "producerId": entry.producer_id,
        "producerEpoch": entry.epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": None if first == NO_TRANSACTION else first,
        "lastTimestamp": entry.last_timestamp,
    }
    if entry.batches:
        batch = entry.batches[0]
        fields |= {
            "firstSequence": batch.first_sequence,
            "lastSequence": batch.last_sequence,
            "lastOffset": batch.last_offset,
            "offsetDelta": batch.last_offset - batch.first_offset,
            "timestamp": batch.timestamp,
        }
    return fields
